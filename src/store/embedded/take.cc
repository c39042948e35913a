#include <algorithm>
#include <array>
#include <optional>
#include <unordered_set>
#include <utility>

#include "core/limits.h"
#include "core/transition.h"
#include "core/validate.h"
#include "store/embedded/verbs.h"

namespace millrace::embedded {

std::size_t effective_priority(std::size_t priority, TimePoint ready, Duration ageing,
                               TimePoint now) {
  // After the clock was set back a ready moment may lie ahead: no task has waited less than zero.
  const auto steps = static_cast<std::size_t>(std::max(now - ready, Duration::zero()) / ageing);
  return std::min(priority_count - 1, priority + std::min(steps, priority_count));
}

namespace {

using Ready = std::pair<TimeKey, std::uint32_t>;  // in the order of a priority: key, slot

bool is_due(const State& state, const Ready& place, TimePoint now) {
  return place.first.at <= now || state.slot(place.second).state == TaskState::queued;
}

// What is queued is due, although its ready moment may lie ahead: it was ready before the clock was
// set back.
bool has_queued(const QueueEntry& queue, std::size_t priority) {
  return queue.counts[static_cast<std::size_t>(TaskState::queued)][priority] != 0;
}

bool may_have_due(const QueueEntry& queue, std::size_t priority, TimePoint now) {
  const ByTime& tasks = queue.order[priority];
  return !tasks.empty() && (tasks.front().first.at <= now || has_queued(queue, priority));
}

// The tasks of a queue in the order in which a take gives them out.
class InOrder {
 public:
  InOrder(const State& state, const QueueEntry& queue, TimePoint now)
      : state_(state), queue_(queue), now_(now) {}

  // The slot of the next task; nullopt: nothing is due. The first task of a priority has waited
  // longest, so ageing never puts another task of the same priority before it.
  std::optional<std::uint32_t> next() {
    const auto ageing = queue_.settings().ageing;
    std::optional<Ready> best;
    std::size_t best_effective = 0;
    for (std::size_t priority = priority_count; priority-- > 0;) {
      const auto first = first_of(priority);
      if (!first) continue;
      if (!ageing) return first->second;
      const auto effective = effective_priority(priority, first->first.at, *ageing, now_);
      if (!best || effective > best_effective ||
          (effective == best_effective && first->first < best->first)) {
        best = first;
        best_effective = effective;
      }
    }
    return best ? std::optional(best->second) : std::nullopt;
  }

 private:
  // The first task of a priority that may be taken. What was passed over is not looked at again by
  // the same take.
  std::optional<Ready> first_of(std::size_t priority) {
    if (!may_have_due(queue_, priority, now_)) return std::nullopt;
    const ByTime& tasks = queue_.order[priority];
    for (auto at = tasks.lower_bound(from_[priority]); at != tasks.end(); ++at) {
      const Ready place((*at).first, (*at).second);
      const bool due = is_due(state_, place, now_);
      if (due && !is_late(place.second)) return place;
      from_[priority] = {place.first.at, place.first.number + 1};
      // Behind a task that is not due, only tasks that are queued may be.
      if (!due && !has_queued(queue_, priority)) return std::nullopt;
    }
    return std::nullopt;
  }

  // Its start_by has passed: due() shows it, and until it is settled no worker gets it.
  bool is_late(std::uint32_t at) {
    if (!state_.slot(at).has_start_by) return false;
    if (!late_) {
      late_.emplace();
      for (const auto& [key, slot] : state_.expiries) {
        if (key.at >= now_) break;
        late_->insert(slot);
      }
    }
    return late_->contains(at);
  }

  const State& state_;
  const QueueEntry& queue_;
  const TimePoint now_;
  std::array<TimeKey, priority_count> from_ = filled();
  // From the index, because the body that has the start_by may be in the log only.
  std::optional<std::unordered_set<std::uint32_t>> late_;

  static std::array<TimeKey, priority_count> filled() {
    std::array<TimeKey, priority_count> keys;
    keys.fill({.at = TimePoint::min(), .number = 0});
    return keys;
  }
};

void take_task(State& state, std::uint32_t at, std::uint32_t worker, Duration lease,
               TimePoint now) {
  state.unindex(at);
  Slot& slot = state.slot(at);
  slot.state = state_after(slot.state, Event::take);
  slot.token = state.next_token();
  slot.moment = later(now, lease);
  slot.started_at = now;
  ++slot.counters.deliveries;
  state.workers.hold_again(worker);
  state.workers.release(slot.worker);
  slot.worker = worker;
  state.store(at, now);
}

// The tasks in the order of the queue, or in that of its groups.
class Next {
 public:
  Next(const State& state, QueueEntry& queue, TimePoint now)
      : queue_(queue), now_(now), plain_(state, queue, now) {}

