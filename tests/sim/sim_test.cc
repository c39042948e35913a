// The simulator itself: it finds nothing wrong with a correct store, and finds every defect.
#include <gtest/gtest.h>

#include "tests/sim/plain_store.h"
#include "tests/sim/simulation.h"

namespace millrace::test {

void PrintTo(const NamedDefect& defect, std::ostream* os) {
  *os << defect.name;
}

namespace {

OpenSubject plain(PlainDefect defect) {
  return [defect](std::unique_ptr<Disk> disk, const SubjectOptions& options) {
    return open_plain(std::move(disk), options, defect);
  };
}

TEST(Simulator, finds_nothing_wrong_with_a_store_that_is_right) {
  SimTally tally;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const auto account = simulate(plain(PlainDefect::none), seed, tally);
    ASSERT_FALSE(account) << account->text;
  }
}

TEST(Simulator, finds_nothing_wrong_with_the_journal) {
  constexpr std::uint64_t seeds = 200;
  SimTally tally;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const auto account = simulate(open_journal_subject, seed, tally);
    ASSERT_FALSE(account) << account->text << "replay with ./dev sim --seed " << seed;
  }
}

TEST(Simulator, makes_the_same_history_from_the_same_seed) {
  EXPECT_EQ(describe(make_history(7)), describe(make_history(7)));
  EXPECT_NE(describe(make_history(7)), describe(make_history(8)));
}

class SimulatorDefect : public ::testing::TestWithParam<NamedDefect> {};

TEST_P(SimulatorDefect, is_found_and_shrunk) {
  constexpr std::uint64_t most_seeds = 1000;
  constexpr std::size_t most_events = 25;
  // Which bit is flipped depends on the sizes of files, so no event before it can be left out.
  const std::size_t allowed = GetParam().defect == PlainDefect::no_checksum ? 1000 : most_events;
  for (std::uint64_t seed = 1; seed <= most_seeds; ++seed) {
    SimTally tally;
    const auto account = simulate(plain(GetParam().defect), seed, tally);
    if (!account) continue;
    EXPECT_LE(account->events, allowed) << account->text;
    return;
  }
  FAIL() << "no history of " << most_seeds << " found it";
}

INSTANTIATE_TEST_SUITE_P(Defects, SimulatorDefect, ::testing::ValuesIn(plain_defects()),
                         [](const auto& test) { return test.param.name; });

}  // namespace

}  // namespace millrace::test
