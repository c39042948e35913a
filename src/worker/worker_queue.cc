#include "worker/worker_queue.h"

#include <algorithm>
#include <array>
#include <utility>

namespace millrace::worker {
namespace {

// Without a prefetch setting, as many tasks are prefetched as are handled in this time, up to a
// limit.
constexpr double ahead_nanoseconds = 100e6;
constexpr double most_taken_ahead = 1000;

// From no-ops to the slow cycles of 10 s and beyond.
constexpr std::array cycle_bounds = {0.0001, 0.001, 0.005, 0.01, 0.05, 0.1,   0.5,   1.0,
                                     2.5,    5.0,   10.0,  30.0, 60.0, 300.0, 1800.0};

}  // namespace

WorkerQueue::WorkerQueue(QueueHandlers handlers) : how(std::move(handlers)), cycles(cycle_bounds) {
  how.concurrency = std::max(how.concurrency, 1U);
  how.batch_size = std::clamp(how.batch_size, 1U, 1000U);
}

std::uint32_t WorkerQueue::limit() const {
  return std::min(how.concurrency, assigned.value_or(how.concurrency));
}

std::size_t WorkerQueue::most_ahead() const {
  if (limit() == 0) return 0;
  return std::min<std::size_t>(how.prefetch.value_or(ahead), 1000);
}

void WorkerQueue::measured(double nanoseconds) {
  constexpr double share = 0.2;
  const double sane = std::max(nanoseconds, 1.0);
  mean = mean == 0 ? sane : mean + share * (sane - mean);
  const double target = std::min(ahead_nanoseconds / mean * limit(), most_taken_ahead);
  ahead = std::min(ahead, static_cast<std::uint32_t>(target));
}

// Doubles: one quick task does not justify prefetching a thousand.
void WorkerQueue::grow() {
  if (mean == 0) return;
  const double target = std::min(ahead_nanoseconds / mean * limit(), most_taken_ahead);
  const std::uint32_t more = std::max({2 * ahead, limit() * how.batch_size, 4U});
  ahead = std::min(more, static_cast<std::uint32_t>(target));
}

const HandlerFunction* WorkerQueue::handler_of(const std::string& type) const {
  if (!how.by_type.empty()) {
    const auto own = how.by_type.find(type);
    if (own != how.by_type.end()) return &own->second;
  }
  return how.any ? &how.any : nullptr;
}

RunMetrics WorkerQueue::metrics() const {
  return {.queue = how.queue,
          .stats = stats,
          .handled = handled,
          .completed = completed,
          .failed = failed,
          .timed_out = timed_out,
          .lost = lost,
          .refused = refused,
          .left = left,
          .slow_cycles = slow_cycles,
          .concurrency = how.concurrency,
          .running = busy,
          .waiting = static_cast<std::uint32_t>(waiting.size()),
          .abandoned = abandoned};
}

}  // namespace millrace::worker
