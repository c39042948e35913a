// Commands: real processes, most of them shells that misbehave.
#include "worker/exec.h"

#include <dirent.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "store/store.h"
#include "tests/support/broker_driver.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "worker/handlers.h"
#include "worker/worker.h"

namespace millrace::worker {
namespace {

using namespace millrace::test;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A zombie that is not reaped yet does not count.
bool is_alive(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t state = text.rfind(") ");
  return state != std::string::npos && text[state + 2] != 'Z' && text[state + 2] != 'X';
}

class ExecTest : public ::testing::Test {
 protected:
  ExecEnd run(const std::string& script, std::string_view payload = {}) {
    options.argv = {"sh", "-c", script};
    return run_it(payload);
  }
  ExecEnd run_it(std::string_view payload = {}) {
    const ExecEvents events{.log = [this](std::string line) { logged.push_back(std::move(line)); },
                            .progress = [this](double percent) { progress.push_back(percent); }};
    return run_command(clock, options, {.payload = payload, .environment = variables},
                       stop.get_token(), events);
  }
  Failed failed(const std::string& script) {
    return std::get<Failed>(outcome_of(run(script), options));
  }
  // Stops as soon as it says something.
  ExecEnd stopped(const std::string& script) {
    options.argv = {"sh", "-c", script};
    return run_command(clock, options, {}, stop.get_token(),
                       {.log = [this](const std::string&) { stop.request_stop(); }});
  }

