#include "tests/sim/rounds_simulation.h"

#include <gtest/gtest.h>

namespace millrace::test {
namespace {

TEST(RoundsSimulation, nothing_answered_is_ever_taken_back) {
  constexpr std::uint64_t seeds = 200;
  RoundsTally sum;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    RoundsSimulation simulation(open_journal_subject, seed);
    const auto wrong = simulation.run();
    ASSERT_FALSE(wrong) << "seed " << seed << ": " << *wrong;
    sum.answers += simulation.tally().answers;
    sum.crashes += simulation.tally().crashes;
    sum.completed += simulation.tally().completed;
  }
  EXPECT_GT(sum.answers, seeds * 50);
  EXPECT_GT(sum.crashes, seeds);
  EXPECT_GT(sum.completed, seeds * 5);
}

TEST(RoundsSimulation, answers_before_the_flush_are_found_out) {
  constexpr std::uint64_t most_seeds = 20;
  for (std::uint64_t seed = 1; seed <= most_seeds; ++seed) {
    if (RoundsSimulation(open_journal_subject, seed, false).run()) return;
  }
  FAIL() << "no run of " << most_seeds << " found it";
}

}  // namespace
}  // namespace millrace::test
