// Workers that need no C++: commands, scripts in other languages, and the server's own processes.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "tests/e2e/program.h"
#include "tests/e2e/server.h"
#include "tests/support/http_peer.h"

namespace millrace::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Asked post(std::string path, std::string body = "{}") {
  return {.method = "POST", .path = std::move(path), .body = std::move(body)};
}

// The task when it has ended; the server waits with the answer.
std::string ended(const ServerProcess& server, const std::string& id) {
  return server.ask({.path = "/v1/tasks/" + id + "?wait=30s"}).body;
}

std::string put(const ServerProcess& server, const std::string& queue, const std::string& payload,
                const std::string& more = {}) {
  const Reply reply = server.ask(
      post("/v1/queues/" + queue + "/tasks", fmt::format(R"({{"payload":{}{}}})", payload, more)));
  EXPECT_EQ(reply.status, 201U) << reply.body;
  return field(reply.body, "id");
}

// Process numbers that the server said it had started, in order.
std::vector<pid_t> started(const ServerProcess& server) {
  std::vector<pid_t> pids;
  constexpr std::string_view said = "worker process started process=";
  const std::string& text = server.said();
  for (auto at = text.find(said); at != text.npos; at = text.find(said, at + 1)) {
    pids.push_back(std::stoi(text.substr(at + said.size())));
  }
  return pids;
}

// False for a zombie: a process that has ended and that its parent has not waited for yet.
bool runs(pid_t pid) {
  const std::string status = fmt::format("/proc/{}/stat", pid);
  if (!std::filesystem::exists(status)) return false;
  const std::string text = read_file(status);
  const std::size_t name_end = text.rfind(')');
  return name_end != text.npos && text.size() > name_end + 2 && text[name_end + 2] != 'Z';
}

class Workers : public ::testing::Test {
 protected:
  std::vector<std::string> on_data(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"--store", directory_ / "data"});
    return more;
  }
  // With [handlers] of a settings file.
  std::vector<std::string> with_settings(const std::string& toml,
                                         std::vector<std::string> more = {}) const {
    write_file(directory_ / "millrace.toml", toml);
    more.insert(more.begin(), {"--config", directory_ / "millrace.toml"});
    return on_data(std::move(more));
  }
  static std::string url(const ServerProcess& server) {
    return fmt::format("http://127.0.0.1:{}", server.port());
  }

  TemporaryDirectory directory_;
};

// ---- millrace work -----------------------------------------------------------------------------

TEST_F(Workers, a_command_works_the_tasks_of_a_queue) {
  ServerProcess server(on_data());
  ASSERT_TRUE(server.ready()) << server.said();
  const std::string good = put(server, "upper", R"({"word":"mill"})");
  const std::string bad = put(server, "upper", R"("fail")", R"(,"max_retries":0)");
  const std::string hopeless = put(server, "upper", R"("data")");
  const std::string script =
      "read line; echo working on $MILLRACE_QUEUE >&2; echo @progress 50 >&2; "
      "case \"$line\" in *fail*) echo no luck >&2; exit 3;; *data*) echo nonsense >&2; exit 65;; "
      "esac; echo \"$line\" | tr a-z A-Z";
  const Ran ran = run_program({"work", "--server", url(server), "--until-empty", "--timeout", "20s",
                               "upper", "--", "sh", "-c", script});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  const std::string done = ended(server, good);
  EXPECT_EQ(field(done, "state"), "completed") << done;
  EXPECT_THAT(done, HasSubstr(R"("result":{"WORD":"MILL"})"));
  EXPECT_THAT(server.ask({.path = "/v1/tasks/" + good + "/log"}).body,
              HasSubstr("working on upper"));
  const std::string dead = ended(server, bad);
  EXPECT_EQ(field(dead, "state"), "dead") << dead;
  EXPECT_THAT(dead, AllOf(HasSubstr("no luck"), HasSubstr("exit_3")));
  const std::string failed = ended(server, hopeless);
  EXPECT_EQ(field(failed, "state"), "failed") << failed;
}

