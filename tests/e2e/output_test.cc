// What the program writes: nothing that a terminal obeys, and nothing that is lost unnoticed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include "tests/e2e/program.h"
#include "tests/e2e/server.h"
#include "tests/e2e/terminal.h"
#include "tests/support/temporary_directory.h"

namespace millrace::test {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class OutputTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(server_.ready()) << server_.said(); }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_.port()); }
  std::string millrace(const std::string& words) const {
    return "MILLRACE_URL=" + url() + " " + MILLRACE_PROGRAM + " " + words;
  }
  // What it prints, what it says and how it ends.
  Ran shell(const std::string& line, const std::string& in = "/dev/null") const {
    return run_command({"bash", "-c", line}, in);
  }

  TemporaryDirectory directory_;
  ServerProcess server_{{"--store", "memory:"}};
};

// ---- What a terminal would obey ----------------------------------------------------------------

// An order to clear the screen, C1's way to begin one, and a mark that turns the writing.
constexpr const char* evil = R"('evil\033[2J\302\2331m\342\200\256\nend')";
constexpr const char* evil_bytes =
    "evil\x1b[2J\xc2\x9b"
    "1m\xe2\x80\xae\nend";

TEST_F(OutputTest, results_are_harmless_on_a_terminal_and_whole_when_piped) {
  if (!Terminal::installed()) GTEST_SKIP() << "there is no tmux here";
  const Ran put = shell(millrace("put q '{}'"));
  ASSERT_EQ(put.exit, 0) << put.err;
  const Ran worked = shell(millrace(std::string("work q --until-empty -- printf ") + evil));
  ASSERT_EQ(worked.exit, 0) << worked.err;
  for (const std::string verb : {"result 1", "wait 1"}) {
    Terminal terminal(millrace("task " + verb), 80, 24);
    EXPECT_EQ(terminal.exit(), 0);
    EXPECT_THAT(terminal.written(),
                AllOf(HasSubstr("evil?[2J?1m?\r\nend\r\n"), Not(HasSubstr("\x1b[2J")),
                      Not(HasSubstr("\xc2\x9b")), Not(HasSubstr("\xe2\x80\xae"))))
        << verb;
  }
  EXPECT_EQ(shell(millrace("task result 1")).out, evil_bytes);
  EXPECT_EQ(shell(millrace("task wait 1")).out, std::string(evil_bytes) + "\n");
}

TEST_F(OutputTest, json_is_harmless_on_a_terminal_and_whole_when_piped) {
  if (!Terminal::installed()) GTEST_SKIP() << "there is no tmux here";
  const std::string payload =
      "\"a\xc2\x9b"
      "31mb\xe2\x80\xae\"";
  ASSERT_EQ(shell(millrace("put q '" + payload + "'")).exit, 0);
  Terminal terminal(millrace("task 1 --json"), 200, 24);
  EXPECT_EQ(terminal.exit(), 0);
  EXPECT_THAT(terminal.written(),
              AllOf(HasSubstr(R"("a\u009b31mb\u202e")"), Not(HasSubstr("\xc2\x9b")),
                    Not(HasSubstr("\xe2\x80\xae"))));
  EXPECT_THAT(shell(millrace("task 1 --json")).out, HasSubstr(payload));
}

