#include "cli/screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/grid.h"

namespace millrace::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr Look plain{.colours = false, .unicode = true, .width = 20};
constexpr Look coloured{.colours = true, .unicode = true, .width = 20};

TEST(Screen, lines_know_how_wide_they_are) {
  Line line("漢字");
  EXPECT_EQ(line.width(), 4U);
  line.add("ab", Paint::bad);
  line.pad_to(10);
  EXPECT_EQ(line.width(), 10U);
  EXPECT_EQ(line.text(), "漢字ab    ");
  line.cut(5);
  EXPECT_EQ(line.text(), "漢字…");
  EXPECT_EQ(line.width(), 5U);
  Line wide("漢字漢字");
  wide.cut(4);  // a wide character does not fit beside the mark
  EXPECT_EQ(wide.text(), "漢…");
  EXPECT_EQ(wide.width(), 3U);
}

TEST(Screen, a_cut_at_the_end_of_a_span_is_marked) {
  Line line("abc", Paint::good);
  line.add("def", Paint::bad);
  line.cut(3);
  EXPECT_EQ(line.text(), "ab…");
  Line fits("abc", Paint::good);
  fits.add("def", Paint::bad);
  fits.cut(6);
  EXPECT_EQ(fits.text(), "abcdef");
  Line ascii("abcdef");
  ascii.cut(5, false);
  EXPECT_EQ(ascii.text(), "ab...");
}

TEST(Screen, text_of_others_cannot_command_the_terminal) {
  EXPECT_EQ(Line("a\x1b[2Jb\nc").text(), "a?[2Jb c");
}

TEST(Screen, only_lines_that_changed_are_drawn) {
  const Screen first = {Line("one"), Line("two"), Line("three")};
  EXPECT_THAT(redraw({}, first, plain), AllOf(HasSubstr("\x1b[2J"), HasSubstr("\x1b[1;1Hone\x1b[K"),
                                              HasSubstr("\x1b[3;1Hthree")));
  EXPECT_THAT(redraw(first, first, plain), IsEmpty());
  const Screen second = {Line("one"), Line("zwei"), Line("three")};
  EXPECT_THAT(redraw(first, second, plain),
              AllOf(HasSubstr("\x1b[2;1Hzwei\x1b[K"), Not(HasSubstr("one")),
                    Not(HasSubstr("three")), Not(HasSubstr("\x1b[2J"))));
  // Lines that are gone are erased.
  EXPECT_THAT(redraw(first, {Line("one")}, plain),
              AllOf(HasSubstr("\x1b[2;1H\x1b[K"), HasSubstr("\x1b[3;1H\x1b[K")));
}

TEST(Screen, a_full_line_is_not_erased_behind_its_end) {
  EXPECT_THAT(redraw({Line("x")}, {Line(std::string(20, 'a'))}, plain), Not(HasSubstr("\x1b[K")));
}

TEST(Screen, colours_only_where_they_are_wanted_and_a_selection_everywhere) {
  Line line("bad", Paint::bad);
  EXPECT_THAT(redraw({}, {line}, coloured), HasSubstr("\x1b[31mbad\x1b[0m"));
  EXPECT_THAT(redraw({}, {line}, plain), Not(HasSubstr("\x1b[31m")));
  line.invert(20);
  EXPECT_EQ(line.width(), 20U);
  EXPECT_THAT(redraw({}, {line}, plain), HasSubstr("\x1b[7mbad"));
}

TEST(Grid, columns_go_by_rank_and_the_rest_share_the_room) {
  const std::vector<GridColumn> columns = {{.title = "NAME", .least = 6, .most = 10},
                                           {.title = "A", .right = true, .least = 4, .rank = 2},
                                           {.title = "B", .right = true, .least = 4, .rank = 1}};
  const std::vector<Cell> cells = {"something long", "12", "3"};
  EXPECT_EQ(Grid(columns, 20, plain).row(cells).text(), "something…   12    3");
  EXPECT_EQ(Grid(columns, 16, plain).row(cells).text(), "somet…   12    3");
  EXPECT_EQ(Grid(columns, 12, plain).row(cells).text(), "someth…    3");
  EXPECT_EQ(Grid(columns, 6, plain).row(cells).text(), "somet…");
  EXPECT_FALSE(Grid(columns, 12, plain).shows(1));
  // With room to spare the gaps grow, but not for ever.
  EXPECT_EQ(Grid(columns, 80, plain).row(cells).text(), "something…     12      3");
}

TEST(Grid, the_order_is_marked_in_the_head) {
  using Order = GridColumn::Order;
  const std::vector<GridColumn> columns = {
      {.title = "NAME", .least = 6, .order = Order::rising},
      {.title = "READY", .right = true, .least = 5, .order = Order::falling}};
  EXPECT_EQ(Grid(columns, 12, plain).head(Paint::title).text(), "NAME ▲▼READY");
  const Look ascii{.unicode = false, .width = 12};
  EXPECT_EQ(Grid(columns, 12, ascii).head(Paint::title).text(), "NAME ^vREADY");
}

}  // namespace
}  // namespace millrace::cli
