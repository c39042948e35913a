#include "cli/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/display.h"

namespace millrace::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Table two_queues() {
  Table table({{"QUEUE", false, 6}, {"READY", true}, {"STATE"}});
  table.add({"emails", number_cell(1234), Cell("active", Paint::good)});
  table.add({"a-very-long-name", number_cell(0), Cell("paused", Paint::warning)});
  return table;
}

TEST(TableTest, columns_are_aligned_and_numbers_stand_right) {
  EXPECT_EQ(two_queues().text({}),
            "QUEUE             READY  STATE\n"
            "emails            1,234  active\n"
            "a-very-long-name      0  paused\n");
}

TEST(TableTest, a_narrow_terminal_shortens_what_may_be_shortened) {
  EXPECT_EQ(two_queues().text({.width = 24}),
            "QUEUE      READY  STATE\n"
            "emails     1,234  active\n"
            "a-very-l…      0  paused\n");
  EXPECT_THAT(two_queues().text({.unicode = false, .width = 24}), HasSubstr("a-very..."));
  // Below what a column keeps only where it must be, and numbers not at all.
  EXPECT_EQ(two_queues().text({.width = 21}),
            "QUEUE   READY  STATE\n"
            "emails  1,234  active\n"
            "a-ver…      0  paused\n");
  EXPECT_EQ(two_queues().text({.width = 5}),
            "QU…  READY  STATE\n"
            "em…  1,234  active\n"
            "a-…      0  paused\n");
}

TEST(TableTest, colours_only_where_they_are_wanted) {
  EXPECT_THAT(two_queues().text({}), Not(HasSubstr("\x1b")));
  const std::string text = two_queues().text({.colours = true});
  EXPECT_THAT(text, HasSubstr("\x1b[32mactive\x1b[0m"));
  EXPECT_THAT(text, HasSubstr("\x1b[1mQUEUE\x1b[0m             \x1b[1mREADY"));
  EXPECT_THAT(text, HasSubstr("    \x1b[2m0\x1b[0m")) << "what is nothing is faint";
}

TEST(TableTest, width_is_counted_in_cells_of_the_terminal) {
  Table table({{"NAME"}, {"N", true}});
  table.add({"日本", "1"});
  table.add({"é", "2"});
  table.add({"e\xcc\x81", "3"});  // a letter and an accent that combines with it
  table.add({"🙂", "4"});
  EXPECT_EQ(table.text({}),
            "NAME  N\n"
            "日本  1\n"
            "é     2\n"
            "e\xcc\x81     3\n"
            "🙂    4\n");
}

TEST(TableTest, nothing_in_a_cell_reaches_the_terminal_as_a_command) {
  Table table({{"NAME"}});
  table.add(
      {"a\x1b[2Jb\tc\nd\x9b"
       "31m\xc2\x9b\xe2\x80\xae\x7f"});
  EXPECT_EQ(table.text({.colours = true}).substr(13), "a?[2Jb c d?31m???\n");
}

TEST(DisplayTest, lines_stay_lines_and_json_stays_json) {
  const std::string evil = "a\x1b[2J\tb\r\nc\xc2\x9b\x9b\xe2\x80\xae\xd8\x9c\x7f";
  EXPECT_EQ(harmless(evil), "a?[2J\tb?\nc?????");
  EXPECT_EQ(harmless_json("{\"a\":\"é\xc2\x9b\xe2\x80\xae\x7f\"}\n"),
            "{\"a\":\"é\\u009b\\u202e\\u007f\"}\n");
}

TEST(DisplayTest, shortening_never_cuts_a_character) {
  EXPECT_EQ(shortened("日本語", 6), "日本語");
  EXPECT_EQ(shortened("日本語", 5), "日本…");
  EXPECT_EQ(shortened("日本語", 4), "日…");
  EXPECT_EQ(shortened("abc", 1), "…");
  EXPECT_EQ(shortened("abc", 0), "");
  EXPECT_EQ(shortened("abcd", 3, false), "...");
  EXPECT_EQ(shortened("abcd", 2, false), "");
}

TEST(SheetTest, values_are_aligned_and_empty_ones_left_out) {
  Sheet sheet;
  sheet.add("queue", "emails");
  sheet.add("type", "");
  sheet.head("Settings");
  sheet.add("max depth", "10");
  EXPECT_EQ(sheet.text({}),
            "queue      emails\n"
            "\n"
            "Settings\n"
            "max depth  10\n");
}

TEST(SparklineTest, shows_shares_of_the_greatest) {
  EXPECT_EQ(sparkline({0, 1, 4, 8}, {}), "▁▂▅█");
  EXPECT_EQ(sparkline({0, 0}, {}), "▁▁");
  EXPECT_EQ(sparkline({}, {}), "");
  EXPECT_EQ(sparkline({0, 1, 9, -1}, {.unicode = false}), "0190");
}

}  // namespace
}  // namespace millrace::cli
