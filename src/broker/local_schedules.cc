// Schedules of LocalBroker. They are fired by scheduler.h.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "broker/compare_and_set.h"
#include "broker/local_broker.h"
#include "broker/recorder.h"
#include "broker/tick_text.h"
#include "core/check.h"
#include "core/limits.h"
#include "core/validate.h"
#include "store/store.h"

namespace millrace {
namespace {

// A new rule must not repeat the tick that the old one has just fired, even if the clock of the
// server that fired it is a little ahead. If it is further ahead, that clock was wrong.
TimePoint first_after(const Schedule* old, TimePoint now) {
  constexpr Duration clocks_differ_by{60'000};
  if (old == nullptr || !old->last || *old->last > later(now, clocks_differ_by)) return now;
  return std::max(now, *old->last);
}

Result<void> any_schedule(const Schedule&) {
  return {};
}

}  // namespace

// The checks that need no store.
Result<void> LocalBroker::check_schedule(const Ask& ask, const Schedule& schedule,
                                         TimePoint now) const {
  if (auto good = validate_name({"schedule name", "name"}, schedule.name, ask.internal); !good)
    return good;
  if (auto good = validate(schedule); !good) return good;
  {
    std::vector<QueueRef> unknown;  // store_schedule() creates it
    const QueueBook::Reading book(books_.queues);
    if (auto good = check_queue(ask, book, schedule.task.queue, unknown); !good) {
      return inside("task", std::move(good));
    }
  }
  if (schedule.task.callback && !books_.deliveries.can_call_back()) {
    return fail(ErrorCode::invalid, "callback is given, but nothing here delivers callbacks",
                "task.callback");
  }
  // As each tick will fill it in.
  const auto payload = with_tick(schedule.task.payload, now);
  if (!payload) return std::unexpected(inside("task.payload", payload.error()));
  return check::size({"payload", "task.payload"}, payload->size(), limits::max_payload);
}

// Writes a schedule with the right `next`: strictly after now if the rule is new or was paused;
// else the tick it was waiting for.
Result<Schedule> LocalBroker::store_schedule(Store& store, const Ask& ask, Schedule schedule,
                                             const Schedule* old, TimePoint now) {
  auto ticks = ticks_of(schedule.rule);
  if (!ticks) return std::unexpected(std::move(ticks.error()));
  const bool goes_on =
      old != nullptr && old->rule == schedule.rule && !old->paused && old->next != never;
  const auto next = goes_on ? std::optional(old->next) : ticks->next_after(first_after(old, now));
  if (!next) {
    return fail(
        ErrorCode::invalid,
        fmt::format("schedule {} would never fire: its rule has no tick to come", schedule.name),
        "rule");
  }
  schedule.next = *next;
  schedule.task.id = {};
  if (auto good = books_.need_queue(store, schedule.task.queue, ask, now); !good) {
    return std::unexpected(std::move(good.error()));
  }
  auto stored = store.put_schedule(
      schedule, old != nullptr ? PutSchedule::changed(*old) : PutSchedule::create, now);
  if (stored) scheduler_.changed();
  return stored;
}

void LocalBroker::schedules(Ask ask, std::optional<std::string> name,
                            Completion<std::vector<Schedule>> done) {
  read<std::vector<Schedule>>(
      ask, [name = std::move(name)](Reader& reader, TimePoint) { return reader.schedules(name); },
      std::move(done));
}

void LocalBroker::put_schedule(Ask ask, Schedule schedule, PutQueue mode,
                               Completion<Schedule> done) {
  put_schedule(ask, std::move(schedule), mode, any_schedule, std::move(done));
}

void LocalBroker::put_schedule(Ask ask, Schedule schedule, PutQueue mode, MayTouch may,
                               Completion<Schedule> done) {
  if (auto good = check_schedule(ask, schedule, clock_.now()); !good) {
    return done(std::unexpected(std::move(good.error())));
  }
  call<Schedule>(
      ask,
      [this, ask, mode, schedule = std::move(schedule), may = std::move(may)](
          Store& store, TimePoint now) mutable -> Result<Schedule> {
        return compare_and_set<Schedule>(
            fmt::format("schedule {}", schedule.name),
            [&] { return none_if_unknown(store.schedules(schedule.name)); },
            [&](const Schedule* old) -> Result<Schedule> {
              if (old != nullptr && !mode.replaces) {
                return fail(ErrorCode::conflict,
                            fmt::format("there is a schedule \"{}\" already", schedule.name));
              }
              if (old != nullptr) {
                if (auto good = may(*old); !good) return std::unexpected(std::move(good.error()));
              }
              return store_schedule(store, ask, schedule, old, now);
            });
      },
      [this, done = std::move(done)](Result<Schedule> stored) mutable {
        if (stored) runner_.wake_at(scheduler_, TimePoint::min());
        done(std::move(stored));
      });
}

void LocalBroker::change_schedule(Ask ask, std::string name, ScheduleChange change,
                                  Completion<Schedule> done) {
  call<Schedule>(
      ask,
      [this, ask, name = std::move(name), change = std::move(change)](
          Store& store, TimePoint now) mutable -> Result<Schedule> {
        return compare_and_set<Schedule>(
            fmt::format("schedule {}", name), [&] { return store.schedules(name); },
            [&](const Schedule* old) { return store_change(store, ask, *old, change, now); });
      },
      [this, done = std::move(done)](Result<Schedule> stored) mutable {
        if (stored) runner_.wake_at(scheduler_, TimePoint::min());
        done(std::move(stored));
      });
}

Result<Schedule> LocalBroker::store_change(Store& store, const Ask& ask, const Schedule& old,
                                           ScheduleChange& change, TimePoint now) {
  Schedule schedule = old;
  if (auto good = change(schedule); !good) return std::unexpected(std::move(good.error()));
  if (schedule.name != old.name) {
    return fail(ErrorCode::invalid,
                fmt::format("schedule \"{}\" cannot get another name; create a new one", old.name),
                "name");
  }
  if (auto good = check_schedule(ask, schedule, now); !good) {
    return std::unexpected(std::move(good.error()));
  }
  return store_schedule(store, ask, std::move(schedule), &old, now);
}

void LocalBroker::remove_schedule(Ask ask, std::string name, Completion<void> done) {
  remove_schedule(ask, std::move(name), any_schedule, std::move(done));
}

void LocalBroker::remove_schedule(Ask ask, std::string name, MayTouch may, Completion<void> done) {
  call<void>(
      ask,
      [this, name = std::move(name), may = std::move(may)](Store& store,
                                                           TimePoint now) mutable -> Result<void> {
        const auto found = store.schedules(name);
        if (!found) return std::unexpected(found.error());
        if (auto good = may(found->front()); !good) return good;
        auto removed = store.remove_schedule(name, now);
        if (removed) scheduler_.changed();
        return removed;
      },
      [this, done = std::move(done)](Result<void> removed) mutable {
        if (removed) runner_.wake_at(scheduler_, TimePoint::min());
        done(std::move(removed));
      });
}

void LocalBroker::run_schedule(Ask ask, std::string name, Completion<Put> done) {
  run_schedule(ask, std::move(name), any_schedule, std::move(done));
}

void LocalBroker::run_schedule(Ask ask, std::string name, MayTouch may, Completion<Put> done) {
  const auto pending = std::make_shared<PendingRecords>();
  call<Put>(
      ask,
      [this, ask, pending, name = std::move(name), may = std::move(may)](
          Store& store, TimePoint now) mutable -> Result<Put> {
        const auto found = store.schedules(name);
        if (!found) return std::unexpected(found.error());
        if (auto good = may(found->front()); !good) return std::unexpected(std::move(good.error()));
        auto task = task_of_tick(found->front(), now, {books_.ids.next(now)});
        if (!task) return std::unexpected(std::move(task.error()));
        if (auto good = books_.need_queue(store, task->queue, ask, now); !good) {
          return std::unexpected(std::move(good.error()));
        }
        auto puts = store.put({&*task, 1}, now);
        if (!puts) return std::unexpected(std::move(puts.error()));
        auto put = std::move(puts->front());
        if (put && !put->existing) pending->put({{*task}, books_.queues, now}, now);
        return put;
      },
      [this, pending, done = std::move(done)](Result<Put> put) mutable {
        if (put) pending->record(books_);
        done(std::move(put));
      });
}

}  // namespace millrace
