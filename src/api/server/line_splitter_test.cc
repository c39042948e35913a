#include "api/server/line_splitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace millrace::api {
namespace {

using ::testing::ElementsAre;

constexpr std::size_t longest = 6;

// The lines of a body that comes in these pieces; "…" for a line that was too long.
std::vector<std::string> lines_of(const std::vector<std::string>& pieces) {
  LineSplitter lines(longest);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    lines.feed(pieces[i], i + 1 == pieces.size());
    while (const auto line = lines.next()) {
      out.push_back(line->too_long ? "…" : std::string(line->text));
      EXPECT_EQ(lines.number(), out.size());
    }
  }
  return out;
}

TEST(LineSplitter, gives_lines_without_their_ends_and_the_last_without_one) {
  EXPECT_THAT(lines_of({"one\n\ntwo"}), ElementsAre("one", "", "two"));
  EXPECT_THAT(lines_of({"one\n"}), ElementsAre("one"));
  EXPECT_THAT(lines_of({""}), ElementsAre());
}

TEST(LineSplitter, leaves_out_what_is_too_long_and_goes_on_behind_it) {
  EXPECT_THAT(lines_of({"1234567\nsix666\n"}), ElementsAre("…", "six666"));
  EXPECT_THAT(lines_of({"a\n1234567"}), ElementsAre("a", "…"));
  EXPECT_THAT(lines_of({"1234", "5678", "9", "0\nb\n"}), ElementsAre("…", "b"));
}

TEST(LineSplitter, gives_the_same_lines_wherever_the_body_is_cut) {
  const std::string body = "one\n\n1234567890\ntwo2\nsix666\n\nlast";
  const std::vector<std::string> whole = lines_of({body});
  for (std::size_t i = 0; i <= body.size(); ++i) {
    for (std::size_t j = i; j <= body.size(); ++j) {
      EXPECT_EQ(lines_of({body.substr(0, i), body.substr(i, j - i), body.substr(j)}), whole)
          << i << " " << j;
    }
  }
}

}  // namespace
}  // namespace millrace::api
