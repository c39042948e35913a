#include <utility>

#include "tests/manager/simulation.h"

namespace millrace::test {
namespace {

// Four of eight processors each, for any queue.
std::vector<SimulatedWorker> workers(std::size_t queues) {
  return std::vector<SimulatedWorker>(
      4, {.processors = 8, .most = std::vector<std::uint32_t>(queues, 8)});
}

Scenario even(std::string name, double rate, double seconds) {
  std::vector<SimulatedQueue> queues;
  for (const char* queue : {"a", "b", "c", "d"}) {
    queues.push_back({.name = queue, .rate = rate, .service = 0.2});
  }
  return {std::move(name), std::move(queues), workers(4), seconds};
}

// Now and then there is more than can be done.
SimulatedQueue rushed(std::string name, double rate, double rush, double factor,
                      std::uint32_t weight = 1) {
  return {.name = std::move(name),
          .rate = rate,
          .service = 0.2,
          .weight = weight,
          .rush_every = 300,
          .rush = rush,
          .rush_factor = factor};
}

Scenario slow_and_fast(double seconds) {
  return {"slow-and-fast",
          {{.name = "fast", .rate = 60, .service = 0.05},
           {.name = "slow",
            .rate = 0.7,
            .service = 20,
            .burst_every = 300,
            .burst_first = 30,
            .burst = 60}},
          workers(2),
          seconds};
}

Scenario bursts(double seconds) {
  Scenario scenario = even("bursts", 24, seconds);
  for (std::size_t q = 0; q < scenario.queues.size(); ++q) {
    scenario.queues[q].burst_every = 120;
    scenario.queues[q].burst_first = 30.0 * static_cast<double>(q);
    scenario.queues[q].burst = 1000;
  }
  return scenario;
}

// Two kinds of workers, of which both can work on the queue in the middle.
Scenario overlapping(double seconds) {
  const SimulatedWorker left{.processors = 8, .most = {8, 8, 0}};
  const SimulatedWorker right{.processors = 8, .most = {0, 8, 8}};
  return {"overlapping",
          {rushed("left", 60, 60, 1.6),
           rushed("both", 50, 60, 1.6),
           {.name = "right", .rate = 15, .service = 0.2}},
          {left, left, right, right},
          seconds};
}

Scenario dead_worker(double seconds) {
  Scenario scenario = even("dead-worker", 26, seconds);
  scenario.workers[0].dies = seconds / 3;
  return scenario;
}

}  // namespace

std::vector<Scenario> scenarios(double seconds) {
  return {
      even("even", 32, seconds),
      even("even-full", 38, seconds),
      {"skewed", {rushed("many", 115, 60, 1.8), rushed("few", 13, 60, 1.8)}, workers(2), seconds},
      slow_and_fast(seconds),
      bursts(seconds),
      {"weights",
       {rushed("high", 40, 100, 1.8, 10), rushed("middle", 40, 100, 1.8, 5),
        rushed("low", 40, 100, 1.8)},
       workers(3),
       seconds},
      overlapping(seconds),
      dead_worker(seconds)};
}

}  // namespace millrace::test
