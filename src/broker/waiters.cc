#include "broker/waiters.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/transition.h"
#include "store/store.h"

namespace millrace {
namespace {

constexpr Duration poll_every{1000};

// How many tasks one run looks at, in one call of the store.
constexpr std::size_t most_looked_at = 1000;

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
  while (!marked_.empty() && picked.size() < most_looked_at) {
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
  const auto states = store.find(std::vector<TaskRef>(ids.begin(), ids.end()), state_only);
  if (!states) return std::unexpected(states.error());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto& task = (*states)[i];
    end(ids[i], !task || is_final(task->state), now);
  }
  return next;
}

void Waiters::end(const TaskId& id, bool is_final, TimePoint now) {
  const Lock lock(mutex_);
  const auto at = by_id_.find(id);
  if (at == by_id_.end()) return;
  Over over{.id = id};
  std::erase_if(at->second, [&](Waiter& waiter) REQUIRES(mutex_) {
    if (!is_final && waiter.until->first > now) return false;
    forget(waiter);
    over.done.push_back(std::move(waiter.done));
    return true;
  });
  if (!over.done.empty()) over_.push_back(std::move(over));
  if (at->second.empty()) by_id_.erase(at);
}

void Waiters::stored() {
  Lock lock(mutex_);
  auto over = std::exchange(over_, {});
  lock.unlock();
  if (!over.empty()) answer(std::move(over));
}

void Waiters::unsure(const Error& why) {
  Lock lock(mutex_);
  auto over = std::exchange(over_, {});
  lock.unlock();
  for (Over& each : over) {
    for (auto& done : each.done) done(std::unexpected(why));
  }
}

void Waiters::failed(const Error& why) {
  Lock lock(mutex_);
  auto all = std::exchange(by_id_, {});
  // What these were about to be answered is not stored.
  auto over = std::exchange(over_, {});
  ends_.clear();
  callers_.clear();
  marked_.clear();
  count_ = 0;
  lock.unlock();
  for (auto& [id, waiters] : all) {
    for (Waiter& waiter : waiters) waiter.done(std::unexpected(why));
  }
  for (Over& each : over) {
    for (auto& done : each.done) done(std::unexpected(why));
  }
}

}  // namespace millrace
