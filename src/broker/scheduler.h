// Fires schedules: each tick once, however many servers try, because the store moves a schedule on
// only if it is still where the server saw it.
//
// A tick is missed if it is more than a minute late, or if a later one is due as well. The schedule
// chooses what happens then: `skip` fires no missed tick, `one` fires only the latest that is due,
// `all` fires the last `missed_most` of them.
#pragma once

#include <millrace/result.h>
#include <millrace/schedule.h>
#include <millrace/time.h>
#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "broker/books.h"
#include "broker/recorder.h"
#include "broker/service.h"
#include "core/tick.h"
#include "core/values.h"
#include "store/fwd.h"

namespace millrace {

// Like Ticks::of(), but a missing zone database is `internal`: where rounds are applied,
// `unavailable` would mean that the store has failed.
Result<Ticks> ticks_of(const TickRule& rule);

// When a tick fires: its nominal moment and an offset in [0, jitter) that is the same for the same
// schedule and tick, so that every process waits for the same moment.
TimePoint fire_time(const Schedule& schedule, TimePoint nominal);

// The task of one tick: a new id, the tick written into the payload.
Result<NewTask> task_of_tick(const Schedule& schedule, TimePoint nominal, TaskId id);

// Which ticks fire now, by nominal moment, and what comes after them.
struct TicksToFire {
  std::vector<TimePoint> ticks = {};             // may be empty: all were missed and are skipped
  std::optional<TimePoint> next = std::nullopt;  // nullopt: there is no tick after them
};
// For a schedule whose next tick is due.
TicksToFire ticks_to_fire(const Schedule& schedule, const Ticks& rule, TimePoint now);

class Scheduler final : public Service {
 public:
  explicit Scheduler(Books& books) : books_(books) {}

  // A schedule was changed: read them again.
  void changed() { stale_ = true; }

  Result<TimePoint> run_once(Store& store, TimePoint now) override;
  void stored() override { pending_records_.record(books_); }
  // What it believes to have fired may not have been stored.
  void unsure(const Error& /*why*/) override {
    pending_records_.drop();
    changed();
  }

 private:
  struct Entry {
    Schedule schedule = {};
    std::optional<Ticks> ticks = std::nullopt;  // nullopt: its rule cannot be read now
    TimePoint due = never;
    bool failing = false;  // it cannot fire, which was logged
  };

  Result<void> reload(Store& store, TimePoint now);
  void keep(Schedule schedule, TimePoint now);
  void cannot_fire(Entry& entry, const Error& error, TimePoint now);
  // Errors other than a failed store are logged, and the schedule rests for a while.
  Result<void> fire(Store& store, Entry& entry, TimePoint now);
  Result<void> fire_tick(Store& store, Entry& entry, TimePoint tick, TimePoint next, TimePoint now);
  Result<void> move_on(Store& store, Entry& entry, TimePoint next, TimePoint now);

  Books& books_;
  PendingRecords pending_records_;
  std::atomic<bool> stale_ = true;
  std::map<std::string, Entry> entries_;
  TimePoint next_reload_{};
};

}  // namespace millrace
