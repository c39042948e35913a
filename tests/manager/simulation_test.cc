// The manager's rules at work: compared with round-robin on the same arrivals.
#include "tests/manager/simulation.h"

#include <gtest/gtest.h>

namespace millrace::test {
namespace {

constexpr double seconds = 600;

struct Compared {
  Scenario scenario = {};
  Simulated without = {};
  Simulated with = {};
};

Compared compare(const std::string& name, std::uint64_t seed = 1) {
  for (auto& scenario : scenarios(seconds)) {
    if (scenario.name != name) continue;
    return {scenario, simulate(scenario, false, seed), simulate(scenario, true, seed)};
  }
  ADD_FAILURE() << "no scenario is called " << name;
  return {};
}

// S1-082, S1-083
TEST(ManagerSimulation, even_loads_are_not_worse_off) {
  for (const char* name : {"even", "even-full", "dead-worker"}) {
    const auto both = compare(name);
    EXPECT_LE(both.with.all.mean, both.without.all.mean * 1.05) << name;
    EXPECT_LE(both.with.all.p99, both.without.all.p99 * 1.05) << name;
    // No change that pays nothing.
    EXPECT_EQ(both.with.changes, 0U) << name;
  }
}

TEST(ManagerSimulation, skewed_loads_are_better_off) {
  // The same work in the same time: the mean cannot change, but the longest waits get shorter.
  const auto skewed = compare("skewed");
  EXPECT_LE(skewed.with.all.mean, skewed.without.all.mean * 1.02);
  EXPECT_LT(skewed.with.all.p99, skewed.without.all.p99 * 0.98);
  EXPECT_LT(skewed.with.worst, skewed.without.worst * 0.98);
  // Short tasks do not wait for long ones.
  const auto mixed = compare("slow-and-fast");
  EXPECT_LT(mixed.with.all.mean, mixed.without.all.mean * 0.5);
  EXPECT_LT(mixed.with.all.p99, mixed.without.all.p99 * 0.5);
  const auto overlapping = compare("overlapping");
  EXPECT_LT(overlapping.with.all.mean, overlapping.without.all.mean * 0.9);
  EXPECT_LT(overlapping.with.all.p99, overlapping.without.all.p99 * 0.95);
}

TEST(ManagerSimulation, weights_count) {
  const auto both = compare("weights");
  EXPECT_LE(both.with.all.mean, both.without.all.mean * 1.05);
  EXPECT_LT(both.with.weighted, both.without.weighted * 0.75);
  EXPECT_LT(both.with.worst, both.without.worst * 0.75);
  EXPECT_LT(both.with.by[0].mean, both.with.by[1].mean);
  EXPECT_LT(both.with.by[1].mean, both.with.by[2].mean);
}

TEST(ManagerSimulation, no_queue_starves_and_nothing_is_lost) {
  for (const auto& scenario : scenarios(300)) {
    const auto without = simulate(scenario, false, 3);
    const auto with = simulate(scenario, true, 3);
    EXPECT_EQ(with.all.tasks, without.all.tasks) << scenario.name;
    for (std::size_t q = 0; q < scenario.queues.size(); ++q) {
      EXPECT_EQ(with.by[q].tasks, without.by[q].tasks);
      EXPECT_LT(with.by[q].longest, 150) << scenario.name << ", " << scenario.queues[q].name;
    }
  }
}

// More than can be done, all the time: what is assigned is left alone.
TEST(ManagerSimulation, a_steady_load_is_not_stirred) {
  const SimulatedWorker worker{.processors = 8, .most = {8, 8, 8}};
  Scenario scenario{.name = "steady",
                    .queues = std::vector<SimulatedQueue>(3, {.rate = 70, .service = 0.2}),
                    .workers = std::vector<SimulatedWorker>(4, worker),
                    .seconds = seconds};
  for (const std::uint32_t weight : {1U, 10U}) {
    scenario.queues[0].weight = weight;
    scenario.queues[1].weight = (weight + 1) / 2;
    const auto without = simulate(scenario, false, 1);
    const auto with = simulate(scenario, true, 1);
    EXPECT_LT(with.changes, with.rounds / 4);
    EXPECT_LE(with.all.mean, without.all.mean * 1.05);
  }
}

TEST(ManagerSimulation, a_seed_says_it_all) {
  const auto one = compare("weights", 9);
  const auto again = compare("weights", 9);
  EXPECT_EQ(one.with.all.mean, again.with.all.mean);
  EXPECT_EQ(one.with.changes, again.with.changes);
  EXPECT_NE(one.with.all.mean, compare("weights", 10).with.all.mean);
}

}  // namespace
}  // namespace millrace::test
