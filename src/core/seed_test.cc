#include "core/seed.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

namespace millrace {
namespace {

TEST(Seed, no_two_are_alike_in_either_half) {
  std::set<std::uint64_t> high;
  std::set<std::uint64_t> low;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t seed = random_seed();
    high.insert(seed >> 32U);
    low.insert(seed & 0xFFFF'FFFFU);
  }
  EXPECT_GE(high.size(), 99U);
  EXPECT_GE(low.size(), 99U);
}

}  // namespace
}  // namespace millrace