  SystemClock clock;
  ExecOptions options = {};
  Variables variables = {};
  std::stop_source stop;
  std::vector<std::string> logged;
  std::vector<double> progress;
};

TEST_F(ExecTest, the_payload_is_its_input_and_its_output_the_result) {
  const std::string payload = std::string("{\"n\":1.0}\n\0\xff", 12);
  options.argv = {"cat"};
  EXPECT_EQ(run_it(payload).output, payload);
  EXPECT_EQ(run("printf '{\"a\":1}\\n'").output, R"({"a":1})");
  EXPECT_EQ(run("printf 'a\\r\\n'").output, "a");
  EXPECT_EQ(run("printf 'a\\n\\n'").output, "a\n");
  EXPECT_EQ(run("printf '\\377\\n'").output, "\xff\n");  // no text: as it is
  const Outcome done = outcome_of(run("echo 7"), options);
  EXPECT_EQ(std::get<Done>(done).result, "7");
}

TEST_F(ExecTest, large_payloads_go_through_while_it_writes_as_much) {
  const std::string payload(limits::max_payload, 'x');
  options.argv = {"cat"};
  EXPECT_EQ(run_it(payload).output, payload);
}

TEST_F(ExecTest, who_does_not_read_its_input_is_fine) {
  const std::string payload(limits::max_payload, 'x');
  EXPECT_EQ(run("true", payload).number, 0);
  EXPECT_EQ(run("exec <&-; echo ok", payload).output, "ok");
  EXPECT_EQ(run("head -c 1", payload).output, "x");
}

TEST_F(ExecTest, exit_codes_say_what_to_do) {
  EXPECT_EQ(failed("exit 75").retryable, true);
  for (const int code : {64, 65, 78}) {
    EXPECT_EQ(failed("exit " + std::to_string(code)).retryable, false) << code;
  }
  const Failed plain = failed("exit 3");
  EXPECT_EQ(plain.retryable, std::nullopt);
  EXPECT_EQ(plain.error.code, "exit_3");
  EXPECT_EQ(plain.error.message, "exit code 3");
  const Failed said = failed("echo one >&2; printf 'no such user\\n\\n' >&2; exit 1");
  EXPECT_EQ(said.error.message, "no such user");
  EXPECT_EQ(said.error.details, "one\nno such user\n\n");
}

TEST_F(ExecTest, a_signal_is_a_failure_that_names_it) {
  EXPECT_EQ(failed("kill -9 $$").error.message, "killed by signal 9 (out of memory?)");
  EXPECT_EQ(failed("kill -9 $$").error.code, "signal_kill");
  EXPECT_EQ(failed("kill -SEGV $$").error.code, "signal_segv");
  EXPECT_EQ(failed("kill -9 $$").retryable, std::nullopt);
}

TEST_F(ExecTest, a_command_that_is_not_there_says_so) {
  for (const auto& argv : std::vector<std::vector<std::string>>{
           {"no-such-command-here"}, {"/no/such/command"}, {"/tmp"}, {}, {""}}) {
    options.argv = argv;
    const Outcome outcome = outcome_of(run_it(), options);
    EXPECT_EQ(std::get<Failed>(outcome).retryable, false);
    EXPECT_EQ(std::get<Failed>(outcome).error.code, "command_not_found");
    EXPECT_THAT(std::get<Failed>(outcome).error.message, Not(IsEmpty()));
  }
  options.argv = {"true"};
  options.directory = "/no/such/place";
  EXPECT_THAT(run_it().message, HasSubstr("/no/such/place"));
}

TEST_F(ExecTest, its_error_lines_are_log_lines_and_progress) {
  run("echo a >&2; echo '@progress 42' >&2; echo '@progress 99.5%' >&2; echo '@progress no' >&2;"
      "echo '@progress 101' >&2; echo >&2; printf 'b\\r\\nc' >&2");
  EXPECT_THAT(logged, ElementsAre("a", "@progress no", "@progress 101", "b", "c"));
  EXPECT_THAT(progress, ElementsAre(42, 99.5));
}

TEST_F(ExecTest, long_and_many_error_lines_are_bounded) {
  const ExecEnd end = run("head -c 5000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo end >&2");
  ASSERT_EQ(logged.size(), 2U);
  EXPECT_EQ(logged[0].size(), limits::max_log_line);
  EXPECT_EQ(logged[1], "end");
  EXPECT_LE(end.errors.size(), limits::max_error_text);
  EXPECT_THAT(end.errors, ::testing::EndsWith("x\nend\n"));
}

TEST_F(ExecTest, too_much_output_is_a_failure_and_ends_the_command) {
  options.most_output = limits::mib;
  const ExecEnd end = run("yes");
  EXPECT_EQ(end.kind, ExecEnd::Kind::flooded);
  const Failed failure = std::get<Failed>(outcome_of(end, options));
  EXPECT_EQ(failure.retryable, false);
  EXPECT_THAT(failure.error.message, HasSubstr("1048576 bytes"));
  EXPECT_EQ(run("head -c 1048577 /dev/zero | tr '\\0' x").kind, ExecEnd::Kind::flooded);
  EXPECT_EQ(run("head -c 1048576 /dev/zero | tr '\\0' x; echo").output.size(), 1048576U);
}

TEST_F(ExecTest, stopping_asks_first) {
  const ExecEnd end =
      stopped("trap 'echo bye; exit 0' TERM; echo up >&2; while :; do sleep 0.1; done");
  EXPECT_EQ(end.kind, ExecEnd::Kind::stopped);
  EXPECT_EQ(end.output, "bye");
}

TEST_F(ExecTest, stopping_kills_who_does_not_listen_with_all_its_children) {
  options.grace = 100ms;
  const ExecEnd end = stopped(
      "trap '' TERM; sh -c 'trap \"\" TERM; echo $$; sleep 1000' & "
      "sleep 0.2; echo up >&2; wait; sleep 1000");
  EXPECT_EQ(end.kind, ExecEnd::Kind::stopped);
  EXPECT_EQ(end.number, SIGKILL);
  while (is_alive(std::stoi(end.output))) std::this_thread::yield();
}

TEST_F(ExecTest, a_stop_that_came_before_the_start_ends_it_too) {
  stop.request_stop();
  EXPECT_EQ(run("sleep 1000").kind, ExecEnd::Kind::stopped);
}

TEST_F(ExecTest, children_that_keep_its_output_open_do_not_keep_it) {
  const ExecEnd end = run("sleep 1000 & echo $!");
  EXPECT_EQ(end.kind, ExecEnd::Kind::exited);
  while (is_alive(std::stoi(end.output))) std::this_thread::yield();
}

TEST_F(ExecTest, a_command_ends_with_a_worker_that_was_killed) {
  TemporaryDirectory directory;
  const std::string file = directory / "pid";
  const pid_t worker = fork();
  if (worker == 0) {
    run("echo $$ > " + file + ".new; mv " + file + ".new " + file + "; exec sleep 1000");
    _exit(0);
  }
  while (!std::filesystem::exists(file)) std::this_thread::yield();
  kill(worker, SIGKILL);
  waitpid(worker, nullptr, 0);
  pid_t command = 0;
  std::ifstream(file) >> command;
  ASSERT_GT(command, 0);
  while (is_alive(command)) std::this_thread::yield();
}

TEST_F(ExecTest, it_gets_the_environment_but_nothing_of_the_servers_settings) {
  setenv("MILLRACE_ADMIN_KEY", "hush", 1);
  setenv("MILLRACE_WEBHOOKS_SECRET", "hush", 1);
  setenv("OF_THE_USER", "yes", 1);
  options.environment = {{"OWN", "a b"}, {"MILLRACE_EXTRA", "1"}};
  variables = variables_of({.queue = "q", .type = "t"}, 2, t0);
  const std::string environment = run("env").output + "\n";  // the last line has none
  unsetenv("MILLRACE_ADMIN_KEY");
  unsetenv("MILLRACE_WEBHOOKS_SECRET");
  unsetenv("OF_THE_USER");
  EXPECT_THAT(environment,
              AllOf(Not(HasSubstr("hush")), HasSubstr("OF_THE_USER=yes\n"), HasSubstr("OWN=a b\n"),
                    HasSubstr("MILLRACE_EXTRA=1\n"), HasSubstr("MILLRACE_QUEUE=q\n"),
                    HasSubstr("MILLRACE_TYPE=t\n"), HasSubstr("MILLRACE_ATTEMPT=2\n"),
                    HasSubstr("MILLRACE_DEADLINE=2030-01-01T00:00:00.000Z\n"),
                    HasSubstr("MILLRACE_TASK_ID=0000")));
}

TEST_F(ExecTest, it_gets_the_checkpoint_and_the_answer_of_its_task) {
  variables = variables_of({}, 1, std::nullopt);
  EXPECT_THAT(run("env").output,
              AllOf(Not(HasSubstr("MILLRACE_CHECKPOINT")), Not(HasSubstr("MILLRACE_ANSWER"))));
  variables = variables_of({.checkpoint = R"({"page":17})", .answer = ""}, 1, std::nullopt);
  EXPECT_EQ(run(R"(echo "$MILLRACE_CHECKPOINT ${MILLRACE_ANSWER-none}.")").output,
            R"({"page":17} .)");
}

TEST_F(ExecTest, it_gets_bytes_that_a_variable_cannot_hold_as_base64) {
  const std::string bytes("a\0b", 3);
  variables = variables_of({.checkpoint = bytes, .answer = "\xff"}, 1, std::nullopt);
  EXPECT_EQ(run("echo $MILLRACE_CHECKPOINT_BASE64 $MILLRACE_ANSWER_BASE64").output, "YQBi /w==");
  EXPECT_EQ(run("echo ${MILLRACE_CHECKPOINT-none} ${MILLRACE_ANSWER-none}").output, "none none");
  variables = variables_of({.checkpoint = std::string(limits::max_checkpoint, '\0'),
                            .answer = std::string(limits::max_answer, '\xff')},
                           1, std::nullopt);
  EXPECT_EQ(run("echo ${#MILLRACE_CHECKPOINT_BASE64} ${#MILLRACE_ANSWER_BASE64}").output,
            "87384 87384");
  variables = variables_of({.checkpoint = std::string(limits::max_checkpoint, 'c'),
                            .answer = std::string(limits::max_answer, 'a')},
                           1, std::nullopt);
  EXPECT_EQ(run("echo ${#MILLRACE_CHECKPOINT} ${#MILLRACE_ANSWER}").output, "65536 65536");
}

TEST_F(ExecTest, it_starts_with_usual_signals_no_foreign_files_and_where_it_should) {
  TemporaryDirectory directory;
  options.directory = directory.path();
  EXPECT_EQ(run("pwd").output, std::filesystem::canonical(directory.path()).string());
  // One that was opened without any thought of children.
  const int foreign = open("/dev/null", O_RDONLY);
  EXPECT_EQ(run("ls /proc/self/fd | tr '\\n' ' '").output, "0 1 2 3 ");  // 3: what ls looks into
  close(foreign);
  ::signal(SIGPIPE, SIG_IGN);
  EXPECT_THAT(
      run("grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status").output,
      AllOf(HasSubstr("SigBlk:\t0000000000000000"), HasSubstr("SigIgn:\t0000000000000000")));
  ::signal(SIGPIPE, SIG_DFL);
}

TEST_F(ExecTest, memory_is_limited) {
  const std::string hungry =
      "awk 'BEGIN { x = \"x\"; for (i = 0; i < 27; ++i) x = x x; print length(x) }'";
  EXPECT_EQ(run(hungry).output, "134217728");
  options.memory = 64 * limits::mib;
  EXPECT_TRUE(std::holds_alternative<Failed>(outcome_of(run(hungry), options)));
  EXPECT_THAT(failed("kill -9 $$").error.message, HasSubstr("it may use 64 MiB"));
}

TEST_F(ExecTest, a_thousand_runs_leave_neither_files_nor_zombies) {
  const auto files = [] {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
      ++count;
    }
    return count;
  };
  run("true");
  const std::size_t before = files();
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      ExecOptions mine;
      for (int i = 0; i < 250; ++i) {
        mine.argv = i % 50 == thread ? std::vector<std::string>{"/no/such"}
                                     : std::vector<std::string>{"cat"};
        good += run_command(clock, mine, {.payload = "x"}, {}, {}).output == "x" ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 980);
  EXPECT_EQ(files(), before);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

// ---- Under a worker
// ------------------------------------------------------------------------------

class ExecHandlerTest : public ::testing::Test {
 protected:
  Task run(std::vector<std::string> argv, NewTask task = {}) {
    task.queue = "q";
    const Put put = d.put(std::move(task));
    std::vector<QueueHandlers> queues(1);
    queues[0] = {.queue = "q", .any = run_commands(real, {.argv = std::move(argv)})};
    Worker worker(d.clock, *d.broker, {.name = "w"}, std::move(queues));
    must(worker.step());
    return d.find(put.id);
  }

