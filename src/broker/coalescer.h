// Rounds with threads: many callers, one store.
//
// One thread applies rounds, another flushes and answers. There is no timer: an idle Coalescer
// starts at once, and while one flush runs, the next rounds are gathered and applied.
//
// Completions are called on one of these two threads; refusals on the caller's own thread before
// the verb returns, or on the thread that calls stop(). Completions may only post: while one runs,
// no other is called. One that blocks, or calls stop(), waits for itself. After leave() or
// cancel(), a completion that was already on its way may still be called; leases that come with it
// must be given back with give_back().
//
// Deadlines are moments of the clock: if the clock is set back, callers wait longer.
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

#include "broker/call_on.h"
#include "broker/request.h"
#include "broker/rounds.h"
#include "core/clock.h"
#include "core/metrics.h"
#include "core/mutex.h"
#include "core/values.h"
#include "store/fwd.h"

namespace millrace {

struct CoalescerOptions {
  RoundsOptions rounds = {};
  // About how much is applied ahead of the flush: it bounds memory, and how late answers can be.
  std::size_t ahead_items = 4000;
  // While a flush runs, requests wait until there are this many before they are applied: their
  // answers wait for the next flush anyway, and waking a thread for each of them is expensive.
  std::size_t company = 16;
};

struct CoalescerStats {
  RoundsStats rounds = {};
  HistogramSnapshot flush_seconds = {};
};

// Safe to use from several threads.
class Coalescer {
 public:
  // Both must outlive this. No other code may call the store meanwhile.
  Coalescer(Clock& clock, Store& store, const CoalescerOptions& options = {});
  Coalescer(const Coalescer&) = delete;
  Coalescer& operator=(const Coalescer&) = delete;
  ~Coalescer() { stop(); }

  // An id that no caller has had before.
  CallerId new_caller() { return {++last_caller_}; }

  // `deadline`: if its round has not begun by then, the request is `unavailable` and nothing was
  // changed. Once begun, it is answered with its result, however late.
  Ticket put(CallerId caller, std::vector<NewTask> tasks, TimePoint deadline,
             Completion<std::vector<Result<Put>>> done) {
    return submit(put_request(caller, std::move(tasks), deadline, std::move(done)));
  }
  Ticket work(CallerId caller, Work work, TimePoint deadline, Completion<WorkResult> done) {
    return submit(work_request(caller, std::move(work), deadline, std::move(done)));
  }
  // Any other call of the store, made on the thread that applies: see call_request().
  template <class T>
  Ticket call(CallerId caller, StoreCall<Result<T>> call, TimePoint deadline, Completion<T> done,
              std::size_t bytes = 0) {
    return submit(call_request<T>(caller, std::move(call), deadline, std::move(done), bytes));
  }
  Ticket submit(Request request);

  // The caller does not want the answer any more: a request that has not begun is dropped, and
  // tasks from one that only takes are given back. Any other request that has begun is answered as
  // usual.
  void cancel(Ticket ticket);
  void leave(CallerId caller);
  // Gives back what a completion received for a caller that is not there any more.
  void give_back(const WorkResult& result);
  // Another process may have made work for parked takes. From any thread.
  void hint(const Hint& hint);
  // Calls `then` once everything is durable that was applied before this call or is being applied
  // during it, by other processes too if they share the store: with nullopt, or with the error
  // because of which it may not be durable. `then` runs on a thread of the Coalescer, or before
  // this returns; it may only post.
  using Stored = std::move_only_function<void(const std::optional<Error>& failure)>;
  void when_stored(Stored then);
  // `tell` is called when the store goes away, with the reason, and with nullopt when the store is
  // back. It is called under a lock, so it may only post.
  void on_store(std::function<void(const std::optional<Error>&)> tell);

  // Refuses new and waiting requests, finishes what was applied, and ends the threads. May be
  // called again. Not from a completion.
  void stop();

  CoalescerStats stats();
  // The error with which the store has failed, or because of which it is away.
  std::optional<Error> failure();

 private:
  void apply_rounds();
  void flush_rounds();
  // Whether a round is worth applying now.
  bool has_room() const REQUIRES(mutex_) { return rounds_.held_items() < options_.ahead_items; }
  bool has_company() const REQUIRES(mutex_);
  // Waits until there is something to apply, or a deadline has passed.
  void wait_for_work(TimePoint now) REQUIRES(mutex_);
  // Makes a change that may be work for the applier, and wakes it if so.
  template <class Change>
  void change(const Change& change);
  void run(Round& round);
  void tell_of_store() REQUIRES(mutex_);
  // The callbacks of waiting_stored_ that may be called now.
  std::vector<Stored> take_stored() REQUIRES(mutex_);

  // Whether there is anything to flush.
  bool needs_flush() const REQUIRES(mutex_) {
    return rounds_.needs_flush() || flush_wanted_ > flushes_over_;
  }

  Clock& clock_;
  Store& store_;
  const CoalescerOptions options_;
  const bool shared_;  // other processes change the store, too
  std::atomic<std::uint64_t> last_caller_ = 0;
  Histogram flush_seconds_;

  Mutex mutex_{LockRank::rounds};
  Rounds rounds_ GUARDED_BY(mutex_);  // except during Rounds::run()
  std::function<void(const std::optional<Error>&)> on_store_ GUARDED_BY(mutex_);
  bool away_ GUARDED_BY(mutex_) = false;  // as last reported to on_store()
  bool stopping_ GUARDED_BY(mutex_) = false;
  bool applier_waits_ GUARDED_BY(mutex_) = false;  // for requests
  bool applier_done_ GUARDED_BY(mutex_) = false;
  bool applying_ GUARDED_BY(mutex_) = false;  // a round is
  struct WaitingStored {
    std::uint64_t round = 0;  // that must be durable
    std::uint64_t flush = 0;  // that must be over; only if other processes share the store
    Stored then;
  };
  std::vector<WaitingStored> waiting_stored_ GUARDED_BY(mutex_);
  std::uint64_t flushes_begun_ GUARDED_BY(mutex_) = 0;
  std::uint64_t flushes_over_ GUARDED_BY(mutex_) = 0;
  std::uint64_t flush_wanted_ GUARDED_BY(mutex_) = 0;  // by waiting_stored_
  bool syncer_done_ GUARDED_BY(mutex_) = false;
  // Flushes, or answers: completions may ask for more.
  bool syncer_busy_ GUARDED_BY(mutex_) = false;
  Condition work_;     // for the applier
  Condition applied_;  // for the syncer

  Mutex join_mutex_;
  std::thread applier_;
  std::thread syncer_;
};

}  // namespace millrace