// A task whose every part is full of HTML and of orders to a terminal. What it says is shown, as
// text, by every command that speaks of it; and the server's own log stays harmless as well.
TEST_F(OutputTest, a_hostile_task_is_harmless_in_every_command_and_in_the_log) {
  if (!Terminal::installed()) GTEST_SKIP() << "there is no tmux here";
  const std::string text = R"(<b onclick=x>\u001b[2J\u009b31m\u202e\u0007)";
  const auto post = [&](const std::string& path, const std::string& body) {
    const Reply reply = server_.ask({.method = "POST", .path = path, .body = body});
    EXPECT_LT(reply.status, 300U) << path << ": " << reply.body;
    return reply.body;
  };
  post("/v1/tasks", R"({"queue":"q","type":"t","payload":{"a":")" + text + R"("}})");
  const std::string taken = post("/v1/take", R"({"worker":"<i>w</i>","queue":"q"})");
  const std::string at = "/v1/tasks/" + field(taken, "id");
  const std::string token = R"({"token":")" + field(taken, "token") + "\"";
  post(at + "/log", token + R"(,"lines":[")" + text + R"("]})");
  post(at + "/settle", token + R"(,"outcome":"failed","retryable":false,"error":{"code":"<i>c</i>",
       "message":")" + text +
                           R"(","details":")" + text + R"(","stack":")" + text + R"("}})");
  for (const std::string words : {"task show 1", "task log 1", "task explain 1", "tasks", "dead",
                                  "workers", "queues", "stats", "top --once"}) {
    Terminal terminal(millrace(words), 200, 50);
    EXPECT_EQ(terminal.exit(), 0) << words;
    EXPECT_THAT(terminal.written(), AllOf(Not(HasSubstr("\x1b[2J")), Not(HasSubstr("\xc2\x9b")),
                                          Not(HasSubstr("\xe2\x80\xae")), Not(HasSubstr("\a"))))
        << words;
  }
  EXPECT_THAT(shell(millrace("task show 1")).out, HasSubstr("<b onclick=x>"));
  // What could not be understood is told in the log.
  server_.ask({.method = "POST", .path = "/v1/tasks", .body = "{\"\x1b[2J\xc2\x9b\":"});
  server_.signal(SIGTERM);
  EXPECT_EQ(server_.exit(), 0);
  EXPECT_THAT(server_.said(),
              AllOf(Not(HasSubstr("\x1b[2J")), Not(HasSubstr("\xc2\x9b")), Not(HasSubstr("\a"))));
}

// ---- What does not arrive ----------------------------------------------------------------------

TEST_F(OutputTest, a_full_disk_is_a_failure_of_every_command) {
  ASSERT_EQ(shell(millrace("put q '{}'")).exit, 0);
  for (const std::string& words : std::vector<std::string>{
           "queues", "queues --json", "tasks", "task 1", "put q '{}'", "top --once", "--help",
           "completion bash", "config", "export " + url()}) {
    const Ran ran = shell(millrace(words + " > /dev/full"));
    EXPECT_EQ(ran.exit, 1) << words << ran.err;
    EXPECT_THAT(ran.err, AllOf(HasSubstr("error: cannot write to standard output"),
                               Not(HasSubstr("server running")), Not(HasSubstr("millrace serve"))))
        << words;
  }
  const Ran file = shell(millrace("export " + url() + " -o /dev/full/x"));
  EXPECT_EQ(file.exit, 1) << file.err;
}

TEST_F(OutputTest, a_reader_that_leaves_ends_it_quietly) {
  shell("seq 1 20000 | " + millrace("put q --lines"));
  for (const std::string& words : {"export " + url(), std::string("tasks --all --json")}) {
    const Ran ran = shell(millrace(words) + " | head -1 > /dev/null; exit ${PIPESTATUS[0]}");
    EXPECT_EQ(ran.exit, 141) << words;
    EXPECT_THAT(ran.err, IsEmpty()) << words;
  }
}

// ---- A server that starts anew -----------------------------------------------------------------

class Waiting : public ::testing::Test {
 protected:
  void SetUp() override {
    first_.emplace(std::vector<std::string>{"--store", directory_ / "data"});
    ASSERT_TRUE(first_->ready()) << first_->said();
    listen_ = "127.0.0.1:" + std::to_string(first_->port());
  }
  ~Waiting() override {
    if (pipe_ != nullptr) pclose(pipe_);
  }

