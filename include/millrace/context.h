// What a handler knows about the task it runs, and what it may do with it.
#pragma once

#include <millrace/fields.h>
#include <millrace/graph.h>
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
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

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

  // ---- Cost: for queues whose rates count what tasks cost ----
  // What this run has really cost, in place of what the task was put with: task().cost. The last
  // call counts, whatever the outcome is.
  void cost(std::uint32_t real);

  // ---- Steps: what a later run of the task need not do again ----
  //
  // Runs `call` and stores what it returns, before it returns that. In a later run, after a retry,
  // a lost worker or a wait, it returns what was stored and does not run `call`. Names are those of
  // the task's own steps: a run that uses one twice fails with `step_invalid`. Steps may run in
  // several threads at the same time. One that throws may be tried again in the same run.
  //
  //   const Receipt receipt = context.step("charge", [&] { return charge(order); });
  //   context.step("mail", [&] { send(receipt); });
  //
  // If the result cannot be stored, because the lease is lost or the worker stops, it throws a
  // TaskFailure, and a later run runs `call` again: a step runs at least once. All results together
  // may have 64 KiB; a result that takes them over that fails the task for good, because `call`
  // would run again each time. Store large results elsewhere and return their name.
  template <class Call>
  auto step(std::string_view name, Call&& call) -> std::invoke_result_t<Call>;

  // The same by hand: any text of up to 64 KiB, in place of what steps store. What was stored last,
  // by this run or an earlier one; empty: nothing.
  std::string checkpoint() const;
  // Returns once it is stored. `lease_lost`: stop, another worker may have the task.
  Result<void> checkpoint(std::string text);
  // What the task was released with, after an earlier run has returned Park; nullopt: nothing, or
  // its time was over.
  const std::optional<std::string>& answer() const { return task().answer; }

  // ---- The tasks that this one waited for ----
  // What came of them, in the order of the put, read from the store at each call. One that has been
  // removed has no state.
  Result<std::vector<Parent>> parents() const;

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
  // The JSON that a step has stored in an earlier run; nullopt: none.
  std::optional<std::string> begin_step(std::string_view name);
  void keep_step(std::string_view name, std::string_view json);
  // It threw, and may begin again.
  void forget_step(std::string_view name);

  worker::Run* run_;
};

template <class Call>
auto Context::step(std::string_view name, Call&& call) -> std::invoke_result_t<Call> {
  using T = std::invoke_result_t<Call>;
  const auto kept = begin_step(name);
  try {
    if constexpr (std::is_void_v<T>) {
      if (kept) return;
      std::forward<Call>(call)();
      keep_step(name, "null");
    } else {
      if (kept) {
        auto result = decode<T>(*kept);
        if (result) return *std::move(result);
        throw TaskFailure({.code = "step_unreadable",
                           .message = "what step " + std::string(name) +
                                      " has stored is of another type: " + result.error().message},
                          false);
      }
      T result = std::forward<Call>(call)();
      keep_step(name, encode(result));
      return result;
    }
  } catch (...) {
    forget_step(name);
    throw;
  }
}

}  // namespace millrace
