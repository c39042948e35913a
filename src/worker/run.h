// One task in this worker, from the take to the stored end.
//
// The handler (through Context) and the worker may both end a run; the first one wins. Thread-safe.
#pragma once

#include <millrace/context.h>
#include <millrace/graph.h>
#include <millrace/handler.h>
#include <millrace/result.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <millrace/work.h>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/mutex.h"

namespace millrace::worker {

// A reading of Clock::steady(), by which the worker measures and plans.
using Moment = std::chrono::nanoseconds;
inline constexpr Moment no_moment = Moment::max();

class Run;

// What runs need from their worker. Called on the threads of handlers, also of handlers that
// outlive the worker.
class RunHost {
 public:
  virtual ~RunHost() = default;

  virtual TimePoint wall_time() = 0;
  virtual Moment steady_time() = 0;
  // Lets time pass in step(), where no other thread does; returns early when the run is to stop.
  // False: time passes by itself.
  virtual bool let_time_pass(Run& run, Duration time) = 0;
  // The run has ended while its call goes on.
  virtual void run_ended(Run& run) = 0;
  // The run has progress or log lines to send.
  virtual void run_has_signs(Run& run) = 0;
  // The tasks that this one waited for.
  virtual Result<std::vector<Parent>> parents(const TaskId& task) = 0;
  // Sends what has ended, in step(), where no other thread does.
  virtual Result<void> send_ended() = 0;
};

// How a run ended, as it is sent to the broker.
struct Ending {
  Outcome outcome = {};
  std::vector<NewTask> follow_ups = {};
  std::optional<std::uint32_t> cost = std::nullopt;
  bool by_handler =
      true;  // false: the worker gave it back, because it was never begun or did not return
};

// What the next heartbeat of a running task carries.
struct Signs {
  std::optional<double> progress = std::nullopt;
  std::vector<std::string> log = {};
  std::optional<std::string> checkpoint = std::nullopt;
};

class Run : public std::enable_shared_from_this<Run> {
 public:
  Run(Lease lease, std::size_t queue_index, RunHost& host, std::optional<Duration> timeout,
      Acknowledge acknowledge);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  const Lease lease;
  const std::size_t queue_index;
  const std::optional<Duration> timeout;

  // ---- Kept by the dispatcher, under its lock ----
  Moment received{};       // when it came
  Moment taken_in{};       // how long its take took
  Moment length{};         // of its lease
  Moment extend_at{};      // when its next heartbeat is due
  Moment sent_at{};        // when its signs were last sent
  Moment silent_until{};   // after a heartbeat that was not answered
  bool sending = false;    // a heartbeat with its signs is on its way
  bool collected = false;  // its end is known to the dispatcher
  bool reported = false;   // its refusal was reported as a failure

  // ---- Its handler, through Context ----
  RunHost& host() const { return host_; }
  std::optional<TimePoint> deadline() const;
  StopReason stop_reason() const { return reason_.load(std::memory_order_acquire); }
  std::stop_token stop_token();
  bool wait_for(Duration time);
  void progress(double percent);
  void log(std::string line);
  void cost(std::uint32_t real);
  std::string checkpoint() const;
  // Sends a checkpoint and waits until it is stored.
  Result<void> save(std::string checkpoint);
  // Steps, as steps.h keeps them in the checkpoint. Each throws a TaskFailure where steps.h does.
  //
  // What the step has stored in an earlier run; nullopt: nothing yet. Refuses a name that the run
  // has used already.
  std::optional<std::string> begin_step(std::string_view step);
  // Adds a result to the checkpoint and waits until it is stored.
  Result<void> save_step(std::string_view step, std::string_view json);
  void forget_step(std::string_view step);  // it threw, and may begin again
  Result<void> put(NewTask task);
  Result<TaskState> settle(Outcome outcome);
  bool settled() const;

  // ---- The worker ----
  void begin(Moment now) { started_.store(now, std::memory_order_release); }
  // no_moment: not begun.
  Moment started() const { return started_.load(std::memory_order_acquire); }
  // When its time is up; no_moment: never.
  Moment time_up() const;
  // The first reason stays, but a lost lease always replaces it. False: nothing has changed.
  bool ask_to_stop(StopReason reason);
  // Waits in real time; false: the run is to stop.
  bool wait_until(Moment moment);

