#include "tests/random/witness.h"

#include <fmt/format.h>
#include <algorithm>
#include <tuple>

#include "core/time_text.h"
#include "core/transition.h"
#include "store/store.h"
#include "tests/random/describe.h"
#include "tests/support/print.h"

namespace millrace::test {

namespace {

std::string name_of(const TaskId& id) {
  return shortened(::testing::PrintToString(id));
}

std::optional<QueueSettings> settings_of(Store& store, const QueueRef& queue) {
  auto queues = store.queues(queue);
  if (!queues) return std::nullopt;
  return queues->front().settings;
}

template <class Items, class Id>
std::vector<TaskId> ids_of(const Items& items, Id id) {
  std::vector<TaskId> ids;
  for (const auto& item : items) ids.push_back(id(item));
  return ids;
}

bool succeeded(const Answer& answer) {
  return answer.empty() || !std::holds_alternative<Failure>(answer.front());
}

}  // namespace

void Witness::complain(std::string text) {
  if (complaint_.empty()) complaint_ = std::move(text);
}

// ---- After each step --------------------------------------------------------------------------

void Witness::saw(const Operation& operation, const Answer& answer) {
  latest_ = std::max(latest_, operation.now);
  const auto& call = operation.call;
  const auto same = [](const TaskId& id) { return id; };
  if (const auto* work = std::get_if<WorkStep>(&call)) {
    saw_work(*work, answer, operation.now);
  } else if (std::holds_alternative<DueStep>(call) && succeeded(answer)) {
    due_ = ids_of(answer, [](const Item& item) {
      const auto* overdue = std::get_if<Overdue>(&item);
      return overdue == nullptr ? TaskId{} : overdue->lease.id;
    });
  } else if (std::holds_alternative<SettleDueStep>(call)) {
    settled(due_, answer);
  } else if (const auto* cancel = std::get_if<CancelStep>(&call)) {
    saw_states(ids_of(cancel->requests, [](const auto& request) { return request.id; }), answer,
               ended_);
  } else if (const auto* retry = std::get_if<RetryStep>(&call)) {
    saw_states(ids_of(retry->tasks, same), answer, revived_);
  } else if (const auto* remove = std::get_if<RemoveStep>(&call)) {
    saw_states(ids_of(remove->tasks, same), answer, removed_);
  } else if (const auto* update = std::get_if<UpdateStep>(&call)) {
    saw_updates(*update, answer);
  } else if (const auto* put_queue = std::get_if<PutQueueStep>(&call)) {
    uses_.erase(put_queue->settings.name);
    saw_rules(answer);
  } else if (const auto* put_group = std::get_if<PutGroupStep>(&call)) {
    saw_override(*put_group, answer);
  } else if (const auto* clear = std::get_if<ClearStep>(&call)) {
    if (auto settings = settings_of(side_->store(), clear->queue)) cleared_.insert(settings->name);
  } else if (const auto* remove_queue = std::get_if<RemoveQueueStep>(&call)) {
    if (auto settings = settings_of(side_->store(), remove_queue->queue)) {
      if (remove_queue->force) emptying_.insert(settings->name);
    }
  } else if (const auto* put_schedule = std::get_if<PutScheduleStep>(&call)) {
    std::erase_if(ticks_,
                  [&](const auto& tick) { return tick.first == put_schedule->schedule.name; });
  } else if (const auto* remove_schedule = std::get_if<RemoveScheduleStep>(&call)) {
    std::erase_if(ticks_, [&](const auto& tick) { return tick.first == remove_schedule->name; });
  } else if (const auto* fire = std::get_if<FireStep>(&call)) {
    saw_fire(*fire, answer);
  } else if (const auto* look = std::get_if<LookStep>(&call)) {
    looked(answer);
    if (look->groups) check_overrides(answer);
  }
}

void Witness::saw_fire(const FireStep& step, const Answer& answer) {
  if (!succeeded(answer)) return;
  if (!ticks_.emplace(step.tick.schedule, step.tick.nominal).second) {
    complain(fmt::format("a tick of {} fired twice", step.tick.schedule));
  }
  // With the same tick before and after, a second firing is allowed.
  ticks_.erase({step.tick.schedule, step.tick.next});
}

void Witness::saw_states(const std::vector<TaskId>& ids, const Answer& answer,
                         std::set<TaskId>& into) {
  for (std::size_t i = 0; i < std::min(ids.size(), answer.size()); ++i) {
    const auto* state = std::get_if<TaskState>(&answer[i]);
    if (state != nullptr && *state != TaskState::processing) into.insert(ids[i]);
  }
}

void Witness::saw_updates(const UpdateStep& step, const Answer& answer) {
  for (std::size_t i = 0; i < std::min(step.updates.size(), answer.size()); ++i) {
    const TaskUpdate& update = step.updates[i];
    if (!update.queue || !std::holds_alternative<TaskState>(answer[i])) continue;
    const auto settings = settings_of(side_->store(), *update.queue);
    if (settings) moved_[update.id].insert(settings->name);
  }
}

void Witness::settled(const std::vector<TaskId>& ids, const Answer& answer) {
  for (std::size_t i = 0; i < std::min(ids.size(), answer.size()); ++i) {
    const auto* result = std::get_if<Settled>(&answer[i]);
    if (result == nullptr || result->status != SettleStatus::applied) continue;
    running_.erase(side_->number_of(ids[i]));
    ended_.insert(ids[i]);
  }
}

void Witness::saw_work(const WorkStep& step, const Answer& answer, TimePoint now) {
  settled(ids_of(step.settlements, [](const auto& part) { return part.settlement.id; }), answer);
  std::vector<Lease> leases;  // of one take request
  for (const auto& item : answer) {
    if (const auto* note = std::get_if<Note>(&item); note != nullptr && note->text == "taken") {
      saw_leases(leases, now);
      leases.clear();
    } else if (const auto* lease = std::get_if<Lease>(&item)) {
      leases.push_back(*lease);
    }
  }
  saw_leases(leases, now);
}

void Witness::saw_leases(const std::vector<Lease>& leases, TimePoint now) {
  std::map<std::string, std::vector<Lease>> by_queue;
  for (const auto& lease : leases) {
    if (!running_.insert(side_->number_of(lease.id)).second) {
      complain(name_of(lease.id) + " has two live leases");
    }
    by_queue[lease.queue].push_back(lease);
  }
  for (const auto& [queue, given] : by_queue) {
    const auto settings = settings_of(side_->store(), queue);
    if (!settings) continue;
    check_order(given, *settings, now);
    check_rate(*settings, given.size(), now);
    check_groups(given, *settings, now);
    const auto counts = side_->store().counts(QueueRef(queue), now);
    if (counts && settings->max_concurrent && counts->front().taken() > *settings->max_concurrent) {
      complain(fmt::format("{} runs {} tasks, {} of them taken just now, and {} are allowed", queue,
                           counts->front().taken(), given.size(), *settings->max_concurrent));
    }
  }
}

void Witness::check_order(const std::vector<Lease>& leases, const QueueSettings& settings,
                          TimePoint now) {
  const auto place = [&](const Lease& lease) {
    std::int64_t priority = lease.priority;
    if (settings.ageing && now > lease.start) priority += (now - lease.start) / *settings.ageing;
    return std::tuple(-std::min<std::int64_t>(priority, 9), lease.start,
                      side_->number_of(lease.id));
  };
  // Where groups have turns, within each of them.
  const bool fair = settings.groups && settings.groups->order == GroupOrder::fair;
  std::map<std::string, const Lease*> last;
  for (const auto& lease : leases) {
    const Lease*& before = last[fair ? lease.group : std::string()];
    if (before != nullptr && place(lease) < place(*before)) {
      complain(fmt::format("{} was given before {}", name_of(before->id), name_of(lease.id)));
    }
    before = &lease;
  }
}

// Time that goes back counts as standing still, unless it goes back by so much that the window
// begins anew (core/rate_window.h, which counts in slots of a 32nd of `per`).
void Witness::check_rate(const QueueSettings& settings, std::size_t given, TimePoint now) {
  // What tasks have really cost is known to the reference.
  if (!settings.process_rate || settings.rate_of == RateOf::cost) return;
  auto& uses = uses_[settings.name];
  // After a change of the rate, what was used may count as used up to a slot of the old one later.
  const Duration slot = std::max(uses.rate.per, settings.process_rate->per) / 32 + Duration(1);
  uses.rate = *settings.process_rate;
  const Duration back = uses.moments.empty() ? Duration{} : uses.moments.back() - now;
  if (back >= uses.rate.per && back + slot >= std::chrono::minutes(1)) uses.moments.clear();
  const auto moment = uses.moments.empty() ? now : std::max(now, uses.moments.back());
  uses.moments.insert(uses.moments.end(), given, moment);
  const auto inside = std::ranges::count_if(
      uses.moments, [&](TimePoint used) { return used > moment - uses.rate.per; });
  if (inside > uses.rate.max) {
    complain(fmt::format("{} exceeds its process_rate: {} tasks were taken within {} ms, until {}",
                         settings.name, inside, uses.rate.per.count(), format_time(moment)));
  }
}

// ---- After a look at everything ---------------------------------------------------------------

void Witness::looked(const Answer& answer) {
  std::map<TaskId, Task> tasks;
  for (const auto& item : answer) {
    if (const auto* task = std::get_if<Task>(&item)) tasks[task->id] = *task;
  }
  recount(tasks, answer);
  recount_groups(tasks, answer);
  check_keys(tasks);
  check_stay(tasks);
  check_running(tasks);
  seen_ = std::make_shared<const std::map<TaskId, Task>>(std::move(tasks));
  revived_.clear();
  ended_.clear();
  removed_.clear();
  cleared_.clear();
  emptying_.clear();
  moved_.clear();
  for (const auto& item : answer) {
    const auto* queue = std::get_if<Queue>(&item);
    if (queue != nullptr && queue->removing) emptying_.insert(queue->settings.name);
  }
}

void Witness::recount(const std::map<TaskId, Task>& tasks, const Answer& answer) {
  for (const auto& item : answer) {
    const auto* counts = std::get_if<QueueCounts>(&item);
    if (counts == nullptr) continue;
    decltype(QueueCounts::by) by{};
    for (const auto& [id, task] : tasks) {
      if (task.queue == counts->queue) ++by[static_cast<std::size_t>(task.state)][task.priority];
    }
    if (by != counts->by) complain("the counters of " + counts->queue + " are not a recount");
  }
}

void Witness::check_keys(const std::map<TaskId, Task>& tasks) {
  std::map<std::pair<std::string, std::string>, TaskId> holders;
  for (const auto& [id, task] : tasks) {
    if (!task.unique) continue;
    const bool holds =
        (task.unique->scope == UniqueScope::until_finished && !is_final(task.state)) ||
        (task.unique->scope == UniqueScope::until_started && is_waiting(task.state) &&
         task.counters.deliveries == 0);
    if (!holds) continue;
    const auto [entry, fresh] = holders.emplace(std::pair(task.queue, task.unique->key), id);
    if (!fresh) complain(name_of(id) + " and " + name_of(entry->second) + " hold the same key");
  }
}

void Witness::check_stay(const std::map<TaskId, Task>& tasks) {
  if (seen_ == nullptr) return;
  for (const auto& [id, before] : *seen_) {
    auto found = tasks.find(id);
    if (found == tasks.end()) {
      if (!may_be_gone(before)) complain(name_of(id) + " vanished");
      continue;
    }
    const auto& after = found->second;
    if (!is_final(before.state) || removed_.contains(id) || revived_.contains(id)) continue;
    if (before.created_at != after.created_at) continue;  // pruned, and put again
    if (before.state != after.state || before.result != after.result ||
        before.error != after.error || before.finished_at != after.finished_at) {
      complain(name_of(id) + " was finished and changed");
    }
  }
}

void Witness::check_running(const std::map<TaskId, Task>& tasks) {
  for (const auto& [id, task] : tasks) {
    const auto runs = running_.contains(side_->number_of(id));
    if (runs == (task.state == TaskState::processing)) continue;
    complain(fmt::format("{} {}", name_of(id),
                         runs ? "lost a lease that was not settled" : "runs without a lease"));
  }
}

bool Witness::may_be_gone(const Task& task) const {
  const auto emptied = [&](const std::string& queue) {
    return cleared_.contains(queue) || emptying_.contains(queue);
  };
  const auto moved = moved_.find(task.id);
  return is_final(task.state) || ended_.contains(task.id) || removed_.contains(task.id) ||
         emptied(task.queue) ||
         (moved != moved_.end() && std::ranges::any_of(moved->second, emptied));
}

}  // namespace millrace::test
