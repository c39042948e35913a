// Rounds with threads: many callers, one store.
//
// One thread applies rounds, another flushes and answers. There is no timer: an idle Coalescer
// starts at once, and while one flush runs the next rounds gather and are applied.
//
// Completions are called on one of these two threads; a refusal on the caller's own, before the
// verb returns, or on that of stop(). They may only post: while one runs, nobody else is answered.
// One that blocks, or that calls stop(), waits for itself. After leave() or cancel() a completion
// may still be called if it was on its way; leases that come with it are to be given back:
// give_back().
//
// Deadlines are moments of the clock: if that is set back, those who wait do so for longer.
#pragma once

#include <millrace/result.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "broker/request.h"
#include "broker/rounds.h"
#include "core/clock.h"
#include "core/metrics.h"
#include "core/mutex.h"
#include "store/store.h"

namespace millrace {

struct CoalescerOptions {
  RoundsOptions rounds = {};
  // Applied ahead of the flush, about: what is answered late at worst, and kept in memory.
  std::size_t ahead_items = 4000;
  // While a flush runs, requests wait for so many others before they are applied: their answers
  // wait for the next flush anyway, and waking a thread for each of them is dear.
  std::size_t company = 16;
};

struct CoalescerStats {
  RoundsStats rounds = {};
  HistogramSnapshot flush_seconds = {};
};

// Safe to use from several threads.
class Coalescer {
 public:
  // Both must outlive this. Nobody else may call the store meanwhile.
  Coalescer(Clock& clock, Store& store, const CoalescerOptions& options = {});
  Coalescer(const Coalescer&) = delete;
  Coalescer& operator=(const Coalescer&) = delete;
  ~Coalescer() { stop(); }

  // An id that no caller has had before.
  CallerId new_caller() { return {++last_caller_}; }

  // `deadline`: if its round has not begun by then, the request is `unavailable` and nothing was
  // changed. Once begun it is answered with the truth, however late.
  Ticket put(CallerId caller, std::vector<NewTask> tasks, TimePoint deadline,
             Completion<std::vector<Result<Put>>> done) {
    return submit(put_request(caller, std::move(tasks), deadline, std::move(done)));
  }
  Ticket work(CallerId caller, Work work, TimePoint deadline, Completion<WorkResult> done) {
    return submit(work_request(caller, std::move(work), deadline, std::move(done)));
  }
  // Any other call of the store, made on the thread that applies: see call_request().
  template <class T>
  Ticket call(CallerId caller, std::move_only_function<Result<T>(Store&, TimePoint)> call,
              TimePoint deadline, Completion<T> done, std::size_t bytes = 0) {
    return submit(call_request<T>(caller, std::move(call), deadline, std::move(done), bytes));
  }
  Ticket submit(Request request);

  // Nobody waits for the answer any more: what has not begun is dropped, and what takes alone
  // brought is given back. Everything else that has begun is answered as usual.
  void cancel(Ticket ticket);
  void leave(CallerId caller);
  // Gives back what a completion was called with for somebody who is not there any more.
  void give_back(const WorkResult& result);
  // What somebody else did may be work for parked takes. From any thread.
  void hint(const Hint& hint);
  // Calls `then` once everything is durable that was applied before this call, or is being applied:
  // with nothing, or with the error for which it may not be. On a thread of this, or before this
  // returns; it may only post.
  using Stored = std::move_only_function<void(const std::optional<Error>& failure)>;
  void when_stored(Stored then);
  // Whom to tell when the store goes away, with why, and when it is back, with nothing. Called
  // under a lock, so it may only post.
  void on_store(std::function<void(const std::optional<Error>&)> tell);

  // Refuses what comes and what waits, finishes what was applied, and ends the threads. Again is no
  // error. Not from a completion.
  void stop();

  CoalescerStats stats();
  // The error with which the store has failed, if it has, or is away, if it is.
  std::optional<Error> failure();

 private:
  void apply_rounds();
  void flush_rounds();
  // Whether a round is worth its while now.
  bool has_room() const REQUIRES(mutex_) { return rounds_.held_items() < options_.ahead_items; }
  bool has_company() const REQUIRES(mutex_);
  // Waits until there is something to apply, or to tell those who waited too long.
  void wait_for_work(TimePoint now) REQUIRES(mutex_);
  // Makes a change that may be work for the applier, and wakes it if so.
  template <class Change>
  void change(const Change& change);
  void run(Round& round);
  void tell_of_store() REQUIRES(mutex_);
  // Those of waiting_stored_ that may be told now.
  std::vector<Stored> take_stored() REQUIRES(mutex_);

  Clock& clock_;
  Store& store_;
  const CoalescerOptions options_;
  std::atomic<std::uint64_t> last_caller_ = 0;
  Histogram flush_seconds_;

  Mutex mutex_;
  Rounds rounds_ GUARDED_BY(mutex_);  // but for the time of Rounds::run()
  std::function<void(const std::optional<Error>&)> on_store_ GUARDED_BY(mutex_);
  bool away_ GUARDED_BY(mutex_) = false;  // as it was told
  bool stopping_ GUARDED_BY(mutex_) = false;
  bool applier_waits_ GUARDED_BY(mutex_) = false;  // for requests
  bool applier_done_ GUARDED_BY(mutex_) = false;
  bool applying_ GUARDED_BY(mutex_) = false;  // a round is
  // By the round that they wait for.
  std::vector<std::pair<std::uint64_t, Stored>> waiting_stored_ GUARDED_BY(mutex_);
  // Flushes, or answers: completions may ask for more.
  bool syncer_busy_ GUARDED_BY(mutex_) = false;
  Condition work_;     // for the applier
  Condition applied_;  // for the syncer

  Mutex join_mutex_;
  std::thread applier_;
  std::thread syncer_;
};

}  // namespace millrace
