// Callers that wait for a task to be final. Every way in which the broker ends a task calls
// finished(); if other processes may end tasks, too, the states of all are read once per second.
//
// The applier only finds out which tasks are final, which no embedded store needs its disk for.
// What the callers get is read on the threads for reads.
#pragma once

#include <millrace/ids.h>
#include <millrace/result.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "broker/caller.h"
#include "broker/service.h"
#include "core/mutex.h"
#include "core/uuid.h"

namespace millrace {

struct WaitersOptions {
  std::size_t most = 10'000;
  bool poll = false;  // other processes may end tasks, or the store may be away when one ends
};

class Waiters final : public Service {
 public:
  explicit Waiters(const WaitersOptions& options = {}) : options_(options) {}

  // A task that is final, and the callers that wait for it; or whose wait is over.
  struct Over {
    TaskId id = {};
    std::vector<Completion<Task>> done = {};
  };
  // Reads the tasks and answers the callers. Called without a lock, when the states that were seen
  // are durable. Set before the first run.
  std::function<void(std::vector<Over> over)> answer = {};

  // From a call of the store that saw the task unfinished. Returns when run_once() has to run;
  // `limited` if too many callers wait, and then `done` is left as it was.
  Result<TimePoint> add(TaskId id, CallerId caller, TimePoint until, Completion<Task>& done);
  void leave(CallerId caller);

  // The task became final, or is gone. True if a caller waits for it: then run_once() has to run.
  bool finished(const TaskId& id) {
    return count_.load(std::memory_order_relaxed) != 0 && mark(id);
  }
  // Many tasks were removed at once: every task that is waited for must be read. Like finished().
  bool look_at_all();

  // Finds the tasks that are due to be answered; stored() has them answered.
  Result<TimePoint> run_once(Store& store, TimePoint now) override;
  void stored() override;
  // Answers the callers whose task was found with the error; the others go on waiting.
  void unsure(const Error& why) override;
  // Answers all callers with the error.
  void failed(const Error& why) override;

  std::size_t size() const { return count_; }

 private:
  using Ends = std::multimap<TimePoint, TaskId>;
  struct Waiter {
    CallerId caller = {};
    Ends::iterator until = {};
    Completion<Task> done;
  };

  bool mark(const TaskId& id);
  void forget(const Waiter& waiter) REQUIRES(mutex_);
  std::vector<TaskId> pick(TimePoint now, TimePoint& next);
  // Picks the callers of the task that are to be answered.
  void end(const TaskId& id, bool is_final, TimePoint now);

  const WaitersOptions options_;
  std::atomic<std::size_t> count_ = 0;
  Mutex mutex_{LockRank::leaf};
  std::unordered_map<TaskId, std::vector<Waiter>, UuidHash> by_id_ GUARDED_BY(mutex_);
  Ends ends_ GUARDED_BY(mutex_);
  // How often each caller waits.
  std::unordered_map<std::uint64_t, std::size_t> callers_ GUARDED_BY(mutex_);
  std::unordered_set<TaskId, UuidHash> marked_ GUARDED_BY(mutex_);  // to be looked at now
  TimePoint next_poll_ GUARDED_BY(mutex_){};
  std::vector<Over> over_ GUARDED_BY(mutex_);  // wait for stored()
};

}  // namespace millrace
