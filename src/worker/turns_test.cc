#include "worker/turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace millrace::worker {
namespace {

// The names of so many picks, when all of `may` have work.
std::string picks(Turns& turns, std::size_t count, std::vector<bool> may = {true, true, true}) {
  std::string names;
  for (std::size_t i = 0; i < count; ++i) {
    const auto pick = turns.pick(may);
    names += pick ? static_cast<char>('a' + *pick) : '-';
  }
  return names;
}

// S1-052, S1-086
TEST(Turns, round_robin_goes_around) {
  Turns turns(QueueOrder::round_robin, {{"a"}, {"b"}, {"c"}});
  EXPECT_EQ(picks(turns, 7), "abcabca");
}

TEST(Turns, round_robin_leaves_out_who_has_nothing) {
  Turns turns(QueueOrder::round_robin, {{"a"}, {"b"}, {"c"}});
  EXPECT_EQ(picks(turns, 1), "a");
  EXPECT_EQ(picks(turns, 4, {true, false, true}), "caca");
  EXPECT_EQ(picks(turns, 1, {false, false, false}), "-");
}

TEST(Turns, strict_takes_the_highest_that_has_work) {
  Turns turns(QueueOrder::strict, {{"z", 5}, {"b", 9}, {"a", 5}});
  EXPECT_EQ(picks(turns, 3), "bbb");
  EXPECT_EQ(picks(turns, 2, {true, false, true}), "cc");  // by name
  EXPECT_EQ(picks(turns, 2, {true, false, false}), "aa");
}

TEST(Turns, weighted_is_in_proportion_and_smooth) {
  Turns turns(QueueOrder::weighted, {{"a", 5, 5}, {"b", 5, 1}, {"c", 5, 1}});
  const std::string names = picks(turns, 70);
  EXPECT_EQ(std::ranges::count(names, 'a'), 50);
  EXPECT_EQ(std::ranges::count(names, 'b'), 10);
  EXPECT_EQ(std::ranges::count(names, 'c'), 10);
  EXPECT_EQ(names.find("aaaaaa"), std::string::npos) << names;
}

TEST(Turns, weighted_counts_the_batches_of_a_turn) {
  Turns turns(QueueOrder::weighted, {{"a", 5, 1}, {"b", 5, 1}});
  std::size_t a = 0;
  std::size_t b = 0;
  for (int i = 0; i < 1000; ++i) {
    if (*turns.pick({true, true}) == 0) {
      a += 3;
      turns.took(2);
    } else {
      ++b;
    }
  }
  EXPECT_NEAR(static_cast<double>(a), static_cast<double>(b), 6);
}

TEST(Turns, no_queue_saves_up_for_later) {
  Turns turns(QueueOrder::weighted, {{"a", 5, 1}, {"b", 5, 1}});
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(turns.pick({true, false}), 0U);
  std::size_t a = 0;
  for (int i = 0; i < 10; ++i) a += *turns.pick({true, true}) == 0 ? 1U : 0U;
  EXPECT_EQ(a, 5U);
}

}  // namespace
}  // namespace millrace::worker
