// Makes tokens of leases that cannot be guessed out of a counter: a permutation of all 64-bit
// numbers that depends on a secret key (the block cipher Speck64/128, 27 rounds). Different counts
// give different tokens, and the tokens that a worker has seen say nothing about others.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace millrace {

class TokenCipher {
 public:
  using Key = std::array<std::uint32_t, 4>;  // the least significant word first

  constexpr explicit TokenCipher(const Key& key) {
    std::uint32_t round_key = key[0];
    std::array<std::uint32_t, 3> rest{key[1], key[2], key[3]};
    for (std::uint32_t i = 0; i < rounds_.size(); ++i) {
      rounds_[i] = round_key;
      std::uint32_t& next = rest[i % rest.size()];
      next = (round_key + std::rotr(next, 8)) ^ i;
      round_key = std::rotl(round_key, 3) ^ next;
    }
  }

  constexpr std::uint64_t operator()(std::uint64_t count) const {
    auto high = static_cast<std::uint32_t>(count >> 32U);
    auto low = static_cast<std::uint32_t>(count);
    for (const std::uint32_t round_key : rounds_) {
      high = (std::rotr(high, 8) + low) ^ round_key;
      low = std::rotl(low, 3) ^ high;
    }
    return (std::uint64_t{high} << 32U) | low;
  }

 private:
  std::array<std::uint32_t, 27> rounds_ = {};
};

}  // namespace millrace
