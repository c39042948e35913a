// Which sequences a test program runs.
//
// MILLRACE_SEEDS=10000 runs that many; MILLRACE_SEED=42, or --seed=42, runs that one alone; both
// together run that many from that one on.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/random/duel.h"

namespace millrace::test {

inline constexpr std::size_t sequence_length = 300;

// From `first` on, `count` of them.
struct Seeds {
  std::uint64_t first = 1;
  std::uint64_t count = 1;
};
Seeds seeds_to_run(std::uint64_t usual_seeds);

// Fails the test with the first sequence on which the stores differ.
void expect_agreement(const Duel& duel, std::uint64_t usual_seeds);

}  // namespace millrace::test
