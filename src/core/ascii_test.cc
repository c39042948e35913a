#include "core/ascii.h"

#include <gtest/gtest.h>
#include <cctype>
#include <climits>

namespace millrace::ascii {
namespace {

TEST(Ascii, AgreesWithTheCLocaleForEveryByte) {
  for (int byte = CHAR_MIN; byte <= CHAR_MAX; ++byte) {
    const char c = static_cast<char>(byte);
    const int in_c = static_cast<unsigned char>(c);
    EXPECT_EQ(is_digit(c), std::isdigit(in_c) != 0) << byte;
    EXPECT_EQ(is_upper(c), std::isupper(in_c) != 0) << byte;
    EXPECT_EQ(is_letter(c), std::isalpha(in_c) != 0) << byte;
    EXPECT_EQ(is_letter_or_digit(c), std::isalnum(in_c) != 0) << byte;
    EXPECT_EQ(hex_digit(c) >= 0, std::isxdigit(in_c) != 0) << byte;
    EXPECT_EQ(lower(c), static_cast<char>(std::tolower(in_c))) << byte;
  }
}

TEST(Ascii, ReadsHexadecimalDigits) {
  EXPECT_EQ(hex_digit('0'), 0);
  EXPECT_EQ(hex_digit('9'), 9);
  EXPECT_EQ(hex_digit('a'), 10);
  EXPECT_EQ(hex_digit('F'), 15);
  EXPECT_EQ(hex_digit('g'), -1);
}

TEST(Ascii, IgnoresTheCaseOfLettersAlone) {
  EXPECT_EQ(lower("Content-Type Ä"), "content-type Ä");
  EXPECT_TRUE(equal_ignoring_case("HOST", "host"));
  EXPECT_FALSE(equal_ignoring_case("host", "hosts"));
  EXPECT_FALSE(equal_ignoring_case("[", "{"));  // 32 apart, as letters of two cases are
}

TEST(Ascii, KnowsTokensOfHttp) {
  EXPECT_TRUE(is_http_token("X-Task-Queue"));
  EXPECT_TRUE(is_http_token("!#$%&'*+-.^_`|~"));
  EXPECT_FALSE(is_http_token(""));
  EXPECT_FALSE(is_http_token("a b"));
  EXPECT_FALSE(is_http_token("a:b"));
  EXPECT_FALSE(is_http_token("a\r\nb"));
  EXPECT_FALSE(is_http_token("ä"));
}

}  // namespace
}  // namespace millrace::ascii
