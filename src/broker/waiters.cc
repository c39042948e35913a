#include "broker/waiters.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/transition.h"

namespace millrace {
namespace {

constexpr Duration poll_every{1000};

// How many tasks one run looks at, in one call of the store, and how many of these it reads whole.
constexpr std::size_t most_heads = 1000;
constexpr std::size_t most_whole = 200;

}  // namespace

Result<TimePoint> Waiters::add(TaskId id, CallerId caller, TimePoint until,
                               Completion<Task>& done) {
  const Lock lock(mutex_);
  if (count_ >= options_.most) {
    return std::unexpected(
        Error{ErrorCode::limited,
              fmt::format(
                  "{} callers wait for tasks to finish already; ask again in a second, or without "
                  "waiting",
                  options_.most),
              poll_every});
  }
  by_id_[id].push_back({caller, ends_.emplace(until, id), std::move(done)});
  ++callers_[caller.value];
  ++count_;
  return options_.poll ? std::min(until, next_poll_) : until;
}

void Waiters::forget(const Waiter& waiter) {
  ends_.erase(waiter.until);
  const auto caller = callers_.find(waiter.caller.value);
  if (--caller->second == 0) callers_.erase(caller);
  --count_;
}

void Waiters::leave(CallerId caller) {
  if (count_ == 0) return;
  std::vector<Completion<Task>> gone;  // destroyed without the lock
  const Lock lock(mutex_);
  if (!callers_.contains(caller.value)) return;
  for (auto at = by_id_.begin(); at != by_id_.end();) {
    std::erase_if(at->second, [&](Waiter& waiter) REQUIRES(mutex_) {
      if (waiter.caller != caller) return false;
      forget(waiter);
      gone.push_back(std::move(waiter.done));
      return true;
    });
    at = at->second.empty() ? by_id_.erase(at) : std::next(at);
  }
}

bool Waiters::mark(const TaskId& id) {
  const Lock lock(mutex_);
  if (!by_id_.contains(id)) return false;
  marked_.insert(id);
  return true;
}

bool Waiters::look_at_all() {
  if (count_ == 0) return false;
  const Lock lock(mutex_);
  for (const auto& [id, waiters] : by_id_) marked_.insert(id);
  return !marked_.empty();
}

// Which tasks to read now, and when to run again.
std::vector<TaskId> Waiters::pick(TimePoint now, TimePoint& next) {
  const Lock lock(mutex_);
  const bool poll = options_.poll && now >= next_poll_;
  if (poll) {
    next_poll_ = later(now, poll_every);
    for (const auto& [id, waiters] : by_id_) marked_.insert(id);
  }
  auto end = ends_.begin();
  for (; end != ends_.end() && end->first <= now; ++end) marked_.insert(end->second);
  if (end != ends_.end()) next = std::min(next, end->first);
  std::vector<TaskId> picked;
  while (!marked_.empty() && picked.size() < most_heads) {
    picked.push_back(*marked_.begin());
    marked_.erase(marked_.begin());
  }
  if (!marked_.empty()) next = now;
  if (options_.poll && !by_id_.empty()) next = std::min(next, next_poll_);
  return picked;
}

Result<TimePoint> Waiters::run_once(Store& store, TimePoint now) {
  TimePoint next = never;
  if (count_ == 0) return next;
  const std::vector<TaskId> ids = pick(now, next);
  const auto heads = store.find(std::vector<TaskRef>(ids.begin(), ids.end()), head_only);
  if (!heads) return std::unexpected(heads.error());
  std::size_t whole = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto& head = (*heads)[i];
    if (head && !is_final(head->state) && !is_over(ids[i], now)) continue;
    if (++whole > most_whole) {
      mark(ids[i]);
      next = now;
      continue;
    }
    auto task = find_task(store, ids[i]);
    if (!task && task.error().code == ErrorCode::unavailable) {
      return std::unexpected(std::move(task.error()));
    }
    found(ids[i], std::move(task), now);
  }
  return next;
}

// Whether one of the callers that wait for it has waited long enough.
bool Waiters::is_over(const TaskId& id, TimePoint now) {
  const Lock lock(mutex_);
  const auto at = by_id_.find(id);
  return at != by_id_.end() && std::ranges::any_of(at->second, [&](const Waiter& waiter) {
           return waiter.until->first <= now;
         });
}

void Waiters::found(const TaskId& id, Result<Task> task, TimePoint now) {
  const Lock lock(mutex_);
  const auto at = by_id_.find(id);
  if (at == by_id_.end()) return;
  const bool over = !task || is_final(task->state);
  std::erase_if(at->second, [&](Waiter& waiter) REQUIRES(mutex_) {
    if (!over && waiter.until->first > now) return false;
    forget(waiter);
    answers_.emplace_back(std::move(waiter.done), task);
    return true;
  });
  if (at->second.empty()) by_id_.erase(at);
}

void Waiters::stored() {
  Lock lock(mutex_);
  auto answers = std::exchange(answers_, {});
  lock.unlock();
  for (auto& [done, task] : answers) done(std::move(task));
}

void Waiters::unsure(const Error& why) {
  Lock lock(mutex_);
  auto answers = std::exchange(answers_, {});
  lock.unlock();
  for (auto& [done, task] : answers) done(std::unexpected(why));
}

void Waiters::failed(const Error& why) {
  Lock lock(mutex_);
  auto all = std::exchange(by_id_, {});
  // What these were about to be answered is not stored.
  auto answers = std::exchange(answers_, {});
  ends_.clear();
  callers_.clear();
  marked_.clear();
  count_ = 0;
  lock.unlock();
  for (auto& [id, waiters] : all) {
    for (Waiter& waiter : waiters) waiter.done(std::unexpected(why));
  }
  for (auto& [done, task] : answers) done(std::unexpected(why));
}

}  // namespace millrace
