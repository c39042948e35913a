// What is not as it should be just now, for clients that look at a server: the conditions that held
// when the alerter (alerter.h) last checked, and how much disk space there is.
#pragma once

#include <millrace/time.h>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "broker/alert.h"
#include "core/log.h"

namespace millrace {

struct DiskSpace {
  std::uint64_t free = 0;
  std::uint64_t total = 0;
};

struct CurrentAlert {
  AlertKind kind = AlertKind::queue_deep;
  LogLevel level = LogLevel::warning;
  std::string queue = {};  // empty: about the server
  TimePoint since{};
  std::string message = {};
  std::uint64_t count = 0;  // tasks, leases; for a disk: free bytes
};

struct CurrentAlerts {
  static constexpr std::size_t most = 100;

  std::vector<CurrentAlert> alerts = {};  // the gravest first, then the oldest
  std::uint64_t total = 0;                // including those that are left out
  std::optional<TimePoint> looked_at = std::nullopt;
  std::optional<DiskSpace> disk = std::nullopt;
  bool alerts_sent = false;  // alerts are sent to the operator
  bool manager = false;      // moves processors between queues

  // Sorts the alerts and keeps the first.
  void arrange();
};

// How much a counter grew in the last five minutes.
class Growth {
 public:
  static constexpr Duration window = std::chrono::minutes(5);

  // `from`: the count before the first look.
  Growth(std::uint64_t from, TimePoint now) : seen_({{now, from}}) {}

  void see(std::uint64_t count, TimePoint now);
  std::uint64_t grown() const { return seen_.back().second - seen_.front().second; }
  TimePoint since() const { return since_; }

 private:
  // When it changed; the first entry is the count when the window began.
  std::vector<std::pair<TimePoint, std::uint64_t>> seen_;
  TimePoint since_{};
};

struct Look;

// Growing numbers of dead letters and lost leases.
class Growing {
 public:
  std::vector<CurrentAlert> look(const Look& look);

 private:
  struct Counters {
    Growth dead;
    Growth lost;
    bool seen = true;  // in the look under way
  };

  std::map<std::string, Counters> queues_;
  std::optional<TimePoint> last_;  // look
};

}  // namespace millrace
