// What a metrics scrape needs, taken in one go.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/broker.h"
#include "broker/coalescer.h"
#include "core/metrics.h"
#include "core/values.h"

namespace millrace {

// How long tasks wait and run, in seconds; the bounds of metrics.compat are among them.
inline constexpr std::array<double, 18> task_bounds = {
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600};

// Names beyond the bounds are counted under this one.
inline constexpr std::string_view other_name = "other";

// What happened to the tasks of one type in a queue since this broker started.
struct TypeMetrics {
  std::string queue = {};
  std::string type = {};
  std::uint64_t put = 0;
  std::uint64_t existing = 0;  // puts that found their task there, or its unique key held
  std::uint64_t taken = 0;
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;   // for good
  std::uint64_t dead = 0;     // every retry used up
  std::uint64_t retried = 0;  // failed, and will be retried
  std::uint64_t snoozed = 0;  // or parked
  std::uint64_t given_back = 0;
  std::uint64_t lost = 0;  // leases
  std::uint64_t cancelled = 0;
  std::uint64_t expired = 0;
  HistogramSnapshot waiting = {};  // from ready to taken
  HistogramSnapshot running = {};  // runs that ended with an outcome, failures too
};

// high: 7 to 9, medium: 4 to 6, low: 0 to 3.
enum class PriorityClass : std::uint8_t { low = 0, medium = 1, high = 2 };
inline constexpr std::size_t priority_class_count = 3;
constexpr PriorityClass class_of(std::uint8_t priority) {
  return priority >= 7   ? PriorityClass::high
         : priority >= 4 ? PriorityClass::medium
                         : PriorityClass::low;
}
constexpr std::string_view name_of(PriorityClass priority) {
  constexpr std::array<std::string_view, priority_class_count> names = {"low", "medium", "high"};
  return names[static_cast<std::size_t>(priority)];
}

// Tasks of one type that ended, in all queues except internal ones.
struct PriorityMetrics {
  std::string type = {};
  PriorityClass priority = PriorityClass::medium;
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;  // for good, or with every retry used up
  HistogramSnapshot running = {};
};

struct WorkerMetrics {
  std::uint64_t seen = 0;        // in the register: they asked for tasks since the broker started
  std::uint64_t beating = 0;     // of these, those that reported in the last half minute
  std::uint64_t processors = 0;  // that these have
  std::uint64_t busy = 0;        // that run a handler
  std::uint64_t holding = 0;     // leases that are remembered to be held
};

// The groups of one queue that has rules for them.
struct GroupMetrics {
  std::string queue = {};
  std::uint64_t groups = 0;  // with tasks that wait or run
  std::uint64_t full = 0;    // whose tasks wait because the group runs as many as it may, or has
                             // used up its rate
  std::uint64_t paused = 0;

  friend bool operator==(const GroupMetrics&, const GroupMetrics&) = default;
};

struct MetricsSnapshot {
  TimePoint at{};
  TimePoint started{};  // when counting began
  std::vector<QueueView> queues =
      {};  // by name, internal ones too; none where the store has failed
  // By queue. At most 10,000 groups are looked at for a scrape: a queue whose groups are beyond
  // that is left out.
  std::vector<GroupMetrics> groups = {};
  std::vector<TypeMetrics> types = {};           // by queue and type
  std::vector<PriorityMetrics> priorities = {};  // empty unless switched on
  std::vector<std::pair<ErrorCode, std::uint64_t>> refused =
      {};                          // puts, by what they were refused with
  std::uint64_t late_reports = 0;  // reports whose lease was over
  CoalescerStats rounds = {};
  WorkerMetrics workers = {};
  std::uint64_t leases = 0;                     // remembered
  std::uint64_t events = 0;                     // told since the start
  std::optional<Error> failure = std::nullopt;  // of the store
  Traits traits = {};
  std::uint64_t desired_processors = 0;
};

}  // namespace millrace
