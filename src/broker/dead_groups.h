// Dead letters, grouped by what they died of: core/error_group.h.
//
// There are no counters of groups, so a walk counts them, newest first and no further than 20,000
// dead letters, in reads of 1,000. However many callers ask, and for whatever, one walk is under
// way, walks take a twentieth of the time at most, and all callers that want the same get what one
// walk found. The others wait until the rest after a walk is over; time passes with tick().
#pragma once

#include <millrace/ids.h>
#include <millrace/result.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "broker/broker.h"
#include "core/mutex.h"

namespace millrace {

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

  // The broker must live until stop(). `keep_time`: calls tick() by itself.
  explicit DeadGroups(Broker& broker, bool keep_time = true)
      : broker_(broker), keep_time_(keep_time) {}
  ~DeadGroups() { stop(); }
  DeadGroups(const DeadGroups&) = delete;
  DeadGroups& operator=(const DeadGroups&) = delete;

  // Any thread. This must outlive the broker's answers. A caller that would have to wait for too
  // long, or behind too many others, is answered `unavailable`.
  void find(const Ask& ask, Wanted wanted, Completion<Found> done);

  // Starts the next walk when the rest is over, and answers callers whose deadline has passed.
  void tick();
  // The caller does not want its answers any more.
  void leave(CallerId caller);
  // Refuses the callers that wait; a walk under way still answers its own.
  void stop();

  std::size_t waiting();  // how many callers are to be answered

  static constexpr std::uint64_t most_looked_at = 20'000;
  static constexpr std::size_t most_groups = 100;
  static constexpr std::size_t most_samples = 3;
  static constexpr std::size_t most_message = 500;
  static constexpr std::size_t most_wanted = 16;  // different requests that may wait
  // How long an answer is reused while nothing has changed.
  static constexpr Duration fresh = std::chrono::seconds(5);

 private:
  struct Walk;
  using WalkPtr = std::unique_ptr<Walk>;
  struct Waiting {
    Wanted wanted = {};
    std::uint64_t total = 0;
    CallerId caller = {};
    TimePoint deadline = never;
    Completion<Found> done = {};
  };
  struct Known {
    Wanted wanted = {};
    Found found = {};
    Duration took{0};
  };

  void find(Waiting waiting);
  Found known(const Wanted& wanted, std::uint64_t total, TimePoint now) const REQUIRES(mutex_);
  std::optional<Error> refusal(const Waiting& waiting, TimePoint now) const REQUIRES(mutex_);
  Duration rest_left(TimePoint now) const REQUIRES(mutex_);
  template <class Test>
  std::vector<Waiting> taken_out(Test test) REQUIRES(mutex_);
  void go_on();
  void start(const Waiting& first);
  void step(WalkPtr walk);
  void end(WalkPtr walk, Result<Found> found);
  void keep_time();

  Broker& broker_;
  const bool keep_time_;
  Mutex mutex_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::optional<Wanted> walked_ GUARDED_BY(mutex_);  // what the walk under way looks for
  TimePoint rests_since_ GUARDED_BY(mutex_){};
  Duration rest_ GUARDED_BY(mutex_){0};
  std::vector<Waiting> waiting_ GUARDED_BY(mutex_);
  std::deque<Known> known_ GUARDED_BY(mutex_);  // newest last
  Condition changed_;
  std::thread thread_ GUARDED_BY(mutex_);  // started when the first caller waits
};

}  // namespace millrace