  // Puts a task and waits for its end; here its id is known.
  std::string put_and_wait(const std::string& wait) {
    const std::string line = std::string(MILLRACE_PROGRAM) + " put q '{}' --wait " + wait +
                             " --server http://" + listen_ + " 2>&1";
    pipe_ = popen(line.c_str(), "r");
    char id[64] = {};
    return fgets(id, sizeof(id), pipe_) != nullptr ? std::string(id, 36) : "";
  }
  // What else it prints, and how it ends.
  Ran ended() {
    Ran ran;
    char bytes[1024];
    while (const auto got = fread(bytes, 1, sizeof(bytes), pipe_)) ran.out.append(bytes, got);
    ran.exit = WEXITSTATUS(pclose(std::exchange(pipe_, nullptr)));
    return ran;
  }

  TemporaryDirectory directory_;
  std::optional<ServerProcess> first_;
  std::string listen_;
  FILE* pipe_ = nullptr;
};

TEST_F(Waiting, goes_on_with_the_server_that_comes_back) {
  const std::string id = put_and_wait("60s");
  first_->signal(SIGTERM);
  first_->exit();
  ServerProcess second({"--no-listen", "--store", directory_ / "data", "--listen", listen_});
  ASSERT_TRUE(second.ready()) << second.said();
  const Ran worked = run_program(
      {"work", "q", "--until-empty", "--server", "http://" + listen_, "--", "printf", "done"});
  ASSERT_EQ(worked.exit, 0) << worked.err;
  const Ran ran = ended();
  EXPECT_EQ(ran.exit, 0) << ran.out;
  EXPECT_THAT(ran.out, EndsWith("done\n"));
}

TEST_F(Waiting, a_put_is_repeated_until_the_server_is_back) {
  first_->signal(SIGTERM);
  first_->exit();
  const std::string line = std::string(MILLRACE_PROGRAM) +
                           " put q '{}' --retry-for 50s --server http://" + listen_ + " 2>&1";
  pipe_ = popen(line.c_str(), "r");
  char told[256] = {};
  ASSERT_NE(fgets(told, sizeof(told), pipe_), nullptr);
  EXPECT_THAT(told, HasSubstr("trying again for 50s, with the same id"));
  ServerProcess second({"--no-listen", "--store", directory_ / "data", "--listen", listen_});
  ASSERT_TRUE(second.ready()) << second.said();
  const Ran ran = ended();
  EXPECT_EQ(ran.exit, 0) << ran.out;
  EXPECT_EQ(ran.out.size(), 37U) << "only the id: " << ran.out;
}

TEST_F(Waiting, ends_with_6_and_says_how_to_wait_again) {
  const std::string id = put_and_wait("2s");
  first_->signal(SIGKILL);
  const Ran ran = ended();
  EXPECT_EQ(ran.exit, 6) << ran.out;
  EXPECT_THAT(ran.out, HasSubstr("millrace task wait " + id + " --server http://" + listen_));
  const Ran again =
      run_program({"task", "wait", id, "--timeout", "60s", "--server", "http://" + listen_});
  EXPECT_EQ(again.exit, 6) << "at once: no server was there";
}

TEST_F(OutputTest, an_interrupted_export_leaves_nothing_behind) {
  shell("seq 1 20000 | " + millrace("put q --lines"));
  server_.signal(SIGSTOP);  // so that it does not end before
  const Ran ran = shell(millrace("export " + url() + " -o " + (directory_ / "x") + " & ") +
                        "while ! test -e " + (directory_ / "x.part") +
                        "; do :; done; kill -TERM $!; wait $!; echo $?; ls " + (directory_ / ""));
  server_.signal(SIGCONT);
  EXPECT_EQ(ran.out, "143\n") << ran.err;
}

TEST_F(OutputTest, interrupted_lines_say_how_many_went_in) {
  const std::string pipe = directory_ / "pipe";
  const std::string wait_for_them =
      "until " + millrace("stats q --json") + " 2> /dev/null | grep -q '\"put\":500'; do :; done; ";
  const Ran ran =
      shell("mkfifo " + pipe + "; " + millrace("put q --lines < " + pipe + " & ") + "exec 3> " +
            pipe + "; seq 1 500 >&3; " + wait_for_them + "kill -TERM $!; wait $!; echo $?");
  EXPECT_EQ(ran.out, "130\n");
  EXPECT_THAT(ran.err, HasSubstr("interrupted: put "));
}

