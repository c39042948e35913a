#include "core/utf8.h"

#include <gtest/gtest.h>
#include <string>

namespace millrace {
namespace {

TEST(Utf8, accepts_characters_of_every_length) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8(std::string("a\0b", 3)));
  EXPECT_TRUE(is_utf8("m\xc3\xbchle \xe2\x82\xac \xf0\x9f\x8c\x8a"));
  EXPECT_EQ(utf8_character("\xe2\x82\xac!"), 3U);
  EXPECT_EQ(utf8_character(""), 0U);
}

TEST(Utf8, refuses_what_only_looks_like_characters) {
  for (const char* text : {"\x80", "\xc3", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80",
                           "\xf0\x80\x80\xaf", "\xf4\x90\x80\x80", "\xff", "a\xe2\x82"}) {
    EXPECT_FALSE(is_utf8(text));
  }
}

}  // namespace
}  // namespace millrace
