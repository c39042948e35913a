// One task in the hands of this worker, from the take to the stored end.
//
// What its handler says (through Context) and what the worker does to it meet here: who speaks
// first about the end is heard, everybody later is not. Safe from several threads.
#pragma once

#include <millrace/context.h>
#include <millrace/handler.h>
#include <millrace/result.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <millrace/work.h>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/mutex.h"

namespace millrace::worker {

// Of Clock::steady(): what the worker measures and plans by.
using Moment = std::chrono::nanoseconds;
inline constexpr Moment no_moment = Moment::max();

class Run;

// What runs need of the worker they are in. Empty functions are not called.
struct RunHost {
  std::function<TimePoint()> now = {};
  std::function<Moment()> steady = {};
  // Lets time pass where nobody else does, in step(); returns early when the run is to stop. False:
  // time passes by itself.
  std::function<bool(Run&, Duration)> pass_time = {};
  // The run has ended, or has something to tell before it does.
  std::function<void(Run&)> ended = {};
  std::function<void(Run&)> has_signs = {};
  // Sends what has ended, where no other thread does: in step().
  std::function<Result<void>()> send = {};
};

// How a run ended, in the words that are sent.
struct Ending {
  Outcome outcome = {};
  std::vector<NewTask> follow_ups = {};
  bool by_handler = true;  // false: the worker gave it back, it was never begun or never came back
};

// What a running task tells with its next heartbeat.
struct Signs {
  std::optional<double> progress = std::nullopt;
  std::vector<std::string> log = {};
};

class Run : public std::enable_shared_from_this<Run> {
 public:
  Run(Lease lease, std::size_t line, const RunHost& host, std::optional<Duration> timeout,
      Acknowledge acknowledge);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  const Lease lease;
  const std::size_t line;  // the index of its queue
  const std::optional<Duration> timeout;

  // ---- Kept by the dispatcher, under its lock ----
  Moment received{};       // when it came
  Moment taken_in{};       // how long its take took
  Moment length{};         // of its lease
  Moment extend_at{};      // when its next heartbeat is due
  Moment told_at{};        // when its signs were last sent
  bool telling = false;    // a heartbeat with its signs is on its way
  bool collected = false;  // its end is known to the dispatcher
  bool reported = false;   // its refusal was reported as a failure

  // ---- Its handler, through Context ----
  const RunHost& host() const { return host_; }
  std::optional<TimePoint> deadline() const;
  StopReason stop_reason() const { return reason_.load(std::memory_order_acquire); }
  std::stop_token stop_token();
  bool wait_for(Duration time);
  void progress(double percent);
  void log(std::string line);
  Result<void> put(NewTask task);
  Result<TaskState> settle(Outcome outcome);
  bool settled() const;

  // ---- The worker ----
  void begin(Moment now) { started_.store(now, std::memory_order_release); }
  // no_moment: not begun.
  Moment started() const { return started_.load(std::memory_order_acquire); }
  // When its time is up; no_moment: never.
  Moment time_up() const;
  // The first reason stays, but a lost lease is news in any case. False: nothing new.
  bool ask_to_stop(StopReason reason);
  // Waits while time passes by itself; false: it is to stop.
  bool wait_until(Moment moment);

  // Speaks for a run that has not ended: without what the handler wanted to follow, unless it
  // returned. False: somebody spoke before.
  bool end(Outcome outcome, bool returned, bool by_handler = true);
  // Nothing will be sent for it any more: its lease is lost, or nobody is there to send it.
  void drop(Error why);
  // The handler's end as an exception, or the text of an unknown one, means it.
  void end_by_failure(Failed failure);

  // The end, once there is one and until it is dropped.
  bool has_ending() const;
  // Only after has_ending(), and while nobody else may drop or reopen it.
  const Ending& ending() const NO_THREAD_SAFETY_ANALYSIS { return *ending_; }
  void replace_ending(Outcome outcome);
  // What was sent came back: told to a handler that waits for it. A refusal opens the run again
  // for a handler that acknowledges by itself; then true.
  bool answered(const Result<Settled>& settled);

  bool has_signs() const { return signs_waiting_.load(std::memory_order_acquire); }
  Signs take_signs();
  void return_signs(Signs signs);  // they could not be sent
  bool manual() const { return acknowledge_ == Acknowledge::manual; }

 private:
  void close(Outcome outcome, bool with_follow_ups, bool by_handler) REQUIRES(mutex_);
  bool too_late(const Outcome& outcome) const;
  Outcome heard(Outcome outcome) const;
  Result<TaskState> wait_until_stored() REQUIRES(mutex_);

  const RunHost& host_;
  const Acknowledge acknowledge_;
  std::atomic<Moment> started_ = no_moment;
  std::atomic<StopReason> reason_ = StopReason::none;
  std::atomic<bool> signs_waiting_ = false;

  mutable Mutex mutex_;
  Condition changed_;
  std::optional<std::stop_source> stop_ GUARDED_BY(mutex_);
  bool closed_ GUARDED_BY(mutex_) = false;
  std::optional<Ending> ending_ GUARDED_BY(mutex_);
  std::optional<Result<Settled>> answer_ GUARDED_BY(mutex_);
  std::vector<NewTask> follow_ups_ GUARDED_BY(mutex_);
  std::size_t follow_up_bytes_ GUARDED_BY(mutex_) = 0;
  Signs signs_ GUARDED_BY(mutex_);
};

using RunPtr = std::shared_ptr<Run>;

// "timed out after 30 s"
TaskError timeout_error(const Run& run);

}  // namespace millrace::worker
