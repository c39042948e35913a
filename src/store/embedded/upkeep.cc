#include <fmt/format.h>

#include <algorithm>

#include "core/limits.h"
#include "core/time_text.h"
#include "core/transition.h"
#include "store/embedded/verbs.h"

namespace millrace::embedded {
namespace {

Result<void> check_limit(std::size_t limit, std::size_t most) {
  if (limit >= 1 && limit <= most) return {};
  return fail(ErrorCode::invalid, fmt::format("limit is {}; 1 to {} are allowed", limit, most));
}

// What one call of advance() has done, and may still do.
class Round {
 public:
  Round(State& state, TimePoint now, std::size_t limit) : state_(state), now_(now), left_(limit) {}

  Advanced run() {
    promote();
    tell();
    remove_by_own_rule();
    for (const auto index : queue_indexes()) tend_queue(index);
    end_windows_and_memos();
    done_.more = left_ == 0;
    done_.next = next_moment();
    return done_;
  }

 private:
  void promote() {
    while (left_ != 0 && is_due(state_.promotions)) {
      const auto at = state_.promotions.front().second;
      state_.unindex(at);
      Slot& slot = state_.slot(at);
      slot.state = state_after(slot.state, is_parked(slot) ? Event::release : Event::become_due);
      state_.store(at, now_);
      ++done_.promoted;
      --left_;
    }
  }

  // What ended has told all that waited for it before anything is removed.
  void tell() {
    const std::size_t told = tell_untold(state_, now_, left_);
    done_.promoted += told;
    left_ -= told;
    if (!state_.untold.empty()) left_ = 0;
  }

  void remove_by_own_rule() {
    while (left_ != 0 && is_due(state_.removals)) remove(state_.removals.front().second);
  }

  void prune(ByTime& tasks, const Keep& keep) {
    while (left_ != 0 && !tasks.empty()) {
      const bool too_many = keep.last && tasks.size() > *keep.last;
      const bool too_old = keep.for_time && later(tasks.front().first.at, *keep.for_time) <= now_;
      if (!too_many && !too_old) return;
      remove(tasks.front().second);
    }
  }

  void tend_queue(std::uint16_t index) {
    QueueEntry& queue = state_.queue_at(index);
    prune(queue.finished, queue.settings().keep_completed);
    prune(queue.dead, queue.settings().keep_dead);
    if (queue.queue.removing) {
      const auto removed = remove_tasks(state_, queue, false, left_, now_);
      left_ -= removed;
      done_.removed += removed;
      if (queue.total() == 0) return state_.erase_queue(queue);
    }
    if (queue.line) queue.line->catch_up(now_);
    lift(queue);
  }

  void lift(QueueEntry& queue) {
    const QueueSettings& settings = queue.settings();
    const bool unpause = settings.paused_until && *settings.paused_until <= now_;
    const bool drained = settings.draining && queue.waiting == 0 && queue.running == 0;
    if (!unpause && !drained) return;
    Queue changed = queue.queue;
    if (unpause) changed.settings.paused_until.reset();
    if (drained) changed.settings.draining = false;
    done_.lifted += std::size_t{unpause} + std::size_t{drained};
    changed.updated_at = written_after(changed.updated_at, now_);
    state_.set_queue(queue, std::move(changed));
  }

  void end_windows_and_memos() {
    for (; left_ != 0; --left_) {
      const auto key = state_.holders.pop_ended(now_);
      if (!key) break;
      state_.changes.note({Thing::window, key->first, key->second});
    }
    for (; left_ != 0; --left_) {
      const auto key = state_.memos.pop_ended(now_);
      if (!key) break;
      state_.changes.note({Thing::memo, 0, *key});
    }
  }

  void remove(std::uint32_t at) {
    state_.unindex(at);
    state_.erase(at);
    ++done_.removed;
    --left_;
  }

  bool is_due(const ByTime& tasks) const {
    return !tasks.empty() && tasks.front().first.at <= now_;
  }

  std::vector<std::uint16_t> queue_indexes() const {
    std::vector<std::uint16_t> indexes;
    for (const auto& [name, index] : state_.queue_names()) indexes.push_back(index);
    return indexes;
  }