  std::optional<std::uint32_t> operator()() {
    return queue_.line ? queue_.line->next(now_) : plain_.next();
  }

 private:
  QueueEntry& queue_;
  const TimePoint now_;
  InOrder plain_;
};

// `bytes`: how many bytes the take may still give out.
void take_from(State& state, QueueEntry& queue, const TakeRequest& request, std::uint32_t most,
               std::uint32_t worker, TimePoint now, std::vector<Lease>& leases,
               std::size_t& bytes) {
  const QueueSettings& settings = queue.settings();
  const Duration lease = request.lease.value_or(settings.lease);
  const std::uint32_t room = room_in(queue, most, now);
  std::uint32_t taken = 0;
  Next next(state, queue, now);
  while (taken < room && bytes != 0) {
    const auto at = next();
    if (!at) break;
    const std::uint32_t cost = cost_of(state, state.slot(*at), settings.rate_of);
    if (settings.process_rate) {
      if (!queue.takes.fits(*settings.process_rate, now, cost)) break;
      queue.takes.add(*settings.process_rate, now, cost);
    }
    const std::uint32_t group = state.marks.group(*at);
    const std::uint32_t group_cost =
        queue.line ? cost_of(state, state.slot(*at), settings.groups->rate_of) : 0;
    take_task(state, *at, worker, lease, now);
    if (queue.line) queue.line->served(group, group_cost, now);
    Lease& given = leases.emplace_back();
    state.fill_lease(state.slot(*at), given);
    bytes -= std::min(bytes, taken_bytes(given));
    ++taken;
  }
  if (taken != 0 && settings.process_rate) state.changes.note({Thing::queue, queue.index});
}

}  // namespace

std::uint32_t room_in(const QueueEntry& queue, std::uint32_t most, TimePoint now) {
  const QueueSettings& settings = queue.settings();
  std::uint64_t room = most;
  if (settings.max_concurrent) {
    const std::uint64_t max = *settings.max_concurrent;
    room = std::min(room, max - std::min(max, queue.running));
  }
  if (settings.process_rate && settings.rate_of == RateOf::tasks) {
    room = std::min<std::uint64_t>(room, queue.takes.room(*settings.process_rate, now));
  }
  return static_cast<std::uint32_t>(room);
}

std::uint32_t cost_of(const State& state, const Slot& slot, RateOf rate_of) {
  return rate_of == RateOf::tasks ? 1 : state.given(slot).cost;
}

bool may_have_ready(const QueueEntry& queue, TimePoint now) {
  return queue.line ? queue.line->may_have_next(now) : oldest_ready(queue, now).has_value();
}

bool gives_tasks(const QueueEntry& queue, TimePoint now) {
  const QueueSettings& settings = queue.settings();
  const bool paused = settings.paused_until && *settings.paused_until > now;
  return settings.active && !paused && !queue.queue.removing;
}

std::optional<TimePoint> oldest_ready(const QueueEntry& queue, TimePoint now) {
  std::optional<TimePoint> oldest;
  for (std::size_t priority = 0; priority < priority_count; ++priority) {
    if (!may_have_due(queue, priority, now)) continue;
    const TimePoint ready = std::min(queue.order[priority].front().first.at, now);
    oldest = std::min(oldest.value_or(ready), ready);
  }
  return oldest;
}

Result<std::vector<Lease>> take(State& state, const TakeRequest& request, TimePoint now) {
  if (auto good = validate(request); !good) return std::unexpected(std::move(good.error()));
  std::vector<QueueEntry*> queues;
  std::size_t most = 0;
  for (const Want& want : request.queues) {
    queues.push_back(state.queue(want.queue));
    if (queues.back() == nullptr) return unknown_queue(want.queue);
    most += std::min<std::size_t>(want.most, queues.back()->waiting);
  }
  std::vector<Lease> leases;
  leases.reserve(most);
  const auto worker = state.workers.hold(request.worker);
  std::size_t bytes = limits::max_taken_bytes;
  for (std::size_t i = 0; i < queues.size(); ++i) {
    if (!gives_tasks(*queues[i], now)) continue;
    take_from(state, *queues[i], request, request.queues[i].most, worker, now, leases, bytes);
  }
  state.workers.release(worker);
  return leases;
}

}  // namespace millrace::embedded
