#include "store/embedded/ordered_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

namespace millrace::embedded {
namespace {

using Set = OrderedSet<std::uint64_t>;
using Pairs = std::vector<std::pair<std::uint64_t, std::uint32_t>>;

Pairs forward(const Set& set) {
  Pairs pairs;
  for (auto at = set.begin(); !(at == set.end()); ++at) pairs.push_back(*at);
  return pairs;
}

Pairs backward(const Set& set) {
  Pairs pairs;
  for (auto at = set.end(); !(at == set.begin());) pairs.push_back(*--at);
  return pairs;
}

TEST(OrderedSet, is_empty_at_first) {
  const Set set;
  EXPECT_TRUE(set.empty());
  EXPECT_TRUE(set.begin() == set.end());
  EXPECT_TRUE(set.lower_bound(7) == set.end());
}

TEST(OrderedSet, walks_in_order_both_ways) {
  Set set;
  for (std::uint32_t i = 1000; i > 0; --i) set.insert(i * 10, i);
  Pairs expected;
  for (std::uint32_t i = 1; i <= 1000; ++i) expected.emplace_back(i * 10, i);
  EXPECT_EQ(forward(set), expected);
  std::ranges::reverse(expected);
  EXPECT_EQ(backward(set), expected);
}

TEST(OrderedSet, a_queue_that_runs_empty_keeps_one_leaf) {
  Set set;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    set.insert(i, 1);
    EXPECT_EQ(set.front().first, i);
    set.erase(i);
  }
  EXPECT_TRUE(set.empty());
  EXPECT_LT(set.memory(), 2000U);
}

TEST(OrderedSet, accepts_less_than_everything_it_ever_held) {
  Set set;
  set.insert(100, 1);
  set.erase(100);
  set.insert(50, 2);
  for (std::uint64_t i = 0; i < 49; ++i) set.insert(49 - i, 3);
  for (std::uint64_t i = 0; i < 100; ++i) set.insert(1000 - i, 4);
  EXPECT_EQ(set.front().first, 1U);
  EXPECT_EQ(forward(set).size(), 150U);
  EXPECT_TRUE(std::ranges::is_sorted(forward(set)));
}

// Runs of appends, pops of the front, and random inserts and erases, against std::map.
TEST(OrderedSet, behaves_like_a_map_whatever_comes) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    Set set;
    std::map<std::uint64_t, std::uint32_t> model;
    std::uint64_t top = 1'000'000;
    const auto insert = [&](std::uint64_t key) {
      if (!model.emplace(key, static_cast<std::uint32_t>(key)).second) return;
      set.insert(key, static_cast<std::uint32_t>(key));
    };
    const auto erase_from = [&](std::uint64_t key) {
      const auto found = model.lower_bound(key);
      if (found == model.end()) return;
      set.erase(found->first);
      model.erase(found);
    };
    for (int step = 0; step < 5000; ++step) {
      switch (random() % 5) {
        case 0:
        case 1:
          insert(++top);
          break;
        case 2:
          insert(random() % 2'000'000);
          break;
        case 3:
          erase_from(0);
          break;
        default:
          erase_from(random() % 2'000'000);
          break;
      }
      ASSERT_EQ(set.size(), model.size());
      if (!model.empty()) {
        ASSERT_EQ(set.front().first, model.begin()->first);
      }
    }
    ASSERT_EQ(forward(set), Pairs(model.begin(), model.end())) << "seed " << seed;
    for (int probe = 0; probe < 200; ++probe) {
      const auto key = random() % 2'000'000;
      const auto expected = model.lower_bound(key);
      const auto found = set.lower_bound(key);
      ASSERT_EQ(found == set.end(), expected == model.end());
      if (expected != model.end()) {
        ASSERT_EQ((*found).first, expected->first);
      }
    }
  }
}

TEST(OrderedSet, gives_memory_back_when_it_thins_out) {
  Set set;
  for (std::uint64_t i = 0; i < 64'000; ++i) set.insert(i, 0);
  const auto full = set.memory();
  for (std::uint64_t i = 0; i < 64'000; ++i) {
    if (i % 32 != 0) set.erase(i);
  }
  EXPECT_EQ(set.size(), 2000U);
  EXPECT_LT(set.memory(), full / 5);
}

TEST(OrderedSetDeathTest, a_key_that_is_not_there_is_not_erased) {
  OrderedSet<std::uint64_t> set;
  EXPECT_DEATH(set.erase(1), "from an empty set");
  set.insert(1, 10);
  set.insert(3, 30);
  EXPECT_DEATH(set.erase(2), "not in the set");
  EXPECT_DEATH(set.erase(4), "not in the set");
}

}  // namespace
}  // namespace millrace::embedded
