#include "core/quote.h"

#include <gtest/gtest.h>
#include <string>

namespace millrace {
namespace {

TEST(Quote, plain_text_gets_quotes_and_nothing_else) {
  EXPECT_EQ(in_quotes(""), R"("")");
  EXPECT_EQ(in_quotes("0 25 * * *"), R"("0 25 * * *")");
  EXPECT_EQ(in_quotes(" ~"), R"(" ~")");
}

TEST(Quote, quotes_backslashes_and_what_cannot_be_printed_are_escaped) {
  EXPECT_EQ(in_quotes("say \"x\\y\""), R"("say \"x\\y\"")");
  EXPECT_EQ(in_quotes(std::string_view{"a\0\n\x7f\xff", 5}), R"("a\x00\x0a\x7f\xff")");
}

TEST(Quote, long_text_is_cut_after_80_bytes) {
  EXPECT_EQ(in_quotes(std::string(80, 'x')), "\"" + std::string(80, 'x') + "\"");
  EXPECT_EQ(in_quotes(std::string(81, 'x')), "\"" + std::string(80, 'x') + "\"...");
}

}  // namespace
}  // namespace millrace
