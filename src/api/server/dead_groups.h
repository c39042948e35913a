// Dead letters, grouped by what they died of: core/error_group.h.
//
// Nobody counts groups while tasks die, so they are counted by walking, newest first and no further
// than 20,000 dead letters, in calls of 1,000 between other rounds. However many people look, one
// walk is under way, takes a twentieth of the time at most, and what it found is shown to all.
#pragma once

#include <millrace/ids.h>
#include <millrace/result.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "broker/broker.h"

namespace millrace::api {

struct DeadSample {
  TaskId id = {};
  TaskNumber number = {};
  std::string message = {};  // its own, cut
  TimePoint failed_at{};
};

struct DeadGroup {
  std::string key = {};  // names the group in the filter of a bulk operation
  std::string queue = {};
  std::string type = {};
  std::string code = {};
  std::string message = {};  // what their messages have in common
  std::uint64_t count = 0;
  TimePoint first_at{};
  TimePoint last_at{};
  std::vector<DeadSample> samples = {};  // the newest
};

struct FoundGroups {
  std::vector<DeadGroup> groups = {};  // the largest, largest first
  std::uint64_t more = 0;              // groups that are not among them
  std::uint64_t looked_at = 0;
  std::uint64_t total = 0;  // dead letters there are, of whatever type
  bool complete = true;     // false: there are older ones, so counts are "at least"
  TimePoint as_of{};
};

class DeadGroups {
 public:
  struct Wanted {
    std::optional<QueueRef> queue = std::nullopt;  // nullopt: all but internal ones
    std::optional<std::string> type = std::nullopt;

    friend bool operator==(const Wanted&, const Wanted&) = default;
  };
  using Found = std::shared_ptr<const FoundGroups>;

  // Any thread. This must outlive the broker's answers.
  void find(Broker& broker, const Ask& ask, Wanted wanted, Completion<Found> done);

  static constexpr std::uint64_t most_looked_at = 20'000;
  static constexpr std::size_t most_groups = 100;
  static constexpr std::size_t most_samples = 3;
  static constexpr std::size_t most_message = 500;
  static constexpr Duration fresh = std::chrono::seconds(5);  // where nothing has changed

 private:
  struct Walk;
  using WalkPtr = std::unique_ptr<Walk>;
  struct Waiting {
    Wanted wanted = {};
    std::uint64_t total = 0;
    Completion<Found> done = {};
  };
  struct Known {
    Wanted wanted = {};
    Found found = {};
    Duration took{0};
  };

  void find(Broker& broker, Waiting waiting);
  Found known(const Wanted& wanted, std::uint64_t total, TimePoint now) const;
  void start(Broker& broker, const Waiting& first);
  void step(WalkPtr walk);
  void end(Broker& broker, const Wanted& wanted, Result<Known> known);

  std::mutex mutex_;
  bool walking_ = false;          // guarded by mutex_
  std::vector<Waiting> waiting_;  // guarded by mutex_
  std::deque<Known> known_;       // guarded by mutex_; newest last
};

}  // namespace millrace::api
