#include "core/nearest.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace millrace {
namespace {

TEST(Nearest, distance_counts_changed_added_dropped_and_swapped_letters) {
  EXPECT_EQ(distance("", ""), 0U);
  EXPECT_EQ(distance("serve", "serve"), 0U);
  EXPECT_EQ(distance("serve", "server"), 1U);
  EXPECT_EQ(distance("serve", "srve"), 1U);
  EXPECT_EQ(distance("serve", "sevre"), 1U);
  EXPECT_EQ(distance("serve", "swrve"), 1U);
  EXPECT_EQ(distance("", "abc"), 3U);
  EXPECT_EQ(distance("kitten", "sitting"), 3U);
}

TEST(Nearest, the_first_of_the_nearest) {
  const std::vector<std::string_view> names = {"listen", "store", "stare"};
  EXPECT_EQ(nearest("listn", names), "listen");
  EXPECT_EQ(nearest("stere", names), "store");
  EXPECT_EQ(nearest("", names), "store") << "the shortest, for want of anything else";
  EXPECT_EQ(nearest("x", {}), "");
}

TEST(Nearest, what_is_far_from_every_name_is_not_suggested) {
  const std::vector<std::string_view> names = {"put", "move", "retry", "export"};
  EXPECT_EQ(near_enough("exprot", names), "export");
  EXPECT_EQ(near_enough("mvoe", names), "move");
  EXPECT_EQ(near_enough("pu", names), "put");
  EXPECT_EQ(near_enough("list", names), "");
  EXPECT_EQ(near_enough("groups", names), "");
  EXPECT_EQ(near_enough("", names), "");
  EXPECT_EQ(near_enough("x", {}), "");
}

TEST(Nearest, of_a_very_long_word_only_the_beginning_counts) {
  const std::vector<std::string_view> names = {"a", "b"};
  EXPECT_EQ(nearest(std::string(10'000'000, 'b'), names), "b");
}

}  // namespace
}  // namespace millrace
