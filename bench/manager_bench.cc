// What the manager is worth: waiting times with it, beside those with round-robin, on the same
// arrivals in virtual time. docs/benchmarks.md says what the figures mean.
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "bench/measure.h"
#include "tests/manager/simulation.h"

namespace {

using namespace millrace;

void compare(const test::Scenario& scenario, std::uint64_t seeds) {
  std::vector<double> means;
  std::vector<double> plain_means;
  std::vector<double> p99s;
  std::vector<double> plain_p99s;
  std::vector<double> worst;
  std::vector<double> weighted;
  double changes = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const auto plain = test::simulate(scenario, false, seed);
    const auto managed = test::simulate(scenario, true, seed);
    means.push_back(managed.all.mean);
    plain_means.push_back(plain.all.mean);
    p99s.push_back(managed.all.p99);
    plain_p99s.push_back(plain.all.p99);
    worst.push_back(managed.worst / plain.worst);
    weighted.push_back(managed.weighted / plain.weighted);
    changes += static_cast<double>(managed.changes) / static_cast<double>(managed.rounds);
  }
  const auto mean = bench::ratio_of(means, plain_means);
  const auto p99 = bench::ratio_of(p99s, plain_p99s);
  bench::Line("manager/" + scenario.name)
      .add("unit", "s")
      .add("ours", mean.ours)
      .add("round_robin", mean.yardstick)
      .add("ratio", mean.ratio)
      .add("ratio_min", mean.least)
      .add("ratio_max", mean.greatest)
      .add("ours_p99", p99.ours)
      .add("round_robin_p99", p99.yardstick)
      .add("p99_ratio", p99.ratio)
      .add("p99_ratio_min", p99.least)
      .add("p99_ratio_max", p99.greatest)
      .add("weighted_ratio", bench::median(weighted))
      .add("worst_queue_ratio", bench::median(worst))
      .add("changes_per_round", changes / static_cast<double>(seeds))
      .print();
}

}  // namespace

int main(int argc, char** argv) {
  const bool smoke = std::find(argv, argv + argc, std::string_view("--smoke")) != argv + argc;
  for (const auto& scenario : millrace::test::scenarios(smoke ? 120 : 3600)) {
    compare(scenario, smoke ? 1 : 9);
  }
}
