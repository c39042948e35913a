#include "transfer/line_reader.h"

#include <gtest/gtest.h>
#include <sstream>
#include <vector>

#include "tests/support/matchers.h"

namespace millrace::transfer {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  LineReader reader(in);
  std::vector<std::string> lines;
  for (auto line = reader.next(); line && *line; line = reader.next()) lines.emplace_back(**line);
  EXPECT_EQ(reader.line(), lines.size());
  return lines;
}

TEST(LineReader, gives_lines_without_their_ends) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lines_of(""), Lines{});
  EXPECT_EQ(lines_of("a"), Lines({"a"}));
  EXPECT_EQ(lines_of("a\n"), Lines({"a"}));
  EXPECT_EQ(lines_of("a\r\n\nb"), Lines({"a", "", "b"}));
}

TEST(LineReader, gives_long_lines_whole_wherever_the_chunks_end) {
  for (const std::size_t size : {262'143U, 262'144U, 262'145U, 1'000'000U}) {
    const std::string first(size, 'a');
    const std::string second(size + 7, 'b');
    EXPECT_EQ(lines_of(first + "\n" + second + "\nc"),
              (std::vector<std::string>{first, second, "c"}));
  }
}

TEST(LineReader, refuses_a_line_that_is_too_long_and_names_it) {
  std::istringstream in("short\n" + std::string(20, 'x') + "\n");
  LineReader reader(in, 10);
  EXPECT_THAT(reader.next(), test::IsOk());
  EXPECT_THAT(reader.next(), test::FailsWith(ErrorCode::too_large, ::testing::HasSubstr("line 2")));
}

TEST(LineReader, looks_ahead_without_taking_anything) {
  std::istringstream in("first\nsecond");
  LineReader reader(in);
  EXPECT_EQ(reader.peek(3), "fir");
  EXPECT_EQ(reader.peek(100), "first\nsecond");
  EXPECT_EQ(**reader.next(), "first");
  EXPECT_EQ(reader.rest(100), "second");
  EXPECT_EQ(*reader.next(), std::nullopt);
}

TEST(LineReader, refuses_a_rest_that_is_too_long) {
  std::istringstream in("0123456789");
  EXPECT_THAT(LineReader(in).rest(9), test::FailsWith(ErrorCode::too_large));
}

TEST(LineReader, says_when_the_stream_cannot_be_read) {
  std::istringstream in("a\n");
  in.setstate(std::ios::badbit);
  EXPECT_THAT(LineReader(in).next(), test::FailsWith(ErrorCode::unavailable));
}

}  // namespace
}  // namespace millrace::transfer
