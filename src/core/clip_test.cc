#include "core/clip.h"

#include <gtest/gtest.h>
#include <string>

namespace millrace {
namespace {

TEST(Clip, text_that_fits_stays_as_it_is) {
  EXPECT_EQ(clip("", 0), "");
  EXPECT_EQ(clip("abc", 3), "abc");
  EXPECT_EQ(clip("abc", 100), "abc");
}

TEST(Clip, ascii_is_cut_to_the_byte) {
  EXPECT_EQ(clip("abcdef", 4), "abcd");
  EXPECT_EQ(clip("abcdef", 0), "");
}

TEST(Clip, a_character_is_never_cut_in_two) {
  EXPECT_EQ(clip("a\u00e9z", 2), "a");        // two bytes
  EXPECT_EQ(clip("a\u00e9z", 3), "a\u00e9");  //
  EXPECT_EQ(clip("a\u20acz", 2), "a");        // three bytes
  EXPECT_EQ(clip("a\u20acz", 3), "a");        //
  EXPECT_EQ(clip("a\u20acz", 4), "a\u20ac");  //
  EXPECT_EQ(clip("a\U0001F600z", 4), "a");    // four bytes
  EXPECT_EQ(clip("a\U0001F600z", 5), "a\U0001F600");
  EXPECT_EQ(clip("\U0001F600", 3), "");
}

TEST(Clip, every_cut_of_every_mixture_is_whole_characters) {
  const std::string text = "x\u00e9\u20ac\U0001F600\U0001F600\u20ac\u00e9x\u0434\u0430";
  for (std::size_t most = 0; most <= text.size(); ++most) {
    const std::string cut = clip(text, most);
    ASSERT_LE(cut.size(), most);
    ASSERT_GT(cut.size() + 4, most);
    ASSERT_TRUE(text.starts_with(cut));
    const bool whole = cut.size() == text.size() ||
                       (static_cast<unsigned char>(text[cut.size()]) & 0xC0U) != 0x80U;
    ASSERT_TRUE(whole) << most;
  }
}

TEST(Clip, bytes_that_are_not_utf8_are_cut_where_they_stand) {
  const std::string junk(20, '\x80');
  EXPECT_EQ(clip(junk, 10).size(), 10U);
  EXPECT_EQ(clip(junk, 1).size(), 1U);
}

}  // namespace
}  // namespace millrace