  BrokerDriver d;
  SystemClock real;
};

TEST_F(ExecHandlerTest, tasks_are_done_by_a_command) {
  const Task done = run({"sh", "-c", "cat; echo working >&2"}, {.payload = R"({"n":1})"});
  EXPECT_EQ(done.state, TaskState::completed);
  EXPECT_EQ(done.result, R"({"n":1})");
  const Task dead = run({"sh", "-c", "echo no >&2; exit 64"});
  EXPECT_EQ(dead.state, TaskState::failed);
  EXPECT_EQ(dead.error->code, "exit_64");
  const Task again = run({"sh", "-c", "exit 75"});
  EXPECT_EQ(again.state, TaskState::retrying);
}

class ExecWorkerTest : public ::testing::Test {
 protected:
  Ask ask() { return {.caller = {1}}; }
  Task end_of(NewTask task, const std::function<void(TaskId)>& meanwhile) {
    task.queue = "q";
    const Put put = must(only(wait_for_answer<std::vector<Result<Put>>>(
        [&](auto done) { broker.put(ask(), {task}, std::move(done)); })));
    std::vector<QueueHandlers> queues(1);
    queues[0] = {.queue = "q",
                 .any = run_commands(clock, {.argv = {"sh", "-c", "echo up >&2; sleep 1000"}})};
    worker.emplace(clock, broker, WorkerOptions{.name = "w"}, std::move(queues));
    worker->start();
    meanwhile(put.id);
    return must(wait_for_answer<Task>(
        [&](auto done) { broker.await(ask(), put.id, 30s, std::move(done)); }));
  }

