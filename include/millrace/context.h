// What a handler knows about the task it runs, and what it may do with it.
#pragma once

#include <millrace/fields.h>
#include <millrace/handler.h>
#include <millrace/ids.h>
#include <millrace/result.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <millrace/work.h>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace millrace {

namespace worker {
class Run;
}

// Why a handler is asked to stop.
enum class StopReason : std::uint8_t {
  none = 0,
  cancelled = 1,   // a caller cancelled the task
  timed_out = 2,   // its time is up
  lease_lost = 3,  // another worker may have the task by now: the outcome of this run is refused
  stopping = 4,    // the worker stops, and waits no longer
};

// Valid while the handler runs; its members may be called from several threads.
class Context {
 public:
  explicit Context(worker::Run& run) : run_(&run) {}

  // ---- The task ----
  const Lease& task() const;
  TaskId id() const { return task().id; }
  // 1 at first.
  std::uint32_t attempt() const { return task().counters.attempts + 1; }
  std::optional<TimePoint> previous_start() const { return task().previous_start; }
  std::optional<TimePoint> deadline() const;  // when the task times out

  // ---- Time and stopping ----
  //
  // A handler that stops early should throw, or return Failed or GiveBack: a plain return means
  // that the work is done, whatever the reason to stop was.
  TimePoint now() const;
  bool stop_requested() const { return stop_reason() != StopReason::none; }
  StopReason stop_reason() const;
  // Its callbacks run on the thread of the heartbeats: keep them short.
  std::stop_token stop_token() const;
  // Waits; false: the handler was asked to stop before the time was over. In App::step() virtual
  // time passes.
  bool wait_for(Duration time);

  // ---- Progress and log lines: sent with the next heartbeat ----
  void progress(double percent);  // 0 to 100
  void log(std::string line);

  // ---- Follow-ups: put in the same commit as the end of this task, or not at all ----
  // `invalid` if the settlement cannot hold it.
  Result<void> put(NewTask task);
  template <class T>
  Result<void> put(QueueRef queue, const T& payload, NewTask options = {}) {
    options.queue = std::move(queue);
    options.payload = encode(payload);
    return put(std::move(options));
  }

  // ---- The end ----
  // With automatic acknowledgement a return does this. A second call is a `conflict`. Returns when
  // the outcome is under way; with Acknowledge::manual when it is stored, with the state after it.
  Result<TaskState> settle(Outcome outcome);
  bool settled() const;

 private:
  worker::Run* run_;
};

}  // namespace millrace
