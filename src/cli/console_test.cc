#include "cli/console.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

#include "cli/session.h"
#include "store/store.h"
#include "tests/support/bare_host.h"

namespace millrace::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ConsoleTest : public ::testing::Test {
 protected:
  Console console(bool terminal) {
    with_.terminal = terminal;
    with_.colours = terminal;
    return Console(with_);
  }

  ManualClock clock_;
  std::istringstream in_;
  std::ostringstream out_;
  std::ostringstream err_;
  test::BareHost host_;
  Surroundings with_{.in = in_, .out = out_, .err = err_, .clock = clock_, .host = host_};
};

TEST_F(ConsoleTest, is_plain_text_without_a_terminal) {
  auto quiet = console(false);
  quiet.progress("exporting", 1, 2);
  quiet.say("done");
  quiet.warn("careful");
  quiet.fail({ErrorCode::not_found, "gone"});
  EXPECT_EQ(err_.str(), "done\nwarning: careful\nerror: gone\n");
}

TEST_F(ConsoleTest, shows_progress_and_colours_to_people) {
  auto loud = console(true);
  loud.progress("exporting", 1, 2);
  EXPECT_THAT(err_.str(), HasSubstr("exporting [###############---------------] 50 %"));
  loud.fail({ErrorCode::not_found, "gone"});
  EXPECT_THAT(err_.str(), HasSubstr("\r\x1b[K\x1b[1;31merror:\x1b[0m gone\n"));
}

TEST_F(ConsoleTest, says_nothing_that_a_terminal_obeys) {
  auto loud = console(true);
  loud.fail({ErrorCode::invalid, "a\x1b[2J"}, "b\xc2\x9b\nc");
  EXPECT_EQ(err_.str(), "\x1b[1;31merror:\x1b[0m a?[2J\nb?\nc\n");
}

TEST_F(ConsoleTest, shows_progress_at_most_ten_times_a_second) {
  auto loud = console(true);
  loud.progress("exporting", 1, 100);
  loud.progress("exporting", 2, 100);
  EXPECT_THAT(err_.str(), Not(HasSubstr("2 %")));
  clock_.advance(Duration(100));
  loud.progress("exporting", 3, 100);
  EXPECT_THAT(err_.str(), HasSubstr("3 %"));
  clock_.advance(Duration(100));
  loud.progress("importing", 1234, 0);
  EXPECT_THAT(err_.str(), HasSubstr("importing 1,234"));
}

TEST_F(ConsoleTest, gives_errors_the_exit_code_that_fits) {
  auto quiet = console(false);
  EXPECT_EQ(quiet.fail({ErrorCode::corrupt, "damaged"}), Exit::corrupt);
  EXPECT_EQ(quiet.fail({ErrorCode::unavailable, "gone"}), Exit::failed);
}

TEST(Advice, speaks_of_flags_and_not_of_the_api) {
  EXPECT_EQ(in_words_of_flags("some queues only: name one with ?queue="),
            "some queues only: name one with --queue QUEUE");
  EXPECT_EQ(in_words_of_flags("some queues only: name one"),
            "some queues only: name one with --queue QUEUE");
  EXPECT_EQ(in_words_of_flags("no"), "no");
}

TEST(Numbers, are_grouped_and_counted) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1'234'567), "1,234,567");
  EXPECT_EQ(counted(0, "task", "tasks"), "no tasks");
  EXPECT_EQ(counted(1, "task", "tasks"), "1 task");
  EXPECT_EQ(counted(2000, "task", "tasks"), "2,000 tasks");
}

}  // namespace
}  // namespace millrace::cli
