// What has a name: queues, schedules, memos.
#include <algorithm>

#include "core/limits.h"
#include "core/transition.h"
#include "core/validate.h"
#include "tests/support/model_store.h"

namespace millrace::test {

// ---- Queues -----------------------------------------------------------------------------------

Result<Queue> ModelStore::put_queue(const QueueSettings& settings, PutQueue mode, TimePoint now) {
  if (auto valid = validate(settings); !valid) return std::unexpected(valid.error());
  auto* mine = line_of(settings.name);
  if (mine != nullptr && !mode.replaces) return mine->queue;
  if (mode.seen) {
    const bool same = mine != nullptr && mine->queue.settings.id == mode.seen->id &&
                      mine->queue.updated_at == mode.seen->updated_at;
    if (!same) return fail(ErrorCode::conflict, "the queue is not as it was");
  }
  if (mine != nullptr && mine->queue.removing) {
    return fail(ErrorCode::conflict, "the queue is being removed");
  }
  for (const auto& [name, line] : queues_) {
    if (name == settings.name) continue;
    const auto& other = line.queue.settings;
    if ((settings.number && other.number == settings.number) || other.id == settings.id) {
      return fail(ErrorCode::conflict, "another queue has this number or id");
    }
  }
  if (auto good = check_dead_letters(settings); !good) return std::unexpected(good.error());
  if (mine == nullptr) {
    if (settings.id.is_nil()) return fail(ErrorCode::invalid, "an id is needed");
    mine = &queues_[settings.name];
    mine->queue.created_at = now;
    mine->queue.updated_at = TimePoint::min();
  }
  const auto id = settings.id.is_nil() ? mine->queue.settings.id : settings.id;
  change_rules(*mine, settings.groups);
  mine->queue.settings = settings;
  mine->queue.settings.id = id;
  moved_on(mine->queue.updated_at, now);
  return mine->queue;
}

Result<void> ModelStore::check_dead_letters(const QueueSettings& settings) {
  std::string next = settings.dead_letter_queue;
  for (bool first = true; !next.empty(); first = false) {
    const auto found = queues_.find(next);
    if (found == queues_.end()) return fail(ErrorCode::not_found, "no such dead letter queue");
    if (first && found->second.queue.removing) {
      return fail(ErrorCode::conflict, "the dead letter queue is being removed");
    }
    if (next == settings.name) return fail(ErrorCode::conflict, "dead letters would come back");
    next = found->second.queue.settings.dead_letter_queue;
  }
  return {};
}

Result<std::vector<Queue>> ModelStore::queues(const std::optional<QueueRef>& queue) {
  std::vector<Queue> result;
  if (queue) {
    const auto* line = line_of(*queue);
    if (line == nullptr) return fail(ErrorCode::not_found, "no such queue");
    result.push_back(line->queue);
    return result;
  }
  for (const auto& [name, line] : queues_) result.push_back(line.queue);
  return result;
}

Result<void> ModelStore::remove_queue(const QueueRef& queue, bool force, TimePoint now) {
  auto* line = line_of(queue);
  if (line == nullptr) return fail(ErrorCode::not_found, "no such queue");
  const auto name = line->queue.settings.name;
  for (const auto& [other, each] : queues_) {
    if (each.queue.settings.dead_letter_queue == name) {
      return fail(ErrorCode::conflict, "it is the dead letter queue of another");
    }
  }
  if (count(name, [](TaskState) { return true; }) == 0) {
    std::erase_if(orphans_, [&](const Orphan& orphan) { return orphan.queue == name; });
    queues_.erase(name);
    return {};
  }
  if (!force) return fail(ErrorCode::conflict, "the queue has tasks");
  line->queue.removing = true;
  moved_on(line->queue.updated_at, now);
  return {};
}

// ---- Schedules --------------------------------------------------------------------------------

Result<Schedule> ModelStore::put_schedule(const Schedule& schedule, PutSchedule mode,
                                          TimePoint now) {
  if (auto valid = validate(schedule); !valid) return std::unexpected(valid.error());
  const auto* line = line_of(schedule.task.queue);
  if (line == nullptr) return fail(ErrorCode::not_found, "no such queue");
  if (auto fits = check_size(line->queue.settings, schedule.task.payload.size()); !fits) {
    return std::unexpected(fits.error());
  }
  Schedule stored = schedule;
  auto found = schedules_.find(schedule.name);
  const bool there = found != schedules_.end();
  if (there && !mode.replaces) return fail(ErrorCode::conflict, "the schedule is there");
  if (mode.seen && !(there && found->second.updated_at == mode.seen->updated_at &&
                     found->second.next == mode.seen->next)) {
    return fail(ErrorCode::conflict, "the schedule is not as it was");
  }
  stored.updated_at = there ? found->second.updated_at : TimePoint::min();
  if (there) {
    stored.last = found->second.last;
    stored.last_task = found->second.last_task;
    stored.fired = found->second.fired;
    stored.skipped = found->second.skipped;
    stored.created_at = found->second.created_at;
  } else {
    stored.last.reset();
    stored.last_task = {};
    stored.fired = 0;
    stored.skipped = 0;
    stored.created_at = now;
  }
  moved_on(stored.updated_at, now);
  schedules_[schedule.name] = stored;
  return stored;
}

Result<void> ModelStore::remove_schedule(std::string_view name, TimePoint /*now*/) {
  if (schedules_.erase(std::string(name)) == 0) {
    return fail(ErrorCode::not_found, "no such schedule");
  }
  return {};
}

Result<std::vector<Schedule>> ModelStore::schedules(const std::optional<std::string>& name) {
  std::vector<Schedule> result;
  for (const auto& [key, schedule] : schedules_) {
    if (!name || key == *name) result.push_back(schedule);
  }
  if (name && result.empty()) return fail(ErrorCode::not_found, "no such schedule");
  return result;
}

Result<Fired> ModelStore::fire(const Fire& tick, TimePoint now) {
  auto found = schedules_.find(tick.schedule);
  if (found == schedules_.end()) return fail(ErrorCode::not_found, "no such schedule");
  auto& schedule = found->second;
  if (schedule.paused) return fail(ErrorCode::conflict, "the schedule is paused");
  if (schedule.next != tick.nominal) return fail(ErrorCode::conflict, "fired already");
  if (tick.seen && *tick.seen != schedule.updated_at) return fail(ErrorCode::conflict, "changed");
  const TimePoint fires = tick.tick.value_or(tick.nominal);
  if (fires < tick.nominal || tick.next <= fires) {
    return fail(ErrorCode::invalid, "the next tick must be later");
  }
  if (auto valid = validate(tick.task, now); !valid) return std::unexpected(valid.error());
  if (auto open = check_queue(tick.task.queue); !open) return std::unexpected(open.error());

  const auto* last = record_of(schedule.last_task);
  const bool skip =
      last != nullptr && ((schedule.overlap == Overlap::skip && !is_final(last->task.state)) ||
                          (schedule.overlap == Overlap::queue && is_waiting(last->task.state)));
  Fired fired;
  schedule.next = tick.next;
  schedule.last = fires;
  if (skip) {
    ++schedule.skipped;
  } else {
    fired.put = put_unlimited(tick.task, now);
    schedule.last_task = fired.put->id;
    ++schedule.fired;
  }
  moved_on(schedule.updated_at, now);
  fired.schedule = schedule;
  return fired;
}

// ---- Memos ------------------------------------------------------------------------------------

Result<Memo> ModelStore::remember(const Remember& request, TimePoint now) {
  if (request.key.empty()) return fail(ErrorCode::invalid, "a key is needed");
  if (request.key.size() > limits::max_memo_key) return fail(ErrorCode::too_large, "the key");
  if (request.value && request.value->size() > limits::max_memo_value) {
    return fail(ErrorCode::too_large, "the value");
  }
  if (request.lifetime && *request.lifetime <= Duration::zero()) {
    return fail(ErrorCode::invalid, "lifetime must be positive");
  }
  auto found = memos_.find(request.key);
  const bool there =
      found != memos_.end() && !(found->second.expires && *found->second.expires <= now);
  if (request.expected && *request.expected != (there ? found->second.version : 0)) {
    return fail(ErrorCode::conflict, "another version");
  }
  if (!request.value) {
    memos_.erase(request.key);
    return Memo{.key = request.key, .value = {}};
  }
  Memo memo{.key = request.key, .value = *request.value, .version = ++last_memo_version_};
  if (request.lifetime) memo.expires = later(now, *request.lifetime);
  memos_[request.key] = memo;
  return memo;
}

Result<std::vector<Memo>> ModelStore::recall(const Recall& request, TimePoint now) {
  if (request.limit < 1 || request.limit > limits::max_page) {
    return fail(ErrorCode::invalid, "limit must be 1 to 1,000");
  }
  std::vector<Memo> result;
  for (const auto& [key, memo] : memos_) {
    if (result.size() == request.limit) break;
    if (!key.starts_with(request.prefix) || key <= request.after) continue;
    if (memo.expires && *memo.expires <= now) continue;
    result.push_back(memo);
  }
  return result;
}

}  // namespace millrace::test
