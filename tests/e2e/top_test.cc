// `millrace top` against a real server, on a real pseudo-terminal and elsewhere.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "tests/e2e/program.h"
#include "tests/e2e/server.h"
#include "tests/e2e/terminal.h"

namespace millrace::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class TopTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.ready()) << server_.said();
    put("emails", "welcome"), put("emails", "welcome");
    put("invoices", "monthly");
    run_program({"work", "--server", url(), "--until-empty", "emails", "--", "sh", "-c",
                 "echo 550 no such user >&2; exit 65"});
    put("emails", "digest");
    hold("emails");
  }

  std::string url() const { return fmt::format("http://127.0.0.1:{}", server_.port()); }
  std::string line(const std::string& flags = "") const {
    return fmt::format("{} top --server {} --every 100ms {}", MILLRACE_PROGRAM, url(), flags);
  }
  void put(const std::string& queue, const std::string& type) const {
    server_.ask({.method = "POST",
                 .path = fmt::format("/v1/queues/{}/tasks", queue),
                 .body = fmt::format(R"({{"type":"{}","payload":{{}}}})", type)});
  }
  // A worker that took a task and is at it.
  void hold(const std::string& queue) const {
    const Reply taken = server_.ask(
        {.method = "POST",
         .path = "/v1/take",
         .body = fmt::format(R"({{"worker":"build-7","queues":[{{"queue":"{}"}}]}})", queue)});
    const std::string id = field(taken.body, "id");
    server_.ask(
        {.method = "POST",
         .path = "/v1/tasks/" + id + "/progress",
         .body = fmt::format(R"({{"token":"{}","progress":40}})", field(taken.body, "token"))});
  }
  std::string queue(const std::string& name) const {
    return server_.ask({.path = "/v1/queues/" + name}).body;
  }

  ServerProcess server_{{"--store", "memory:"}};
};

class TopOnTerminal : public TopTest {
 protected:
  void SetUp() override {
    if (!Terminal::installed()) GTEST_SKIP() << "there is no tmux here";
    TopTest::SetUp();
  }
};

// The foot is drawn last: with it the screen is whole.
bool is_whole(const std::string& screen) {
  return screen.contains("550 no such user") && screen.contains("select");
}

std::size_t widest(const std::string& screen) {
  std::size_t most = 0;
  std::size_t width = 0;
  for (const char each : screen) {
    if (each == '\n') {
      width = 0;
    } else if ((static_cast<unsigned char>(each) & 0xc0U) != 0x80U) {
      most = std::max(most, ++width);
    }
  }
  return most;
}

TEST_F(TopOnTerminal, shows_what_there_is_at_both_sizes) {
  for (const int columns : {120, 80}) {
    Terminal terminal(line(), columns, columns == 120 ? 40 : 24);
    std::string screen;
    ASSERT_TRUE(terminal.shows([&](const std::string& now) {
      screen = now;
      return is_whole(now);
    })) << screen;
    EXPECT_THAT(screen, AllOf(StartsWith("millrace " + url()), HasSubstr("memory, lost with"),
                              HasSubstr("1 ready  1 running  2 dead"), HasSubstr("── queues 2 "),
                              HasSubstr("── running 1 "), HasSubstr("── dead letters 2 ")));
    EXPECT_THAT(screen, AllOf(HasSubstr("build-7"), HasSubstr("digest"), HasSubstr("40%"),
                              HasSubstr("no worker"), HasSubstr("q quit")));
    EXPECT_EQ(screen.contains("WAITED"), columns == 120);
    EXPECT_EQ(widest(screen), static_cast<std::size_t>(columns));
    EXPECT_EQ(terminal.tells("alternate_on"), "1");
    EXPECT_EQ(terminal.tells("cursor_flag"), "0");
    // For looking at.
    if (const char* where = std::getenv("MILLRACE_TOP_CAPTURES")) {
      write_file(fmt::format("{}/top-{}.txt", where, columns), screen);
    }
  }
}

TEST_F(TopOnTerminal, pausing_pauses_and_resuming_resumes) {
  Terminal terminal(line(), 120, 40);
  ASSERT_TRUE(terminal.shows("no worker"));
  terminal.press("j p");
  ASSERT_TRUE(terminal.shows("Pause queue \"invoices\"? y / n"));
  EXPECT_THAT(queue("invoices"), Not(HasSubstr("paused_until"))) << "the user has not said yes";
  terminal.press("n");
  ASSERT_TRUE(terminal.shows("nothing was changed"));
  terminal.press("p y");
  ASSERT_TRUE(terminal.shows("\"invoices\" is paused")) << terminal.screen();
  EXPECT_THAT(queue("invoices"), HasSubstr("paused_until"));
  ASSERT_TRUE(terminal.shows([](const std::string& screen) {
    const std::size_t row = screen.find("\ninvoices");
    return screen.substr(row + 1, screen.find('\n', row + 1) - row).contains("  paused");
  })) << terminal.screen();
  terminal.press("p y");
  ASSERT_TRUE(terminal.shows("\"invoices\" is resumed"));
  EXPECT_THAT(queue("invoices"), Not(HasSubstr("paused_until")));
}

