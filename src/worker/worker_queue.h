// One queue as this worker sees it: its handlers, its prefetched tasks, and its metrics.
#pragma once

#include <millrace/time.h>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "core/metrics.h"
#include "worker/run.h"
#include "worker/worker.h"

namespace millrace::worker {

struct WorkerQueue {
  explicit WorkerQueue(QueueHandlers handlers);

  QueueHandlers how;
  std::deque<RunPtr> waiting = {};  // prefetched
  std::uint32_t busy = 0;           // processors at work on it
  std::uint32_t abandoned = 0;      // calls that do not return
  std::optional<std::uint32_t> assigned = std::nullopt;

  // ---- Taking ----
  std::uint32_t requested = 0;  // asked for by requests under way
  std::uint32_t polled = 0;     // asked for by a poll under way
  bool dry = false;             // the last take got less than it asked for
  Moment refused_until{};       // a take of it was refused
  Moment refusal_pause{};
  bool stuck = false;  // too many calls do not return: nothing is taken

  // ---- Measuring ----
  double mean = 0;          // nanoseconds per task; 0: not known
  std::uint32_t ahead = 0;  // how many to prefetch, without a prefetch setting

  // ---- Metrics ----
  HandlerStats stats = {};
  std::uint64_t handled = 0;  // tasks whose handler ended, well or not
  Moment rest{};              // of its duration, what is left below a millisecond
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
  std::uint64_t timed_out = 0;
  std::uint64_t lost = 0;
  std::uint64_t refused = 0;
  std::uint64_t left = 0;
  std::uint64_t slow_cycles = 0;
  mutable Histogram cycles;  // observed without the lock

  // How many processors may work on it.
  std::uint32_t limit() const;
  std::uint32_t slots() const { return limit() - std::min(busy, limit()); }
  // How many tasks that many calls have room for.
  std::size_t room_of(std::size_t calls) const { return calls * how.batch_size; }
  std::size_t calls_waiting() const {
    return (waiting.size() + how.batch_size - 1) / how.batch_size;
  }
  std::size_t most_ahead() const;

  // The average time of the tasks that just ended.
  void measured(double nanoseconds);
  // A take got everything it asked for: the next may ask for more.
  void grow();
  // Null: no handler for this type.
  const HandlerFunction* handler_of(const std::string& type) const;
  RunMetrics metrics() const;
};

}  // namespace millrace::worker
