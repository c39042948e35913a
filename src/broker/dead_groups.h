// Dead letters, grouped by what they died of: core/error_group.h.
//
// There are no counters of groups, so a walk counts them (dead_walk.h), newest first and no further
// than 20,000 dead letters. However many callers ask, and for whatever, one walk is under
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
#include "broker/dead_walk.h"
#include "core/mutex.h"

namespace millrace {

class LocalBroker;

class DeadGroups {
 public:
  struct Wanted {
    std::optional<QueueRef> queue = std::nullopt;  // nullopt: all but internal ones
    std::optional<std::string> type = std::nullopt;

    friend bool operator==(const Wanted&, const Wanted&) = default;
  };
  using Found = std::shared_ptr<const FoundGroups>;

  // The broker must live until stop(). `keep_time`: calls tick() by itself.
  explicit DeadGroups(LocalBroker& broker, bool keep_time = true)
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

  static constexpr std::size_t most_groups = DeadWalk::most_groups;
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

  LocalBroker& broker_;
  const bool keep_time_;
  Mutex mutex_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::optional<Wanted> walked_ GUARDED_BY(mutex_);  // what the walk under way looks for
  TimePoint rests_since_ GUARDED_BY(mutex_){};
  Duration rest_ GUARDED_BY(mutex_){0};
  std::vector<Waiting> waiting_ GUARDED_BY(mutex_);
  std::deque<Known> known_ GUARDED_BY(mutex_);  // newest last
  KnownDead dead_;                              // used by the walk under way
  Condition changed_;
  std::thread thread_ GUARDED_BY(mutex_);  // started when the first caller waits
};

}  // namespace millrace
