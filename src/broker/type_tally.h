// What is counted for tasks of one type: since the broker started, and in the current minute.
#pragma once

#include <millrace/time.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "broker/metrics_snapshot.h"
#include "broker/sparse_histogram.h"
#include "core/metrics.h"

namespace millrace {

// The numbers are stored in the history; do not renumber.
enum class Counted : std::uint8_t {
  put = 0,
  existing = 1,
  taken = 2,
  completed = 3,
  failed = 4,
  dead = 5,
  retried = 6,
  snoozed = 7,
  given_back = 8,
  lost = 9,
  cancelled = 10,
  expired = 11,
};
inline constexpr std::size_t counted_count = 12;

// With task_bounds. Not thread-safe.
class BoundedHistogram {
 public:
  void observe(Duration duration) {
    const auto value = std::max<Duration::rep>(duration.count(), 0);
    const auto bucket = std::ranges::lower_bound(bounds, value) - bounds.begin();
    ++counts_[static_cast<std::size_t>(bucket)];
    sum_ += value;
  }
  HistogramSnapshot snapshot() const;

 private:
  // In milliseconds.
  static constexpr std::array<Duration::rep, task_bounds.size()> bounds = [] {
    std::array<Duration::rep, task_bounds.size()> all{};
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = static_cast<Duration::rep>(task_bounds[i] * 1000 + 0.5);
    }
    return all;
  }();

  std::array<std::uint64_t, task_bounds.size() + 1> counts_ = {};
  Duration::rep sum_ = 0;
};

// What happened to tasks of one type of a queue in one minute.
struct MinuteRow {
  std::string queue = {};
  std::string type = {};
  std::array<std::uint32_t, counted_count> counts = {};
  FineCounts waited = {};
  FineCounts ran = {};
};

// The sum of many rows.
struct RowSum {
  std::array<std::uint64_t, counted_count> counts = {};
  std::array<std::uint64_t, fine_buckets> waited = {};
  std::array<std::uint64_t, fine_buckets> ran = {};

  void add(const MinuteRow& row);
  bool empty() const;
};

struct Minute {
  TimePoint at{};
  std::vector<std::unique_ptr<MinuteRow>> rows = {};  // a queue and type may have several
};

struct TypeTally {
  std::array<std::uint64_t, counted_count> counts = {};
  BoundedHistogram waiting = {};
  BoundedHistogram running = {};
  // The row of minute `number`; it must not be used in another minute.
  MinuteRow* row = nullptr;
  std::uint64_t number = 0;

  TypeMetrics metrics(std::string queue, std::string type) const;
};

struct PriorityTally {
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
  BoundedHistogram running = {};
};

}  // namespace millrace
