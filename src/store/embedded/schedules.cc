#include <fmt/format.h>

#include "core/limits.h"
#include "core/transition.h"
#include "core/validate.h"
#include "store/embedded/verbs.h"

namespace millrace::embedded {
namespace {

std::unexpected<Error> unknown_schedule(std::string_view name) {
  return fail(ErrorCode::not_found, fmt::format("there is no schedule \"{}\"", name));
}

// Whether the overlap rule lets a tick put a task beside the last one.
bool may_put(const State& state, const Schedule& schedule) {
  if (schedule.overlap == Overlap::allow || schedule.last_task.value.is_nil()) return true;
  const auto last = state.find(schedule.last_task);
  if (last == no_slot || is_final(state.slot(last).state)) return true;
  return schedule.overlap == Overlap::queue && state.slot(last).state == TaskState::processing;
}

}  // namespace

Result<Schedule> put_schedule(State& state, const Schedule& schedule, PutSchedule mode,
                              TimePoint now) {
  if (auto good = validate(schedule); !good) return std::unexpected(std::move(good.error()));
  const QueueEntry* queue = state.queue(schedule.task.queue);
  if (queue == nullptr) return unknown_queue(schedule.task.queue);
  if (auto size =
          check_size(queue->settings(), {"payload", "task.payload"}, schedule.task.payload.size());
      !size) {
    return std::unexpected(std::move(size.error()));
  }
  const auto found = state.schedules.find(schedule.name);
  const bool is_new = found == state.schedules.end();
  if (!mode.replaces && !is_new) {
    return fail(ErrorCode::conflict,
                fmt::format("there is a schedule \"{}\" already", schedule.name));
  }
  if (mode.seen && (is_new || PutSchedule::changed(found->second) != mode)) {
    return fail(ErrorCode::conflict,
                fmt::format("schedule \"{}\" has changed since", schedule.name));
  }
  if (is_new && state.schedules.size() >= limits::max_schedules) {
    return fail(ErrorCode::limited, fmt::format("there are {} schedules, the most a store keeps",
                                                limits::max_schedules));
  }
  Schedule stored = schedule;
  if (is_new) {
    stored.created_at = now;
    stored.updated_at = now;
    stored.last.reset();
    stored.last_task = {};
    stored.fired = 0;
    stored.skipped = 0;
  } else {
    const Schedule& old = found->second;
    stored.created_at = old.created_at;
    stored.updated_at = written_after(old.updated_at, now);
    stored.last = old.last;
    stored.last_task = old.last_task;
    stored.fired = old.fired;
    stored.skipped = old.skipped;
  }
  state.schedules.insert_or_assign(stored.name, stored);
  state.changes.note({Thing::schedule, 0, stored.name});
  return stored;
}

Result<void> remove_schedule(State& state, std::string_view name) {
  const auto found = state.schedules.find(name);
  if (found == state.schedules.end()) return unknown_schedule(name);
  state.changes.note({Thing::schedule, 0, found->first});
  state.schedules.erase(found);
  return {};
}

Result<Fired> fire(State& state, const Fire& tick, TimePoint now) {
  const auto found = state.schedules.find(tick.schedule);
  if (found == state.schedules.end()) return unknown_schedule(tick.schedule);
  Schedule& schedule = found->second;
  if (schedule.paused) {
    return fail(ErrorCode::conflict, fmt::format("schedule \"{}\" is paused", schedule.name));
  }
  if (schedule.next != tick.nominal) {
    return fail(ErrorCode::conflict,
                fmt::format("schedule \"{}\" has another next tick: this one was fired already",
                            schedule.name));
  }
  if (tick.seen && *tick.seen != schedule.updated_at) {
    return fail(ErrorCode::conflict,
                fmt::format("schedule \"{}\" has changed since", schedule.name));
  }
  const TimePoint fires = tick.tick.value_or(tick.nominal);
  if (fires < tick.nominal || tick.next <= fires) {
    return fail(ErrorCode::invalid, "the tick after this one must be later");
  }
  if (auto good = check_follow_up(state, tick.task, now); !good) {
    return std::unexpected(std::move(good.error()));
  }
  Fired fired;
  schedule.last = fires;
  schedule.next = tick.next;
  schedule.updated_at = written_after(schedule.updated_at, now);
  if (may_put(state, schedule)) {
    fired.put = add_follow_up(state, tick.task, now);
    schedule.last_task = fired.put->id;
    ++schedule.fired;
  } else {
    ++schedule.skipped;
  }
  state.changes.note({Thing::schedule, 0, schedule.name});
  fired.schedule = schedule;
  return fired;
}

}  // namespace millrace::embedded