TEST_F(Workers, work_tells_of_every_task_of_its_queues) {
  ServerProcess server(on_data());
  ASSERT_TRUE(server.ready()) << server.said();
  const std::string good = put(server, "first", R"("a")");
  const std::string bad = put(server, "second", R"("b")", R"(,"max_retries":0)");
  const std::string script = "read line; echo got $line >&2; test $line != '\"b\"'";
  const Ran told = run_program({"work", "--server", url(server), "--until-empty", "-v", "first",
                                "second", "--", "sh", "-c", script});
  EXPECT_EQ(told.exit, 0) << told.err;
  EXPECT_THAT(told.err, AllOf(HasSubstr("got \"a\""), HasSubstr("done      first  " + good),
                              HasSubstr("dead      second  " + bad)));
  put(server, "first", R"("c")");
  const Ran silent =
      run_program({"work", "--server", url(server), "--until-empty", "first", "--", "cat"});
  EXPECT_THAT(silent.err, Not(HasSubstr("done "))) << "standard error is no terminal";
}

TEST_F(Workers, a_command_that_takes_too_long_is_killed_with_its_children) {
  ServerProcess server(on_data());
  ASSERT_TRUE(server.ready()) << server.said();
  const std::string file = directory_ / "pid";
  const std::string id = put(server, "slow", "1", R"(,"max_retries":0,"timeout_ms":300)");
  const Ran ran = run_program({"work", "--server", url(server), "--until-empty", "--grace", "100ms",
                               "slow", "--", "sh", "-c",
                               "trap '' TERM; sleep 1000 & echo $! > " + file + "; wait; wait"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  const std::string dead = ended(server, id);
  EXPECT_EQ(field(dead, "state"), "dead") << dead;
  EXPECT_THAT(dead, HasSubstr("timeout"));
  const pid_t grandchild = std::stoi(read_file(file));
  EXPECT_FALSE(runs(grandchild));
}

TEST_F(Workers, work_that_makes_no_sense_is_told) {
  EXPECT_EQ(run_program({"work", "emails"}).exit, 2);
  EXPECT_THAT(run_program({"work", "emails", "sh", "-c", "exit 1"}).err,
              HasSubstr("millrace work emails -- sh -c 'exit 1'"));
  EXPECT_THAT(run_program({"work", "--timeout", "soon", "emails", "--", "true"}).err,
              HasSubstr("a duration from 1ms to 24h"));
  EXPECT_THAT(run_program({"work", "--server", "localhost", "emails", "--", "true"}).err,
              HasSubstr("http"));
  EXPECT_THAT(run_program({"work", "--key-file", directory_ / "none", "q", "--", "true"}).err,
              HasSubstr("holds no key"));
  EXPECT_THAT(run_program({"work", "--directory", directory_ / "none", "q", "--", "true"}).err,
              HasSubstr("there is no directory"));
  EXPECT_THAT(run_program({"work", "--help"}).out, HasSubstr("millrace work thumbnails --"));
}

TEST_F(Workers, a_server_that_is_away_is_not_taken_for_an_empty_queue) {
  const pid_t worker = fork();
  if (worker == 0) {
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDERR_FILENO);
    execl(MILLRACE_PROGRAM, "millrace", "work", "--server", "http://127.0.0.1:1", "--until-empty",
          "q", "--", "true", nullptr);
    _exit(127);
  }
  const int process = static_cast<int>(syscall(SYS_pidfd_open, worker, 0));
  ASSERT_GE(process, 0);
  pollfd ended{.fd = process, .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&ended, 1, 3000), 0) << "it has ended although no server answered";
  kill(worker, SIGTERM);
  int status = 0;
  waitpid(worker, &status, 0);
  close(process);
}

TEST_F(Workers, a_key_that_may_not_work_is_refused_before_anything_is_run) {
  const std::string key(40, 'k');
  ServerProcess server(on_data(), {{"MILLRACE_ADMIN_KEY", key}});
  ASSERT_TRUE(server.ready()) << server.said();
  const Ran without = run_program({"work", "--server", url(server), "q", "--", "true"});
  EXPECT_EQ(without.exit, 1);
  EXPECT_THAT(without.err, HasSubstr("API key"));
  write_file(directory_ / "key", key + "\n");
  EXPECT_EQ(run_program({"work", "--server", url(server), "--key-file", directory_ / "key",
                         "--until-empty", "q", "--", "true"})
                .exit,
            0);
}

