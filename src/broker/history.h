// What happened per minute and per hour, for charts.
#pragma once

#include <millrace/time.h>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

// How the answer is broken down, beside the total.
enum class HistoryBy : std::uint8_t { none = 0, queue = 1, type = 2 };

struct HistoryRequest {
  // Nullopt: all queues except internal ones.
  std::optional<std::string> queue = std::nullopt;
  // If all queues are wanted: only those that the caller may see. Empty: every one.
  std::function<bool(std::string_view queue)> allowed = {};
  std::optional<std::string> type = std::nullopt;
  Duration step = std::chrono::minutes(1);  // or an hour
  TimePoint from{};                         // inclusive
  TimePoint until = never;                  // exclusive
  HistoryBy by = HistoryBy::none;
};

struct HistoryPoint {
  TimePoint at{};  // its beginning
  std::uint64_t put = 0;
  std::uint64_t taken = 0;
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;  // for good: states failed and dead
  std::uint64_t retried = 0;
  std::uint64_t lost = 0;
  std::uint64_t cancelled = 0;  // including expired ones
  // Seconds; nullopt if nothing was observed.
  std::optional<double> wait_p50 = std::nullopt;
  std::optional<double> wait_p95 = std::nullopt;
  std::optional<double> wait_p99 = std::nullopt;
  std::optional<double> run_p50 = std::nullopt;
  std::optional<double> run_p95 = std::nullopt;
  std::optional<double> run_p99 = std::nullopt;
  // At the end of the point, over all types: waiting tasks are not counted by type.
  std::uint64_t waiting = 0;
  std::uint64_t running = 0;

  friend bool operator==(const HistoryPoint&, const HistoryPoint&) = default;
};

// What one queue or type contributed to each point.
struct HistorySeries {
  std::string name = {};
  std::vector<std::uint64_t> put = {};
  std::vector<std::uint64_t> completed = {};
  std::vector<std::uint64_t> failed = {};
  std::vector<std::uint64_t> retried = {};
  // For queues only.
  std::vector<std::uint64_t> waiting = {};
  std::vector<std::uint64_t> running = {};

  friend bool operator==(const HistorySeries&, const HistorySeries&) = default;
};

struct History {
  static constexpr std::size_t most_queues = 100;
  static constexpr std::size_t most_types = 50;

  Duration step = std::chrono::minutes(1);
  std::vector<HistoryPoint> points = {};  // oldest first, without times at which nothing happened
  HistoryPoint total = {};                // over all points; its waiting and running stay 0
  // The busiest first; the rest is added up as the last one, `other`.
  std::vector<HistorySeries> series = {};
};

}  // namespace millrace