TEST_F(TopOnTerminal, dead_letters_are_retried_one_and_all) {
  Terminal terminal(line(), 120, 40);
  ASSERT_TRUE(terminal.shows("dead letters 2"));
  terminal.press("Tab Tab r y");
  ASSERT_TRUE(terminal.shows("the task is queued again")) << terminal.screen();
  ASSERT_TRUE(terminal.shows("dead letters 1 "));
  terminal.press("Tab r");
  ASSERT_TRUE(terminal.shows("Retry 1 dead letter of \"emails\"?"));
  terminal.press("y");
  ASSERT_TRUE(terminal.shows("1 dead letter is queued again"));
  ASSERT_TRUE(terminal.shows("no dead letters"));
  EXPECT_EQ(field(server_.ask({.path = "/v1/stats"}).body, "dead"), "0");
}

TEST_F(TopOnTerminal, filter_sort_and_help) {
  Terminal terminal(line(), 80, 24);
  ASSERT_TRUE(terminal.shows("QUEUE ▲"));
  terminal.press("s");
  EXPECT_TRUE(terminal.shows("▼READY"));
  terminal.press("/ v o");
  EXPECT_TRUE(terminal.shows("queues 1 with vo"));
  EXPECT_TRUE(terminal.hides("\nemails"));
  terminal.press("Enter Escape");
  EXPECT_TRUE(terminal.shows("\nemails"));
  terminal.press("?");
  EXPECT_TRUE(terminal.shows("pause or resume the selected queue"));
  terminal.press("x");
  EXPECT_TRUE(terminal.hides("pause or resume the selected queue"));
}

TEST_F(TopOnTerminal, a_new_size_is_a_new_picture) {
  Terminal terminal(line(), 120, 40);
  ASSERT_TRUE(terminal.shows("WAITED"));
  terminal.resize(60, 15);
  ASSERT_TRUE(terminal.shows([](const std::string& screen) {
    return !screen.contains("WAITED") && screen.contains("q quit") && widest(screen) == 60;
  })) << terminal.screen();
  EXPECT_EQ(std::ranges::count(terminal.screen(), '\n'), 14);
  terminal.resize(30, 8);
  EXPECT_TRUE(terminal.shows("needs 40x10"));
  terminal.resize(130, 30);
  EXPECT_TRUE(terminal.shows("WAITED"));
}

TEST_F(TopOnTerminal, everything_is_as_it_was_whichever_way_it_ends) {
  const TemporaryDirectory scratch;
  for (const std::string way : {"q", "Escape", "C-c", "TERM", "HUP", "SEGV"}) {
    const std::string pid = scratch / "pid";
    Terminal terminal(
        fmt::format("echo before; stty -g > {0}; sh -c 'echo $$ > {1}; exec {2}'; code=$?\n"
                    "stty -g | cmp - {0} && echo same settings; (exit $code)",
                    scratch / "stty", pid, line()),
        80, 24);
    ASSERT_TRUE(terminal.shows("dead letters 2")) << way;
    if (way == "TERM" || way == "HUP" || way == "SEGV") {
      shell_output(fmt::format("kill -{} {}", way, read_file(pid)));
    } else {
      terminal.press(way);
    }
    const int exit = terminal.exit();
    EXPECT_TRUE(terminal.shows("exit=")) << way;
    EXPECT_EQ(exit, way == "SEGV" ? 128 + SIGSEGV : 0) << way;
    EXPECT_THAT(terminal.screen(), AllOf(HasSubstr("before"), HasSubstr("same settings"),
                                         Not(HasSubstr("dead letters"))))
        << way;
    EXPECT_EQ(terminal.tells("alternate_on"), "0") << way;
    EXPECT_EQ(terminal.tells("cursor_flag"), "1") << way;
  }
}

TEST_F(TopOnTerminal, a_server_that_goes_away_is_told_and_comes_back) {
  ServerProcess first({"--store", "memory:"});
  ASSERT_TRUE(first.ready());
  const std::string there = fmt::format("127.0.0.1:{}", first.port());
  first.ask({.method = "POST", .path = "/v1/queues/once/tasks", .body = "{}"});
  Terminal terminal(fmt::format("{} top --server http://{} --every 100ms", MILLRACE_PROGRAM, there),
                    100, 24);
  ASSERT_TRUE(terminal.shows("\nonce"));
  first.signal(SIGKILL);
  ASSERT_TRUE(terminal.shows("no answer for ")) << terminal.screen();
  EXPECT_TRUE(terminal.shows([](const std::string& screen) {
    return screen.contains("trying again") && screen.contains("\nonce");
  }));
  terminal.press("p y");
  EXPECT_TRUE(terminal.shows("could not connect")) << terminal.screen();
  ServerProcess second({"--no-listen", "--listen", there, "--store", "memory:"});
  ASSERT_TRUE(second.ready()) << second.said();
  ASSERT_TRUE(terminal.hides("no answer for")) << terminal.screen();
  EXPECT_TRUE(terminal.shows("no queues yet")) << terminal.screen();
  terminal.press("q");
  EXPECT_EQ(terminal.exit(), 0);
}