// ---- Other languages ---------------------------------------------------------------------------

TEST_F(Workers, in_python_and_node_need_nothing_but_http) {
  ServerProcess server(on_data());
  ASSERT_TRUE(server.ready()) << server.said();
  setenv("MILLRACE_URL", url(server).c_str(), 1);
  for (const std::string& command : {std::string("python3 " MILLRACE_EXAMPLES "/python/worker.py"),
                                     std::string("node " MILLRACE_EXAMPLES "/node/worker.mjs")}) {
    const std::string good = put(server, "emails", R"({"to":"ann@example.com"})");
    const std::string bad = put(server, "emails", R"({"to":"nobody"})");
    const int status = std::system((command + " emails --until-empty").c_str());
    EXPECT_EQ(status, 0) << command;
    EXPECT_EQ(field(ended(server, good), "state"), "completed");
    EXPECT_THAT(ended(server, good), AllOf(HasSubstr(R"("sent")"), HasSubstr(R"("attempt")")));
    EXPECT_THAT(ended(server, bad), HasSubstr("nobody is not an address"));
    EXPECT_EQ(field(ended(server, bad), "state"), "failed");
  }
  unsetenv("MILLRACE_URL");
}

TEST_F(Workers, a_handler_that_cannot_work_is_told_at_the_start) {
  ServerProcess server(with_settings(
      "[handlers.good]\nexec = [\"cat\"]\n[handlers.bad]\nexec = [\"cat\"]\n"
      "directory = \"/no/such/directory\"\n[handlers.worse]\nexec = [\"no-such-program\"]\n"));
  EXPECT_EQ(server.exit(), 2);
  EXPECT_THAT(server.said(),
              AllOf(HasSubstr("millrace.toml:4: handlers.bad: there is no directory"),
                    HasSubstr("millrace.toml:7: handlers.worse: there is no program")));
}

TEST_F(Workers, a_handler_that_breaks_later_does_not_stop_the_others) {
  const std::string folder = directory_ / "work";
  std::filesystem::create_directory(folder);
  ServerProcess server(
      with_settings("processes = 1\n[handlers.good]\nexec = [\"cat\"]\n"
                    "[handlers.bad]\nexec = [\"cat\"]\ndirectory = \"" +
                    folder + "\"\n"));
  ASSERT_TRUE(server.ready()) << server.said();
  ASSERT_TRUE(server.says(" working ")) << server.said();
  std::filesystem::remove(folder);
  kill(started(server).front(), SIGKILL);
  ASSERT_TRUE(server.says("the queue is not worked")) << server.said();
  const std::string id = put(server, "good", R"({"n":1})");
  EXPECT_THAT(ended(server, id), HasSubstr(R"("result":{"n":1})"));
}

TEST_F(Workers, an_endpoint_can_tell_who_calls_it) {
  HttpPeer peer([](const PeerRequest&, PeerConnection& connection) { connection.answer("1"); });
  write_file(directory_ / "secret", "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\n");
  write_file(directory_ / "token", "Bearer hush\n");
  ServerProcess server(with_settings(fmt::format(
      "processes = 1\n[handlers.calls]\nhttp = \"{}\"\nallow_private = true\n"
      "secret_file = \"{}\"\nheaders = {{ Authorization = \"@{}\", X-Team = \"mail\" }}\n",
      peer.url("/work"), directory_ / "secret", directory_ / "token")));
  ASSERT_TRUE(server.ready()) << server.said();
  const std::string id = put(server, "calls", "{}");
  ASSERT_EQ(field(ended(server, id), "state"), "completed") << server.said();
  PeerRequest request = peer.requests().front();
  EXPECT_EQ(request.headers["webhook-id"], id);
  EXPECT_THAT(request.headers["webhook-signature"], HasSubstr("v1,"));
  EXPECT_EQ(request.headers["authorization"], "Bearer hush");
  EXPECT_EQ(request.headers["x-team"], "mail");
}

// ---- The server's own processes ----------------------------------------------------------------