  // Ends a run that has not ended. Its follow-ups are kept only if the handler returned. False: it
  // had ended before.
  bool end(Outcome outcome, bool returned, bool by_handler = true);
  // Nothing is sent for this run any more: its lease is lost, or the worker cannot send it.
  void drop(Error why);
  // Ends the run with what a handler threw.
  void end_by_failure(Failed failure);

  // Whether there is an end that is not dropped.
  bool has_ending() const;
  // Only after has_ending(), and while no other thread may drop or reopen the run.
  const Ending& ending() const NO_THREAD_SAFETY_ANALYSIS { return *ending_; }
  void replace_ending(Outcome outcome);
  // The broker answered: passes the answer to a handler that waits for it. True: the end was
  // refused and the run is open again, for a handler that acknowledges by itself.
  bool answered(const Result<Settled>& settled);

  bool has_signs() const { return signs_waiting_.load(std::memory_order_acquire); }
  // A handler waits for them to be stored.
  bool has_urgent_signs() const { return checkpoint_waiting_.load(std::memory_order_acquire); }
  // A checkpoint was sent, and this is the answer.
  void saved(const std::string& checkpoint, const Result<Extended>& answer);
  Signs take_signs();
  void return_signs(Signs signs);  // they could not be sent
  bool manual() const { return acknowledge_ == Acknowledge::manual; }

 private:
  void close(Outcome outcome, bool with_follow_ups, bool by_handler) REQUIRES(mutex_);
  bool too_late(const Outcome& outcome) const;
  Outcome heard(Outcome outcome) const;
  Result<TaskState> wait_until_stored() REQUIRES(mutex_);
  // The number of the save.
  Result<std::uint64_t> ask_to_save(std::string checkpoint) REQUIRES(mutex_);
  Result<void> wait_until_saved(const Result<std::uint64_t>& save);

  RunHost& host_;
  const Acknowledge acknowledge_;
  std::atomic<Moment> started_ = no_moment;
  std::atomic<StopReason> reason_ = StopReason::none;
  std::atomic<bool> signs_waiting_ = false;
  std::atomic<bool> checkpoint_waiting_ = false;

  mutable Mutex mutex_{LockRank::run};
  Condition changed_;
  std::optional<std::stop_source> stop_ GUARDED_BY(mutex_);
  bool closed_ GUARDED_BY(mutex_) = false;
  std::optional<Ending> ending_ GUARDED_BY(mutex_);
  std::optional<Result<Settled>> answer_ GUARDED_BY(mutex_);
  std::vector<NewTask> follow_ups_ GUARDED_BY(mutex_);
  std::optional<std::uint32_t> cost_ GUARDED_BY(mutex_);
  std::size_t follow_up_bytes_ GUARDED_BY(mutex_) = 0;
  Signs signs_ GUARDED_BY(mutex_);
  // Checkpoints are counted: a later one replaces one that was not sent yet.
  std::string checkpoint_ GUARDED_BY(mutex_);   // the last that is stored
  std::string wanted_ GUARDED_BY(mutex_);       // the last that was asked for
  std::uint64_t saves_ GUARDED_BY(mutex_) = 0;  // asked for
  std::uint64_t sent_saves_ GUARDED_BY(mutex_) = 0;
  std::uint64_t answered_saves_ GUARDED_BY(mutex_) = 0;
  Result<void> save_answer_ GUARDED_BY(mutex_);        // to the last that was answered
  std::vector<std::string> steps_ GUARDED_BY(mutex_);  // of this run
};

using RunPtr = std::shared_ptr<Run>;

// The heartbeat that carries these signs, and what is to be sent again of one that was not
// answered.
Extension extension_of(const Run& run, Signs signs);
Signs signs_of(Extension extension);

// "timed out after 30 s"
TaskError timeout_error(const Run& run);

}  // namespace millrace::worker
