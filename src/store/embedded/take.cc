#include <algorithm>
#include <limits>

#include "core/limits.h"
#include "core/transition.h"
#include "core/validate.h"
#include "store/embedded/verbs.h"

namespace millrace::embedded {

std::size_t effective_priority(std::size_t priority, TimePoint ready, Duration ageing,
                               TimePoint now) {
  const auto steps = static_cast<std::size_t>((now - ready) / ageing);
  return std::min(priority_count - 1, priority + std::min(steps, priority_count));
}

namespace {

// The priority whose first task is to be taken next; nullopt: nothing is due. The first task of a
// priority has waited longest, so ageing never puts another task of the same priority before it.
std::optional<std::size_t> next_priority(const QueueEntry& queue, TimePoint now) {
  const auto ageing = queue.settings().ageing;
  std::optional<std::size_t> best;
  std::size_t best_effective = 0;
  for (std::size_t priority = priority_count; priority-- > 0;) {
    const ByTime& tasks = queue.order[priority];
    if (tasks.empty() || tasks.front().first.at > now) continue;
    if (!ageing) return priority;
    const TimeKey& first = tasks.front().first;
    const auto effective = effective_priority(priority, first.at, *ageing, now);
    if (!best || effective > best_effective ||
        (effective == best_effective && first < queue.order[*best].front().first)) {
      best = priority;
      best_effective = effective;
    }
  }
  return best;
}

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

// `bytes`: how many bytes of payloads the take may still give out.
void take_from(State& state, QueueEntry& queue, const TakeRequest& request, std::uint32_t most,
               std::uint32_t worker, TimePoint now, std::vector<Lease>& leases,
               std::size_t& bytes) {
  const Duration lease = request.lease.value_or(queue.settings().lease);
  const std::uint32_t room = room_in(queue, most, now);
  std::uint32_t taken = 0;
  while (taken < room && bytes != 0) {
    const auto priority = next_priority(queue, now);
    if (!priority) break;
    const auto at = queue.order[*priority].front().second;
    take_task(state, at, worker, lease, now);
    Lease& given = leases.emplace_back();
    state.fill_lease(state.slot(at), given);
    bytes -= std::min(bytes, given.payload.size());
    ++taken;
  }
  if (taken != 0 && queue.settings().process_rate) {
    queue.takes.add(*queue.settings().process_rate, now, taken);
    state.changes.note({Thing::queue, queue.index});
  }
}

}  // namespace

std::uint32_t room_in(const QueueEntry& queue, std::uint32_t most, TimePoint now) {
  const QueueSettings& settings = queue.settings();
  std::uint64_t room = most;
  if (settings.max_concurrent) {
    const std::uint64_t max = *settings.max_concurrent;
    room = std::min(room, max - std::min(max, queue.running));
  }
  if (settings.process_rate) {
    room = std::min<std::uint64_t>(room, queue.takes.room(*settings.process_rate, now));
  }
  return static_cast<std::uint32_t>(room);
}

bool gives_tasks(const QueueEntry& queue, TimePoint now) {
  const QueueSettings& settings = queue.settings();
  const bool paused = settings.paused_until && *settings.paused_until > now;
  return settings.active && !paused && !queue.queue.removing;
}

std::optional<TimePoint> oldest_ready(const QueueEntry& queue, TimePoint now) {
  std::optional<TimePoint> oldest;
  for (const ByTime& tasks : queue.order) {
    if (tasks.empty() || tasks.front().first.at > now) continue;
    const TimePoint ready = tasks.front().first.at;
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