TEST_F(TopOnTerminal, only_what_changed_is_sent) {
  Terminal terminal(line(), 120, 40);
  ASSERT_TRUE(terminal.says("select"));  // the end of the first picture
  const std::size_t before = terminal.written().size();
  put("marker", "x");
  ASSERT_TRUE(terminal.says("marker"));
  const std::string sent = terminal.written().substr(before);
  EXPECT_THAT(sent, AllOf(Not(HasSubstr("\x1b[2J")), Not(HasSubstr("q\x1b[0m"))));
}

TEST_F(TopOnTerminal, no_colours_where_none_are_wanted) {
  Terminal terminal("NO_COLOR=1 " + line(), 100, 30);
  ASSERT_TRUE(terminal.says("select"));
  EXPECT_THAT(terminal.written(),
              AllOf(Not(HasSubstr("\x1b[31m")), Not(HasSubstr("\x1b[2m")), HasSubstr("\x1b[7m")));
  Terminal dumb("TERM=dumb " + line(), 100, 30);
  EXPECT_EQ(dumb.exit(), 0) << "a snapshot";
  EXPECT_THAT(dumb.written(), AllOf(HasSubstr("emails"), Not(HasSubstr("\x1b[?1049h"))));
}

// ---- Elsewhere ---------------------------------------------------------------------------------

TEST_F(TopTest, a_pipe_gets_a_snapshot) {
  const Ran ran = run_program({"top", "--server", url()});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(StartsWith("millrace "), HasSubstr("QUEUE"), HasSubstr("invoices"),
                             HasSubstr("running, longest first"), HasSubstr("build-7"),
                             HasSubstr("dead letters, newest first"), Not(HasSubstr("\x1b"))));
  EXPECT_EQ(run_program({"top", "--once", "--server", url()}).exit, 0);
}

TEST_F(TopTest, a_program_gets_json) {
  const Ran ran = run_program({"top", "--json", "--server", url()});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(std::ranges::count(ran.out, '\n'), 1);
  EXPECT_THAT(ran.out, AllOf(StartsWith(R"({"url":"http)"), HasSubstr(R"("server":{"version":)"),
                             HasSubstr(R"("queues":[{"name":"emails")"),
                             HasSubstr(R"("running":[{"id":)"), HasSubstr(R"("dead":[{"id":)")));
}

TEST_F(TopTest, bad_input_no_server_and_no_key_are_told_apart) {
  for (const char* every : {"soon", "0s", "1ms", "2h", "-1s", ""}) {
    const Ran ran = run_program({"top", "--server", url(), "--every", every});
    EXPECT_EQ(ran.exit, 2) << every;
    EXPECT_THAT(ran.err, HasSubstr("--every")) << every;
  }
  EXPECT_EQ(run_program({"top", "extra"}).exit, 2);
  EXPECT_EQ(run_program({"top", "--server", "ftp://x"}).exit, 2);
  const Ran unreachable = run_program({"top", "--server", "http://127.0.0.1:1"});
  EXPECT_EQ(unreachable.exit, 6);
  EXPECT_THAT(unreachable.err, HasSubstr("error: could not connect"));
  const TemporaryDirectory scratch;
  const std::string data = scratch / "data";
  const Ran key =
      run_program({"keys", "create", "--store", data, "--name", "a", "--scope", "admin"});
  ASSERT_EQ(key.exit, 0) << key.err;
  ServerProcess guarded({"--store", data});
  ASSERT_TRUE(guarded.ready());
  const Ran refused =
      run_program({"top", "--server", fmt::format("http://127.0.0.1:{}", guarded.port())});
  EXPECT_EQ(refused.exit, 7) << refused.err;
}

TEST_F(TopTest, a_key_for_some_queues_sees_these) {
  const TemporaryDirectory scratch;
  const std::string data = scratch / "data";
  const auto key = [&](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> words = {"keys", "create", "--store", data, "--name", name};
    words.insert(words.end(), more.begin(), more.end());
    write_file(scratch / name, run_program(words).out);
    return scratch / name;
  };
  const std::string admin = key("admin", {"--scope", "admin"});
  const std::string reader = key("reader", {"--scope", "read", "--queue", "mine"});
  ServerProcess guarded({"--store", data});
  ASSERT_TRUE(guarded.ready());
  const std::string there = fmt::format("http://127.0.0.1:{}", guarded.port());
  for (const char* queue : {"mine", "theirs"}) {
    EXPECT_EQ(run_program({"put", queue, "{}", "--server", there, "--key-file", admin}).exit, 0);
  }
  const Ran ran = run_program({"top", "--server", there, "--key-file", reader});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("mine"), Not(HasSubstr("theirs"))));
  EXPECT_THAT(ran.err, HasSubstr("no tasks are shown: "));
}

}  // namespace
}  // namespace millrace::test