// S0-139, S0-140
TEST_F(Workers, of_the_settings_run_in_processes_that_are_replaced_when_they_die) {
  ServerProcess server(
      with_settings("[handlers.echo]\nexec = [\"cat\"]\nconcurrency = 2\n", {"--processes", "2"}));
  ASSERT_TRUE(server.ready()) << server.said();
  ASSERT_TRUE(server.says(" working ", 2)) << server.said();
  const std::string first = put(server, "echo", R"({"n":1})");
  EXPECT_THAT(ended(server, first), HasSubstr(R"("result":{"n":1})"));
  const auto before = started(server);
  ASSERT_EQ(before.size(), 2U) << server.said();
  for (const pid_t pid : before) kill(pid, SIGKILL);
  ASSERT_TRUE(
      server.says(fmt::format("died and is replaced process={} code=0 signal=9", before[0])))
      << server.said();
  // Before the next task comes, so that no dead worker's poll gets it.
  ASSERT_TRUE(server.says("died and is replaced", 2)) << server.said();
  ASSERT_TRUE(server.says(" working ", 4)) << server.said();
  const std::string second = put(server, "echo", R"({"n":2})");
  EXPECT_THAT(ended(server, second), HasSubstr(R"("result":{"n":2})"));
  server.signal(SIGTERM);
  EXPECT_EQ(server.exit(), 0) << server.said();
  for (const pid_t pid : started(server)) EXPECT_FALSE(runs(pid)) << pid << " is left";
}

TEST_F(Workers, that_are_told_to_stop_with_their_server_finish_what_they_have) {
  ServerProcess server(
      with_settings("processes = 1\n[handlers.slow]\nexec = [\"sh\", \"-c\", \"echo > began; "
                    "sleep 1; echo 7\"]\ndirectory = \"" +
                    directory_.path() + "\"\n"));
  ASSERT_EQ(mkfifo((directory_ / "began").c_str(), 0600), 0);
  ASSERT_TRUE(server.ready()) << server.said();
  const std::string id = put(server, "slow", "1");
  const int began = open((directory_ / "began").c_str(), O_RDONLY | O_CLOEXEC);
  // As a terminal does with Ctrl-C, and systemd with everything in a service.
  for (const pid_t pid : started(server)) kill(pid, SIGINT);
  server.signal(SIGINT);
  EXPECT_EQ(server.exit(), 0) << server.said();
  close(began);
  ServerProcess again(on_data());
  ASSERT_TRUE(again.ready()) << again.said();
  const std::string task = again.ask({.path = "/v1/tasks/" + id}).body;
  EXPECT_EQ(field(task, "state"), "completed") << task << server.said();
}

// S3-011, S4-040
TEST_F(Workers, grow_and_shrink_in_number_while_the_server_runs) {
  ServerProcess server(with_settings("processes = 1\n[handlers.echo]\nexec = [\"cat\"]\n"));
  ASSERT_TRUE(server.ready()) << server.said();
  server.signal(SIGTTIN);
  ASSERT_TRUE(server.says("changed processes=2")) << server.said();
  ASSERT_TRUE(server.says("worker process started process=", 2)) << server.said();
  ASSERT_TRUE(server.says(" working ", 2)) << server.said();
  const pid_t extra = started(server).at(1);
  server.signal(SIGTTOU);
  ASSERT_TRUE(server.says(fmt::format("worker process stopped process={}", extra)))
      << server.said();
  EXPECT_TRUE(runs(started(server).at(0))) << "the other one works on";
}

