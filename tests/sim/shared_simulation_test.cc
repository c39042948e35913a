#include "tests/sim/shared_simulation.h"

#include <gtest/gtest.h>

namespace millrace::test {
namespace {

TEST(SharedSimulation, nothing_answered_is_taken_back_whatever_becomes_of_the_server) {
  constexpr std::uint64_t seeds = 300;
  SharedTally sum;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SharedSimulation simulation(seed);
    const auto wrong = simulation.run();
    ASSERT_FALSE(wrong) << "seed " << seed << ": " << *wrong;
    sum.answers += simulation.tally().answers;
    sum.unknown += simulation.tally().unknown;
    sum.outages += simulation.tally().outages;
    sum.completed += simulation.tally().completed;
    sum.sent_again += simulation.tally().sent_again;
  }
  EXPECT_GT(sum.answers, seeds * 50);
  EXPECT_GT(sum.unknown, seeds * 5);
  EXPECT_GT(sum.outages, seeds);
  EXPECT_GT(sum.completed, seeds * 5);
  EXPECT_GT(sum.sent_again, seeds);
}

TEST(SharedSimulation, answers_before_the_flush_are_found_out) {
  constexpr std::uint64_t most_seeds = 50;
  for (std::uint64_t seed = 1; seed <= most_seeds; ++seed) {
    if (SharedSimulation(seed, false).run()) return;
  }
  FAIL() << "no run of " << most_seeds << " found it";
}

}  // namespace
}  // namespace millrace::test
