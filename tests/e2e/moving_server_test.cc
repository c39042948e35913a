// Export and import with a server that runs meanwhile, and with one that dies of it.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <charconv>

#include "tests/e2e/program.h"
#include "tests/e2e/server.h"

extern char** environ;

namespace millrace::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int all_tasks = 20'000;

std::string task_line(int number) {
  constexpr std::string_view moment = "2026-01-02T03:04:05.678Z";
  return fmt::format(
      R"({{"task":{{"id":"01890000-0000-7000-9000-{:012x}","queue":"mail","state":"queued",)"
      R"("payload":"{{\"n\":{}}}","priority":5,"created_at":"{}","updated_at":"{}",)"
      R"("start":"{}"}}}})",
      number, number, moment, moment, moment);
}

std::string beginning() {
  return R"({"millrace_export":{"format":1,"minor":0}})"
         "\n"
         R"({"queue":{"name":"mail","id":"01890000-0000-7000-8000-000000000000"}})"
         "\n";
}

std::string whole_export() {
  std::string text = beginning();
  for (int i = 0; i < all_tasks; ++i) text += task_line(i) + "\n";
  return text + fmt::format(R"({{"end":{{"queues":1,"schedules":0,"memos":0,"tasks":{}}}}})"
                            "\n",
                            all_tasks);
}

class MovingWithServer : public ::testing::Test {
 protected:
  std::unique_ptr<ServerProcess> serve() {
    auto server =
        std::make_unique<ServerProcess>(std::vector<std::string>{"--store", directory_ / "data"});
    EXPECT_TRUE(server->ready()) << server->said();
    return server;
  }
  static std::string url(const ServerProcess& server) {
    return fmt::format("http://127.0.0.1:{}", server.port());
  }
  static int queued(const ServerProcess& server) {
    const Reply reply = server.ask({.path = "/v1/queues/mail/stats"});
    if (reply.status != 200) return 0;
    const std::string text = field(reply.body, "total");
    int number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  }

  // An import that gets the first half of the file and then nothing more.
  pid_t begin_import(const ServerProcess& server) {
    const std::string pipe = directory_ / "pipe";
    mkfifo(pipe.c_str(), 0600);
    std::vector<std::string> words = {MILLRACE_PROGRAM, "import", pipe, "--into", url(server)};
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_t child = 0;
    EXPECT_EQ(posix_spawn(&child, MILLRACE_PROGRAM, nullptr, nullptr, argv.data(), environ), 0);
    pipe_ = open(pipe.c_str(), O_WRONLY | O_CLOEXEC);
    std::string half = beginning();
    for (int i = 0; i < all_tasks / 2; ++i) half += task_line(i) + "\n";
    EXPECT_EQ(write_all(half), half.size());
    return child;
  }

  std::size_t write_all(const std::string& text) const {
    std::size_t written = 0;
    while (written < text.size()) {
      const auto part = write(pipe_, text.data() + written, text.size() - written);
      if (part <= 0) break;
      written += static_cast<std::size_t>(part);
    }
    return written;
  }

  void end_import(pid_t child, int signal) {
    if (signal != 0) kill(child, signal);
    close(pipe_);
    int status = 0;
    waitpid(child, &status, 0);
  }

  // Each of them, once.
  static void expect_all(const ServerProcess& server) {
    EXPECT_EQ(queued(server), all_tasks);
    for (const int number : {0, all_tasks / 2, all_tasks - 1}) {
      const Reply task =
          server.ask({.path = fmt::format("/v1/tasks/01890000-0000-7000-9000-{:012x}", number)});
      EXPECT_THAT(task.body, HasSubstr(fmt::format(R"("payload":{{"n":{}}})", number)));
    }
  }

  TemporaryDirectory directory_;
  int pipe_ = -1;
};

TEST_F(MovingWithServer, everything_comes_out_and_goes_in_while_it_runs) {
  write_file(directory_ / "file", whole_export());
  const auto server = serve();
  const Ran imported = run_program({"import", directory_ / "file", "--into", url(*server)});
  EXPECT_EQ(imported.exit, 0) << imported.err;
  EXPECT_EQ(imported.err, "added 1 queue, no schedules, no memos and 20,000 tasks\n");
  expect_all(*server);
  const Ran exported = run_program({"export", url(*server), "--output", directory_ / "back"});
  EXPECT_EQ(exported.exit, 0) << exported.err;
  EXPECT_THAT(exported.err, HasSubstr("20,000 tasks to "));
  const Ran again = run_program({"import", directory_ / "back", "--into", directory_ / "copy"});
  EXPECT_EQ(again.exit, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("20,000 tasks"));
  const Ran twice = run_program({"import", directory_ / "back", "--into", url(*server)});
  EXPECT_THAT(twice.err, AllOf(HasSubstr("added no queues, no schedules, no memos and no tasks"),
                               HasSubstr("20,000 tasks")));
}

TEST_F(MovingWithServer, an_import_that_is_killed_goes_on_when_it_is_run_again) {
  const auto server = serve();
  const pid_t importing = begin_import(*server);
  while (queued(*server) == 0) {
  }
  end_import(importing, SIGKILL);
  write_file(directory_ / "file", whole_export());
  const Ran again = run_program({"import", directory_ / "file", "--into", url(*server)});
  EXPECT_EQ(again.exit, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("left as they were: 1 queue"));
  expect_all(*server);
}

TEST_F(MovingWithServer, an_import_whose_server_is_killed_goes_on_when_it_is_run_again) {
  auto server = serve();
  const pid_t importing = begin_import(*server);
  while (queued(*server) == 0) {
  }
  const int before = queued(*server);
  server->signal(SIGKILL);
  server->exit();
  end_import(importing, 0);
  server = serve();
  EXPECT_GE(queued(*server), before);
  write_file(directory_ / "file", whole_export());
  const Ran again = run_program({"import", directory_ / "file", "--into", url(*server)});
  EXPECT_EQ(again.exit, 0) << again.err;
  expect_all(*server);
}

TEST_F(MovingWithServer, what_comes_before_a_bad_line_is_in_and_the_line_is_named) {
  const auto server = serve();
  write_file(directory_ / "file",
             beginning() + task_line(0) + "\n" + task_line(1) + "\n{\"task\":{\"id\":7}}\n");
  const Ran imported = run_program({"import", directory_ / "file", "--into", url(*server)});
  EXPECT_EQ(imported.exit, 1);
  EXPECT_THAT(imported.err, AllOf(HasSubstr("added 1 queue, no schedules, no memos and 2 tasks"),
                                  HasSubstr("error: line 5: task.id is 7")));
  EXPECT_EQ(queued(*server), 2);
}

TEST_F(MovingWithServer, a_file_that_was_cut_short_is_told) {
  const auto server = serve();
  write_file(directory_ / "file", beginning() + task_line(0) + "\n");
  const Ran imported = run_program({"import", directory_ / "file", "--into", url(*server)});
  EXPECT_EQ(imported.exit, 1);
  EXPECT_THAT(imported.err, HasSubstr("without its closing line"));
}

TEST_F(MovingWithServer, a_server_that_is_away_or_wants_a_key_is_told) {
  write_file(directory_ / "file", whole_export());
  EXPECT_EQ(run_program({"export", "http://127.0.0.1:1", "-o", directory_ / "none"}).exit, 6);
  EXPECT_EQ(run_program({"import", directory_ / "file", "--into", "http://127.0.0.1:1"}).exit, 6);
  ServerProcess server({"--store", directory_ / "data"},
                       {{"MILLRACE_ADMIN_KEY", std::string(40, 'k')}});
  ASSERT_TRUE(server.ready()) << server.said();
  EXPECT_EQ(run_program({"import", directory_ / "file", "--into", url(server)}).exit, 7);
  EXPECT_EQ(run_program({"export", url(server)}).exit, 7);
  write_file(directory_ / "key", std::string(40, 'k') + "\n");
  EXPECT_EQ(run_program({"import", directory_ / "file", "--into", url(server), "--key-file",
                         directory_ / "key"})
                .exit,
            0);
}

}  // namespace
}  // namespace millrace::test