  SystemClock clock;
  std::unique_ptr<Store> store = open_memory();
  LocalBroker broker{clock, *store};
  std::optional<Worker> worker;
};

TEST_F(ExecWorkerTest, a_command_whose_time_is_up_is_ended) {
  const Task task =
      end_of({.timeout = 200ms, .retry = RetryRules{.max_retries = 0}}, [](TaskId) {});
  EXPECT_EQ(task.state, TaskState::dead);
  EXPECT_EQ(task.error->code, "timeout");
}

TEST_F(ExecWorkerTest, a_command_of_a_cancelled_task_is_ended) {
  must(wait_for_answer<Queue>([&](auto done) {
    broker.put_queue(ask(), {.name = "q", .lease = 1s}, PutQueue::replace, std::move(done));
  }));
  const Task task = end_of({}, [&](TaskId id) {
    while (must(wait_for_answer<Task>([&](auto done) {
             broker.find(ask(), id, std::move(done));
           })).state != TaskState::processing) {
      std::this_thread::yield();
    }
    must(wait_for_answer<Broker::States>(
        [&](auto done) { broker.cancel(ask(), {id}, "enough", std::move(done)); }));
  });
  EXPECT_EQ(task.state, TaskState::cancelled);
}

}  // namespace
}  // namespace millrace::worker
