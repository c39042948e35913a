// Workers over queues in virtual time, from a seed: what a manager changes, on the same arrivals
// and the same service times as without one.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace millrace::test {

inline constexpr double no_end = std::numeric_limits<double>::infinity();

struct SimulatedQueue {
  std::string name = {};
  double rate = 0;     // tasks per second, at random
  double service = 0;  // mean seconds of a task, at random
  std::uint32_t weight = 1;
  std::optional<std::uint32_t> most = std::nullopt;
  double burst_every = no_end;  // seconds; then so many tasks come at once
  double burst_first = 0;
  std::uint32_t burst = 0;
  double rush_every = no_end;  // seconds; then for `rush` seconds the rate is `rush_factor` times
  double rush = 0;             // what it is otherwise
  double rush_factor = 1;
};

struct SimulatedWorker {
  std::uint32_t processors = 0;
  std::vector<std::uint32_t> most = {};  // by queue
  double dies = no_end;                  // what it runs then starts anew elsewhere after 30 s
};

struct Scenario {
  std::string name = {};
  std::vector<SimulatedQueue> queues = {};
  std::vector<SimulatedWorker> workers = {};
  double seconds = 600;  // of arrivals; what waits then is still worked
};

struct QueueWaits {
  std::uint64_t tasks = 0;
  double mean = 0;
  double p99 = 0;
  double longest = 0;
};

struct Simulated {
  QueueWaits all = {};              // seconds until a task started
  std::vector<QueueWaits> by = {};  // by queue
  double weighted = 0;              // mean of wait times weight
  double worst = 0;                 // the longest mean wait of a queue, times its weight
  std::uint64_t rounds = 0;         // of the manager
  std::uint64_t changes = 0;        // rounds in which a worker was assigned something new
  std::uint64_t desired = 0;        // processors, at the end of the arrivals
};

Simulated simulate(const Scenario& scenario, bool manager, std::uint64_t seed);

// The loads that managers are compared on. `seconds` of arrivals.
std::vector<Scenario> scenarios(double seconds);

}  // namespace millrace::test