TEST_F(Workers, end_with_a_server_that_is_killed) {
  std::vector<pid_t> pids;
  {
    ServerProcess server(with_settings("processes = 1\n[handlers.echo]\nexec = [\"cat\"]\n"));
    ASSERT_TRUE(server.ready()) << server.said();
    ASSERT_TRUE(server.says("working")) << server.said();
    pids = started(server);
  }  // SIGKILL
  ASSERT_EQ(pids.size(), 1U);
  // Readable when the process has ended.
  const int process = static_cast<int>(syscall(SYS_pidfd_open, pids[0], 0));
  if (process >= 0) {
    pollfd ended{.fd = process, .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&ended, 1, 40'000), 1);
    close(process);
  }
}

TEST_F(Workers, come_in_with_a_key_of_their_own_where_the_server_needs_one) {
  const std::string key(40, 'k');
  ServerProcess server(with_settings("processes = 1\n[handlers.echo]\nexec = [\"env\"]\n"),
                       {{"MILLRACE_ADMIN_KEY", key}});
  ASSERT_TRUE(server.ready()) << server.said();
  const Reply reply = server.ask(
      {.method = "POST", .path = "/v1/queues/echo/tasks", .body = R"({"payload":1})", .key = key});
  const Reply done =
      server.ask({.path = "/v1/tasks/" + field(reply.body, "id") + "?wait=30s", .key = key});
  EXPECT_EQ(field(done.body, "state"), "completed") << done.body << server.said();
  EXPECT_THAT(done.body, AllOf(HasSubstr("MILLRACE_TASK_ID"), Not(HasSubstr(key)),
                               Not(HasSubstr("MILLRACE_SERVER_KEY"))));
}

TEST_F(Workers, have_a_port_of_their_own_that_leaves_files_to_the_store) {
  const std::string key(40, 'k');
  std::vector<std::string> arguments =
      with_settings("processes = 1\n[handlers.echo]\nexec = [\"cat\"]\n");
  arguments.insert(arguments.begin(), {"--no-listen", "--listen", "0.0.0.0:0"});
  ServerProcess server(arguments, {{"MILLRACE_ADMIN_KEY", key}});
  ASSERT_TRUE(server.ready()) << server.said();
  ASSERT_TRUE(server.says("working")) << server.said();
  const std::string command = read_file(fmt::format("/proc/{}/cmdline", started(server).at(0)));
  constexpr std::string_view local = "http://127.0.0.1:";
  ASSERT_THAT(command, HasSubstr(std::string(local)));
  const auto port =
      static_cast<std::uint16_t>(std::stoi(command.substr(command.find(local) + local.size())));
  ASSERT_NE(port, server.port());
  std::vector<RawClient> idle;
  for (int i = 0; i < 256 + 16; ++i) idle.emplace_back(port);
  EXPECT_EQ(RawClient(port).reply().status, 503U);
}

// ---- Roles -------------------------------------------------------------------------------------

// S3-017
TEST_F(Workers, a_role_of_its_own_works_for_a_server_somewhere_else) {
  ServerProcess server(on_data({"--role", "api"}));
  ASSERT_TRUE(server.ready()) << server.said();
  const std::string other = put(server, "other", "1");
  const std::string id = put(server, "echo", R"({"n":1})");
  write_file(directory_ / "worker.toml", "[handlers.echo]\nexec = [\"cat\"]\n");
  ServerProcess worker(
      {"--role", "worker", "--server", url(server), "--config", directory_ / "worker.toml"});
  EXPECT_THAT(ended(server, id), HasSubstr(R"("result":{"n":1})"));
  EXPECT_TRUE(worker.says("working")) << worker.said();
  EXPECT_EQ(field(server.ask({.path = "/v1/tasks/" + other}).body, "state"), "queued")
      << "it works its own queue only";
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.exit(), 0) << worker.said();
}

TEST_F(Workers, a_role_of_its_own_refuses_a_secret_that_is_none) {
  write_file(
      directory_ / "worker.toml",
      "webhooks.secret = \"whsec_tooshort\"\n[handlers.echo]\nhttp = \"http://127.0.0.1:1\"\n");
  ServerProcess worker({"--role", "worker", "--server", "http://127.0.0.1:1", "--config",
                        directory_ / "worker.toml"});
  EXPECT_EQ(worker.exit(), 2) << "it would send unsigned requests";
  EXPECT_THAT(worker.said(), AllOf(HasSubstr("webhooks.secret"), Not(HasSubstr("tooshort"))));
}

TEST_F(Workers, a_second_owner_of_a_directory_is_refused_and_told_how_to_work_instead) {
  ServerProcess server(on_data());
  ASSERT_TRUE(server.ready()) << server.said();
  ServerProcess second(on_data({"--role", "api"}));
  EXPECT_EQ(second.exit(), 1);
  EXPECT_THAT(second.said(), HasSubstr("millrace serve --role worker --server http://"));
  TemporaryDirectory other;
  ServerProcess scheduler({"--store", other / "data", "--role", "scheduler"});
  EXPECT_EQ(scheduler.exit(), 1);
  EXPECT_THAT(scheduler.said(), HasSubstr("runs its own upkeep"));
}

}  // namespace
}  // namespace millrace::test
