// One queue as this worker sees it: how it is worked, what of it is here, and how it fares.
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

struct Line {
  explicit Line(QueueHandlers handlers);

  QueueHandlers how;
  std::deque<RunPtr> waiting = {};  // taken ahead
  std::uint32_t busy = 0;           // processors at work on it
  std::uint32_t abandoned = 0;      // calls that do not come back
  std::optional<std::uint32_t> assigned = std::nullopt;

  // ---- Taking ----
  std::uint32_t ordered = 0;  // wanted by orders that are on their way
  std::uint32_t polled = 0;   // wanted by a poll that is on its way
  bool dry = false;           // it had less than was wanted
  Moment refused_until{};     // a take of it was refused
  Moment refusal_pause{};
  bool stuck = false;  // too many calls do not come back: nothing is taken

  // ---- Measuring ----
  double mean = 0;          // nanoseconds a task; 0: not known
  std::uint32_t ahead = 0;  // how many to take ahead, where that is not said

  // ---- Figures ----
  HandlerStats stats = {};
  std::uint64_t handled = 0;
  Moment rest{};  // of its duration, less than a millisecond
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
  std::uint64_t timed_out = 0;
  std::uint64_t lost = 0;
  std::uint64_t refused = 0;
  std::uint64_t left = 0;
  std::uint64_t slow_cycles = 0;
  mutable Histogram cycles;  // counts without the lock

  // How many processors may work on it.
  std::uint32_t limit() const;
  std::uint32_t slots() const { return limit() - std::min(busy, limit()); }
  // Tasks that the free slots, or the calls of so many processors, have room for.
  std::size_t room_of(std::size_t calls) const { return calls * how.batch_size; }
  std::size_t calls_waiting() const {
    return (waiting.size() + how.batch_size - 1) / how.batch_size;
  }
  std::size_t most_ahead() const;

  // A task took so long on average.
  void measured(double nanoseconds);
  // Everything that was asked for has come: more may be asked for.
  void grow();
  // Null: no handler for this type.
  const HandlerFunction* handler_of(const std::string& type) const;
  RunFigures figures() const;
};

}  // namespace millrace::worker
