#include "broker/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "broker/tick_text.h"
#include "core/time_text.h"
#include "core/uuid.h"
#include "store/store.h"

namespace millrace {
namespace {

constexpr Duration late{60'000};
constexpr Duration reload_every{5'000};  // where other processes may change schedules
constexpr Duration long_rest{60'000};    // for a schedule that cannot fire
constexpr Duration short_rest{1000};
constexpr std::size_t fires_a_run = 200;  // about
constexpr int looks_back = 64;            // how many ticks are tried for one whose jitter is over

std::uint64_t hash_of(std::string_view name, TimePoint nominal) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;  // FNV-1a: the same on every machine
  const auto add = [&](std::uint64_t byte) { hash = (hash ^ byte) * 0x100000001B3ULL; };
  for (const char c : name) add(static_cast<unsigned char>(c));
  auto moment = static_cast<std::uint64_t>(nominal.time_since_epoch().count());
  for (int i = 0; i < 8; ++i, moment >>= 8) add(moment & 0xFF);
  return hash ^ (hash >> 32);
}

}  // namespace

Result<Ticks> ticks_of(const TickRule& rule) {
  auto ticks = Ticks::of(rule);
  if (!ticks && ticks.error().code == ErrorCode::unavailable) {
    ticks.error().code = ErrorCode::internal;
  }
  return ticks;
}

TimePoint fire_time(const Schedule& schedule, TimePoint nominal) {
  if (schedule.jitter <= Duration::zero()) return nominal;
  const auto offset =
      hash_of(schedule.name, nominal) % static_cast<std::uint64_t>(schedule.jitter.count());
  return later(nominal, Duration(static_cast<Duration::rep>(offset)));
}

Result<NewTask> task_of_tick(const Schedule& schedule, TimePoint nominal, TaskId id) {
  auto payload = with_tick(schedule.task.payload, nominal);
  if (!payload) return std::unexpected(std::move(payload.error()));
  NewTask task = schedule.task;
  task.id = id;
  task.payload = std::move(*payload);
  return task;
}

TicksToFire ticks_to_fire(const Schedule& schedule, const Ticks& rule, TimePoint now) {
  // The latest tick that is due.
  TimePoint latest = schedule.next;
  auto at = rule.previous_before(later(now, Duration(1)));
  for (int i = 0; i < looks_back && at && *at > schedule.next; ++i) {
    if (fire_time(schedule, *at) <= now) {
      latest = *at;
      break;
    }
    at = rule.previous_before(*at);
  }
  TicksToFire found{.next = rule.next_after(latest)};
  const bool latest_missed = now - fire_time(schedule, latest) > late;
  std::size_t most = 1;
  if (schedule.missed == Missed::skip && latest_missed) most = 0;
  if (schedule.missed == Missed::all) most = schedule.missed_most + (latest_missed ? 0 : 1);
  for (std::optional<TimePoint> tick = latest; most != 0 && tick && *tick >= schedule.next;
       --most) {
    found.ticks.push_back(*tick);
    tick = rule.previous_before(*tick);
  }
  std::ranges::reverse(found.ticks);
  return found;
}

void Scheduler::keep(Schedule schedule, TimePoint now) {
  Entry& entry = entries_[schedule.name];
  entry = {.schedule = std::move(schedule)};
  if (entry.schedule.paused || entry.schedule.next == never) return;
  auto ticks = ticks_of(entry.schedule.rule);
  if (!ticks) return cannot_fire(entry, ticks.error(), now);
  entry.ticks = std::move(*ticks);
  entry.due = fire_time(entry.schedule, entry.schedule.next);
}

// The schedule rests for a while, so that it does not block others.
void Scheduler::cannot_fire(Entry& entry, const Error& error, TimePoint now) {
  const bool passing = error.code == ErrorCode::limited;  // no space, for now
  entry.due = later(now, passing ? short_rest : long_rest);
  if (std::exchange(entry.failing, true)) return;
  books_.log()(LogLevel::error,
               fmt::format("schedule {} cannot fire: {}", entry.schedule.name, error.message),
               {{"schedule", entry.schedule.name}});
}

Result<void> Scheduler::reload(Store& store, TimePoint now) {
  auto all = store.schedules(std::nullopt);
  if (!all) return std::unexpected(std::move(all.error()));
  std::unordered_set<std::string_view> names;
  for (const Schedule& schedule : *all) names.insert(schedule.name);
  std::erase_if(entries_, [&](const auto& entry) { return !names.contains(entry.first); });
  for (Schedule& schedule : *all) {
    const auto old = entries_.find(schedule.name);
    if (old != entries_.end() && old->second.schedule == schedule) continue;
    keep(std::move(schedule), now);
  }
  next_reload_ = later(now, reload_every);
  return {};
}

Result<TimePoint> Scheduler::run_once(Store& store, TimePoint now) {
  const bool poll = books_.traits.several_processes;
  if (stale_.exchange(false) || (poll && now >= next_reload_)) {
    if (auto good = reload(store, now); !good) {
      stale_ = true;
      return std::unexpected(std::move(good.error()));
    }
  }
  std::size_t fired = 0;
  TimePoint next = poll ? next_reload_ : never;
  for (auto& [name, entry] : entries_) {
    if (entry.due <= now && fired < fires_a_run) {
      if (auto good = fire(store, entry, now); !good) {
        return std::unexpected(std::move(good.error()));
      }
      ++fired;
    }
    next = std::min(next, entry.due);
  }
  return next;
}

Result<void> Scheduler::fire(Store& store, Entry& entry, TimePoint now) {
  if (!entry.ticks) {  // its time zone may be available again
    auto ticks = ticks_of(entry.schedule.rule);
    if (!ticks) {
      cannot_fire(entry, ticks.error(), now);
      return {};
    }
    entry.ticks = std::move(*ticks);
  }
  const TicksToFire found = ticks_to_fire(entry.schedule, *entry.ticks, now);
  Result<void> good;
  if (!found.next) {
    good = fail(ErrorCode::invalid, "there is no tick after this one");
  } else if (found.ticks.empty()) {
    good = move_on(store, entry, *found.next, now);
  }
  // The first one moves over all that are skipped, in the same commit.
  for (std::size_t i = 0; good && i < found.ticks.size(); ++i) {
    const bool last = i + 1 == found.ticks.size();
    good = fire_tick(store, entry, found.ticks[i], last ? *found.next : found.ticks[i + 1], now);
  }
  if (good) {
    entry.failing = false;
    return {};
  }
  if (good.error().code == ErrorCode::unavailable) return good;
  if (good.error().code == ErrorCode::conflict) {  // another server was faster, or changed it
    stale_ = true;
    entry.schedule.updated_at = {};  // so that it is read again
    entry.due = later(now, Duration(1));
  } else {
    cannot_fire(entry, good.error(), now);
  }
  return {};
}

Result<void> Scheduler::fire_tick(Store& store, Entry& entry, TimePoint tick, TimePoint next,
                                  TimePoint now) {
  Schedule& schedule = entry.schedule;
  auto task = task_of_tick(schedule, tick, {books_.ids.next(now)});
  if (!task) return std::unexpected(std::move(task.error()));
  const QueueRef queue = task->queue;
  Fire request{.schedule = schedule.name,
               .nominal = schedule.next,
               .tick = tick,
               .next = next,
               .seen = schedule.updated_at,
               .task = std::move(*task)};
  auto fired = store.fire(request, now);
  // The queue of its task may be gone; but a schedule that is gone itself must not bring it back.
  const bool missing = !fired && fired.error().code == ErrorCode::not_found;
  if (missing && !books_.queues.find(queue) && store.schedules(schedule.name)) {
    if (auto good = books_.need_queue(store, queue, {.internal = true}, now); !good) return good;
    fired = store.fire(request, now);
  }
  if (!fired && fired.error().code == ErrorCode::not_found) stale_ = true;
  if (!fired) return std::unexpected(std::move(fired.error()));
  if (fired->put && !fired->put->existing) {
    pending_records_.put({{std::move(request.task)}, books_.queues, now}, now);
  }
  if (books_.log().wants(LogLevel::debug)) {
    books_.log()(LogLevel::debug,
                 fmt::format("schedule {} {} the tick of {}", schedule.name,
                             fired->put ? "fired" : "skipped", format_time(tick)),
                 {{"schedule", schedule.name}});
  }
  schedule = std::move(fired->schedule);
  entry.due = schedule.next == never ? never : fire_time(schedule, schedule.next);
  return {};
}

// Moves the schedule over ticks that are skipped.
Result<void> Scheduler::move_on(Store& store, Entry& entry, TimePoint next, TimePoint now) {
  Schedule moved = entry.schedule;
  moved.next = next;
  auto kept = store.put_schedule(moved, PutSchedule::changed(entry.schedule), now);
  if (!kept) return std::unexpected(std::move(kept.error()));
  books_.log()(LogLevel::info,
               fmt::format("schedule {} skips what it missed; its next tick is {}", moved.name,
                           format_time(next)),
               {{"schedule", moved.name}});
  entry.schedule = std::move(*kept);
  entry.due = fire_time(entry.schedule, next);
  return {};
}

}  // namespace millrace
