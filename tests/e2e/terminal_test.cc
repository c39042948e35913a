// What the console draws, on a real pseudo-terminal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/e2e/program.h"
#include "tests/e2e/server.h"
#include "tests/e2e/terminal.h"

namespace millrace::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class TerminalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Terminal::installed()) GTEST_SKIP() << "there is no tmux here";
    ASSERT_TRUE(server_.ready()) << server_.said();
    put("emails");
    put("a-queue-with-quite-a-long-name-that-does-not-fit-everywhere");
  }

  std::string millrace(const std::string& words) const {
    return "MILLRACE_URL=http://127.0.0.1:" + std::to_string(server_.port()) + " " +
           MILLRACE_PROGRAM + " " + words;
  }
  void put(const std::string& queue) const {
    server_.ask({.method = "POST", .path = "/v1/queues/" + queue + "/tasks", .body = "{}"});
  }

  ServerProcess server_{{"--store", "memory:"}};
};

TEST_F(TerminalTest, colours_are_for_terminals_and_can_be_refused_and_forced) {
  Terminal terminal(millrace("queues"), 120, 20);
  EXPECT_EQ(terminal.exit(), 0);
  EXPECT_THAT(terminal.written(), AllOf(HasSubstr("\x1b[1mQUEUE"), HasSubstr("\x1b[32mactive")));
  Terminal refused("NO_COLOR=1 " + millrace("queues"), 120, 20);
  EXPECT_EQ(refused.exit(), 0);
  EXPECT_THAT(refused.written(), AllOf(HasSubstr("active"), Not(HasSubstr("\x1b["))));
  const std::string piped = shell_output(millrace("queues"));
  EXPECT_THAT(piped, AllOf(HasSubstr("active"), Not(HasSubstr("\x1b")), Not(HasSubstr("\t"))));
  EXPECT_THAT(shell_output("CLICOLOR_FORCE=1 " + millrace("queues")), HasSubstr("\x1b[32mactive"));
  EXPECT_THAT(shell_output("NO_COLOR=1 CLICOLOR_FORCE=1 " + millrace("queues")),
              Not(HasSubstr("\x1b")));
  Terminal dumb("TERM=dumb " + millrace("queues"), 120, 20);
  EXPECT_EQ(dumb.exit(), 0);
  EXPECT_THAT(dumb.written(), Not(HasSubstr("\x1b[32m")));
}

TEST_F(TerminalTest, a_table_fits_the_terminal_and_is_whole_when_piped) {
  for (const int columns : {120, 80, 70}) {
    Terminal terminal(millrace("queues"), columns, 20);
    EXPECT_EQ(terminal.exit(), 0);
    const std::string screen = terminal.screen();
    // A line that did not fit would be broken in two.
    EXPECT_EQ(std::ranges::count(screen, '\n'), 4) << screen;
    EXPECT_EQ(screen.contains("everywhere"), columns == 120) << screen;
    EXPECT_EQ(screen.contains("…"), columns != 120) << screen;
    EXPECT_THAT(screen, HasSubstr("active"));
  }
  EXPECT_THAT(shell_output(millrace("queues")), HasSubstr("does-not-fit-everywhere"));
  Terminal ascii("LC_ALL=C " + millrace("queues"), 80, 20);
  EXPECT_EQ(ascii.exit(), 0);
  EXPECT_THAT(ascii.screen(), AllOf(HasSubstr("..."), Not(HasSubstr("…"))));
}

TEST_F(TerminalTest, what_cannot_be_taken_back_is_asked_about) {
  Terminal no(millrace("queues clear emails"), 80, 24);
  ASSERT_TRUE(no.says("Clear emails and remove 1 task permanently? [y/N]"));
  no.press("what Enter");
  ASSERT_TRUE(no.says("what\r\n"));
  no.press("n Enter");
  EXPECT_EQ(no.exit(), 1);
  EXPECT_THAT(no.screen(), HasSubstr("Nothing was changed."));
  Terminal yes(millrace("queues clear emails"), 80, 24);
  ASSERT_TRUE(yes.says("[y/N]"));
  yes.press("y Enter");
  EXPECT_EQ(yes.exit(), 0);
  EXPECT_THAT(yes.screen(), HasSubstr("removed 1 task"));
  Terminal end(millrace("queues remove emails --force"), 80, 24);
  ASSERT_TRUE(end.says("Remove the queue emails permanently?"));
  end.press("y Enter");
  EXPECT_EQ(end.exit(), 0);
}

TEST_F(TerminalTest, long_work_shows_how_far_it_is_on_one_line) {
  Terminal terminal("seq 1 200000 | " + millrace("put bulk --lines"), 80, 24);
  ASSERT_TRUE(terminal.says("\r\x1b[Kput "));
  EXPECT_EQ(terminal.exit(), 0);
  EXPECT_THAT(terminal.screen(), HasSubstr("put 200,000 tasks"));
  EXPECT_LE(std::ranges::count(terminal.screen(), '\n'), 3) << terminal.screen();
  const std::string piped = shell_output("seq 1 2000 | " + millrace("put bulk --lines 2>&1"));
  EXPECT_EQ(piped, "put 2,000 tasks\n");
}

TEST_F(TerminalTest, a_bulk_operation_is_asked_about_shown_and_left_alone) {
  shell_output("seq 1 300000 | " + millrace("put bulk --lines 2>&1"));
  Terminal no(millrace("tasks cancel --queue bulk"), 80, 24);
  ASSERT_TRUE(no.says("Cancel 300,000 tasks? [y/N]")) << no.written();
  EXPECT_THAT(no.written(), HasSubstr("counting "));
  no.press("n Enter");
  EXPECT_EQ(no.exit(), 1);
  EXPECT_THAT(no.screen(), HasSubstr("Nothing was changed."));
  Terminal left(millrace("tasks cancel --queue bulk --yes"), 80, 24);
  ASSERT_TRUE(left.says("cancelling ")) << left.written();
  server_.signal(SIGSTOP);  // so that it is not done before the key is pressed
  left.press("C-c");
  EXPECT_TRUE(left.says("^C"));
  server_.signal(SIGCONT);
  EXPECT_EQ(left.exit(), 130) << left.screen();
  EXPECT_THAT(left.screen(), AllOf(HasSubstr("It continues inside the server."),
                                   HasSubstr("millrace bulk cancel ")));
  const std::string list = shell_output(millrace("bulk"));
  const std::string id = list.substr(list.find('\n') + 1, 36);
  Terminal wait(millrace("bulk wait " + id), 80, 24);
  EXPECT_EQ(wait.exit(), 0) << wait.screen();
  EXPECT_THAT(wait.screen(), HasSubstr("cancelled 300,000 tasks"));
}

}  // namespace
}  // namespace millrace::test