  void consider(std::optional<TimePoint> moment) {
    if (!moment || *moment <= now_ || *moment == never) return;
    done_.next = std::min(done_.next.value_or(*moment), *moment);
  }
  void consider(const ByTime& tasks, Duration after = Duration::zero()) {
    const auto first = tasks.lower_bound({now_ - after + Duration(1), 0});
    if (first != tasks.end()) consider(later((*first).first.at, after));
  }

  std::optional<TimePoint> next_moment() {
    consider(state_.promotions);
    consider(state_.leases);
    consider(state_.expiries);
    consider(state_.removals);
    consider(state_.holders.first_end_after(now_));
    consider(state_.memos.first_end_after(now_));
    for (const auto& [name, index] : state_.queue_names()) {
      const QueueEntry& queue = state_.queue_at(index);
      consider(queue.settings().paused_until);
      const auto& completed = queue.settings().keep_completed.for_time;
      if (completed) consider(queue.finished, *completed);
      if (const auto& dead = queue.settings().keep_dead.for_time) consider(queue.dead, *dead);
    }
    return done_.next;
  }

  State& state_;
  const TimePoint now_;
  std::size_t left_;
  Advanced done_;
};

Overdue overdue_lease(const State& state, const Slot& slot) {
  return {.lease = state.lease(slot),
          .expect = Lost{{slot.token}, slot.moment},
          .cancel_requested = slot.cancel_requested};
}

Overdue overdue_wait(const State& state, const Slot& slot) {
  return {.lease = state.lease(slot),
          .expect = Unchanged{{slot.version}},
          .cancel_requested = slot.cancel_requested};
}

Overdue overdue_orphan(const State& state, const Slot& slot) {
  Overdue overdue = overdue_wait(state, slot);
  overdue.parent = state.notes(slot).waits->ended;
  return overdue;
}

}  // namespace

Result<std::vector<Overdue>> due(const State& state, TimePoint now, const DueRequest& request) {
  if (auto good = check_limit(request.limit, limits::max_due); !good) {
    return std::unexpected(std::move(good.error()));
  }
  std::vector<Overdue> found;
  auto lease = state.leases.begin();
  auto wait = state.expiries.begin();
  const auto asked_for = [&](const Slot& slot) {
    return request.leases || slot.moment <= slot.started_at;
  };
  const auto first_of = [&](const auto& at, const ByTime& tasks) -> std::optional<TimeKey> {
    if (at == tasks.end() || (*at).first.at > now) return std::nullopt;
    return (*at).first;
  };
  while (found.size() < request.limit) {
    const auto ended = first_of(lease, state.leases);
    const auto expired = first_of(wait, state.expiries);
    if (!ended && !expired) break;
    if (ended && (!expired || *ended < *expired)) {
      const Slot& slot = state.slot((*lease).second);
      if (asked_for(slot)) found.push_back(overdue_lease(state, slot));
      ++lease;
    } else {
      found.push_back(overdue_wait(state, state.slot((*wait).second)));
      ++wait;
    }
  }
  for (const auto& [number, at] : state.orphans) {
    if (found.size() == request.limit) break;
    found.push_back(overdue_orphan(state, state.slot(at)));
  }
  return found;
}

void end_local_leases(State& state) {
  std::vector<std::uint32_t> local;
  for (const auto& [key, at] : state.leases) {
    if (state.workers.text(state.slot(at).worker).starts_with(local_worker)) local.push_back(at);
  }
  for (const std::uint32_t at : local) {
    state.unindex(at);
    Slot& slot = state.slot(at);
    slot.moment = first_time;  // past, also where the clock was set back to before the lease began
    state.store(at, slot.updated_at);
  }
}

void queue_running_again(State& state) {
  while (!state.leases.empty()) {
    const std::uint32_t at = state.leases.front().second;
    state.unindex(at);
    Slot& slot = state.slot(at);
    slot.state = state_after(slot.state, Event::give_back);
    slot.moment = no_moment;
    slot.token = 0;             // the worker that had it settles nothing
    slot.has_start_by = false;  // it ran
    state.store(at, slot.updated_at);
  }
}

Result<Advanced> advance(State& state, TimePoint now, std::size_t limit) {
  if (auto good = check_limit(limit, limits::max_advance); !good) {
    return std::unexpected(std::move(good.error()));
  }
  return Round(state, now, limit).run();
}

}  // namespace millrace::embedded
