#include "store/embedded/slot_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

namespace millrace::embedded {
namespace {

// Keys by slot, as the index's users have them.
struct Keys {
  SlotIndex index;
  std::vector<std::uint64_t> keys;

  std::uint32_t find(std::uint64_t hash, std::uint64_t key) const {
    return index.find(hash, [&](std::uint32_t slot) { return keys[slot] == key; });
  }
};

TEST(SlotIndex, an_empty_index_finds_nothing) {
  const Keys keys;
  EXPECT_EQ(keys.find(mix(1), 1), SlotIndex::none);
}

TEST(SlotIndex, keys_with_the_same_hash_are_told_apart) {
  Keys keys;
  keys.keys = {10, 20, 30};
  for (std::uint32_t slot = 0; slot < 3; ++slot) keys.index.insert(42, slot);
  EXPECT_EQ(keys.find(42, 10), 0U);
  EXPECT_EQ(keys.find(42, 30), 2U);
  keys.index.erase(42, 0);
  EXPECT_EQ(keys.find(42, 10), SlotIndex::none);
  EXPECT_EQ(keys.find(42, 20), 1U);
  EXPECT_EQ(keys.find(42, 30), 2U);
}

// `bits` low bits of hash: few of them make long probe runs that wrap around.
void compare_with_a_map(std::uint64_t seed, std::uint64_t bits) {
  std::mt19937_64 random(seed);
  Keys keys;
  std::map<std::uint64_t, std::uint32_t> model;
  const auto hash = [&](std::uint64_t key) { return mix(key) & ((1ULL << bits) - 1); };
  for (int step = 0; step < 3000; ++step) {
    const std::uint64_t key = random() % 400;
    const auto found = model.find(key);
    if (found == model.end()) {
      const auto slot = static_cast<std::uint32_t>(keys.keys.size());
      keys.keys.push_back(key);
      keys.index.insert(hash(key), slot);
      model.emplace(key, slot);
    } else if (random() % 2 == 0) {
      keys.index.erase(hash(key), found->second);
      model.erase(found);
    }
    const std::uint64_t probe = random() % 400;
    const auto expected = model.find(probe);
    ASSERT_EQ(keys.find(hash(probe), probe),
              expected == model.end() ? SlotIndex::none : expected->second)
        << "seed " << seed << " bits " << bits << " step " << step;
  }
}

TEST(SlotIndex, behaves_like_a_map_however_hashes_collide) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    for (const std::uint64_t bits : {1, 3, 6, 32}) compare_with_a_map(seed, bits);
  }
}

TEST(SlotIndex, takes_about_thirteen_bytes_an_entry) {
  SlotIndex index;
  constexpr std::uint32_t count = 1'000'000;
  for (std::uint32_t slot = 0; slot < count; ++slot) index.insert(mix(slot), slot);
  EXPECT_LT(index.memory() / count, 24U);
}

TEST(Mix, spreads_neighbours_over_all_tables) {
  std::vector<int> tables(1024);
  for (std::uint64_t i = 0; i < 102'400; ++i) ++tables[mix(i) >> 54];
  EXPECT_GT(std::ranges::min(tables), 50);
  EXPECT_LT(std::ranges::max(tables), 160);
}

TEST(SlotIndexDeathTest, a_slot_that_is_not_there_is_not_erased) {
  SlotIndex index;
  EXPECT_DEATH(index.erase(7, 1), "not in the index");
  index.insert(7, 1);
  EXPECT_DEATH(index.erase(7, 2), "not in the index");
}

}  // namespace
}  // namespace millrace::embedded
