#include "core/token_cipher.h"

#include <gtest/gtest.h>

#include <set>

namespace millrace {
namespace {

// From the paper that describes the cipher.
TEST(TokenCipher, is_speck) {
  constexpr TokenCipher cipher({0x03020100, 0x0b0a0908, 0x13121110, 0x1b1a1918});
  EXPECT_EQ(cipher(0x3b7265747475432d), 0x8c6fa548454e028b);
}

TEST(TokenCipher, gives_other_tokens_for_other_counts_and_other_keys) {
  const TokenCipher one({1, 2, 3, 4});
  const TokenCipher other({1, 2, 3, 5});
  std::set<std::uint64_t> seen;
  for (std::uint64_t count = 0; count < 1000; ++count) {
    seen.insert(one(count));
    seen.insert(other(count));
  }
  EXPECT_EQ(seen.size(), 2000U);
}

}  // namespace
}  // namespace millrace