TEST_F(OutputTest, what_is_removed_is_told_as_json_too) {
  const std::string id = shell(millrace("put q '{}'")).out.substr(0, 36);
  EXPECT_EQ(shell(millrace("task remove 1 --yes --json")).out,
            "{\"id\":\"" + id + "\",\"removed\":true}\n");
  EXPECT_EQ(shell(millrace("queues remove q -y --json")).out,
            "{\"name\":\"q\",\"removed\":true}\n");
  ASSERT_EQ(shell(millrace("queues create p")).exit, 0);
  for (const std::string& when :
       std::vector<std::string>{"--for 0s", "--until 2001-01-01T00:00:00Z"}) {
    EXPECT_EQ(shell(millrace("queues pause p " + when)).exit, 2) << when;
  }
}

// ---- Keys --------------------------------------------------------------------------------------

TEST_F(OutputTest, keys_that_come_along_are_told_and_those_for_some_queues_get_advice_that_fits) {
  const auto made = [&](const std::string& flags) {
    Ran ran = shell(MILLRACE_PROGRAM " keys create --store " + (directory_ / "data") + " " + flags);
    EXPECT_EQ(ran.exit, 0) << ran.err;
    return "MILLRACE_KEY=" + ran.out.substr(0, ran.out.find('\n')) + " ";
  };
  made("--name ops --scope admin");
  const std::string confined = made("--name shop --scope read --queue 'shop.*'");
  const std::string putter = made("--name in --scope put");
  const Ran moved = shell(MILLRACE_PROGRAM " export " + (directory_ / "data") +
                          " | " MILLRACE_PROGRAM " import - --into " + url());
  EXPECT_EQ(moved.exit, 0);
  EXPECT_THAT(moved.err,
              HasSubstr("3 API keys came with the import; from now on requests need a key"));
  for (const std::string& words : std::vector<std::string>{"tasks", "dead"}) {
    const Ran ran = shell(confined + millrace(words));
    EXPECT_EQ(ran.exit, 7);
    EXPECT_THAT(ran.err, AllOf(HasSubstr("--queue QUEUE"), Not(HasSubstr("?queue=")))) << words;
  }
  const Ran top = shell(confined + millrace("top --once"));
  EXPECT_EQ(top.exit, 0);
  EXPECT_THAT(top.err, AllOf(HasSubstr("millrace tasks --queue"), Not(HasSubstr("?queue="))));
  EXPECT_EQ(shell(putter + millrace("top --once")).exit, 7);
}

// ---- What is on standard input -----------------------------------------------------------------

TEST_F(OutputTest, a_payload_that_was_meant_and_not_said_is_told) {
  write_file(directory_ / "payload", "{\"a\":1}");
  const Ran file = shell(millrace("put q"), directory_ / "payload");
  EXPECT_EQ(file.exit, 2);
  EXPECT_THAT(file.err, HasSubstr("millrace put QUEUE -"));
  // The pipe is full before the program looks.
  const Ran pipe = shell("echo '{\"a\":1}' | { read -rN1; " + millrace("put q") + "; }");
  EXPECT_EQ(pipe.exit, 2) << pipe.err;
  EXPECT_THAT(pipe.out, IsEmpty());
  write_file(directory_ / "nothing", "");
  EXPECT_EQ(shell(millrace("put q"), directory_ / "nothing").exit, 0);
  EXPECT_EQ(shell(millrace("put q")).exit, 0) << "from /dev/null";
  EXPECT_EQ(shell("true | " + millrace("put q")).exit, 0) << "a pipe with nothing in it";
  EXPECT_EQ(shell(millrace("put q '{}'"), directory_ / "payload").exit, 0);
  const Ran empty = shell(millrace("put q ''"));
  EXPECT_EQ(empty.exit, 2);
  EXPECT_THAT(empty.err, HasSubstr("leave it out"));
}

}  // namespace
}  // namespace millrace::test
