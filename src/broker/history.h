// What happened a minute and an hour, for charts.
#pragma once

#include <millrace/time.h>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millrace {

struct HistoryRequest {
  // Nullopt: all of them, internal queues left out.
  std::optional<std::string> queue = std::nullopt;
  std::optional<std::string> type = std::nullopt;
  Duration step = std::chrono::minutes(1);  // or an hour
  TimePoint from{};                         // inclusive
  TimePoint until = never;                  // exclusive
};

struct HistoryPoint {
  TimePoint at{};  // its beginning
  std::uint64_t put = 0;
  std::uint64_t taken = 0;
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;  // for good: states failed and dead
  std::uint64_t retried = 0;
  std::uint64_t lost = 0;
  std::uint64_t cancelled = 0;  // expired ones, too
  // Seconds; nothing where nothing was observed.
  std::optional<double> wait_p50 = std::nullopt;
  std::optional<double> wait_p95 = std::nullopt;
  std::optional<double> wait_p99 = std::nullopt;
  std::optional<double> run_p50 = std::nullopt;
  std::optional<double> run_p95 = std::nullopt;
  std::optional<double> run_p99 = std::nullopt;
  // At its end, of all types: nobody counts them by type.
  std::uint64_t waiting = 0;
  std::uint64_t running = 0;

  friend bool operator==(const HistoryPoint&, const HistoryPoint&) = default;
};

struct History {
  Duration step = std::chrono::minutes(1);
  std::vector<HistoryPoint> points = {};  // oldest first; times at which nothing happened left out
};

}  // namespace millrace
