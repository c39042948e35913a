// From many callers to few commits: requests wait, are gathered into rounds, applied, and answered
// once the store has flushed them.
//
// Nothing is answered before the flush that covers it, not even a refusal that depended on what the
// store holds. Round n + 1 may be applied while round n is being flushed.
//
//   Ticket ticket = rounds.submit(put_request(caller, tasks, deadline, done), now, answers);
//   rounds.apply(now).deliver();
//   const auto applied = rounds.applied();
//   rounds.flushed(applied, store.flush()).deliver();
//
// A store that fails is not called any more, and every caller is told. A store that recovers is
// only away: the callers whose requests it had are told, since the fate of these is unknown; parked
// takes stay, new requests are tried, and the store is touched now and then until it is back.
//
// Deterministic: no threads, no clock. Nothing in here calls a completion; methods return what is
// to be answered, and deliver() answers it. broker/coalescer.h adds the threads.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "broker/callers.h"
#include "broker/request.h"
#include "broker/round.h"
#include "core/limits.h"
#include "core/values.h"
#include "store/fwd.h"

namespace millrace {

struct RoundsOptions {
  // A round ends before the request that would exceed one of these. A request that exceeds them
  // alone gets a round of its own.
  std::size_t items = 1000;
  std::size_t bytes = 4 * limits::mib;
  WaitingLimits waiting = {};
  std::size_t parked = 10'000;  // takes that wait for work; more are `limited`
  // How often parked takes look for what only time brings, and how often a store that is away is
  // tried.
  Duration poll{250};
  // Whether there is a queue of this name, for takes that may miss queues. Called where rounds are
  // applied. Empty: there are no such takes.
  QueueExists exists = {};
};

struct RoundsStats {
  std::uint64_t rounds = 0;      // applied
  std::uint64_t requests = 0;    // applied
  std::uint64_t items = 0;       // applied
  std::uint64_t refused = 0;     // at once, because too many waited
  std::uint64_t expired = 0;     // whose deadline passed before their round
  std::uint64_t given_back = 0;  // leases whose caller was gone
  std::size_t waiting = 0;
  std::size_t waiting_bytes = 0;
  std::size_t parked = 0;
  std::size_t held = 0;        // requests applied and not flushed yet
  std::size_t held_items = 0;  // their items
};

class Rounds {
 public:
  // The store must outlive this.
  explicit Rounds(Store& store, const RoundsOptions& options = {});

  // ---- Asking ----------------------------------------------------------------------------------

  // A refusal (`limited`, `too_large`, `unavailable`) goes to `refused`, and nothing is kept.
  Ticket submit(Request request, TimePoint now, Answers& refused);

  // The caller does not want the answer any more. What is not applied yet is dropped; tasks taken
  // are given back in the next round; what was put stays.
  Answers cancel(Ticket ticket);
  Answers leave(CallerId caller);
  // Gives back in the next round what a caller that is gone was answered with.
  void give_back(const WorkResult& result);
  // These queues may have work (or any queue): parked takes look for it in the next round.
  void hint(const std::vector<std::string>& queues);
  void hint_all() { hinted_all_ = true; }

  // ---- Running ---------------------------------------------------------------------------------

  // Gathers one round and applies it. Returns what needs no flush: missed deadlines, failures.
  Answers apply(TimePoint now);
  // Only the missed deadlines, while nothing is to be applied.
  Answers expire(TimePoint now);

  // How many rounds have been applied. Read it before a flush and hand it to flushed() afterwards.
  std::uint64_t applied() const { return applied_; }
  bool needs_flush() const { return applied_ > flushed_; }
  // The last round that is flushed.
  std::uint64_t durable() const { return flushed_; }
  // Answers the rounds up to and including `round`. After a flush that lacked space (`limited`)
  // they go on waiting, unless Rounds is closed. After a failed flush everything that was applied
  // is answered `unavailable` and, if the store does not recover, everything else, too.
  Answers flushed(std::uint64_t round, const Result<void>& result);

  // Refuses waiting, parked and new requests. What was applied is answered as usual: go on applying
  // and flushing until idle().
  Answers stop();

  // When apply() has something to do: a moment in the past if it has now, `never` if it needs a
  // request first.
  TimePoint next_wakeup() const;
  // The first deadline among requests that wait for their round.
  TimePoint next_deadline() const { return callers_.next_deadline().value_or(never); }
  // Nothing waits, nothing is parked, nothing is held: every request is answered.
  bool idle() const { return callers_.open() == 0 && give_backs_.empty(); }
  RoundsStats stats() const;
  std::size_t waiting() const { return callers_.waiting(); }
  std::size_t held_items() const { return stats_.held_items; }
  // Why the store is not called any more, once it has failed; if it recovers, why it is away. It is
  // back with the first flush of something that was applied since.
  std::optional<Error> failure() const { return failed_ ? closed_ : away_; }

  // ---- The steps of apply() --------------------------------------------------------------------

  // For a runner with a lock: run() may overlap with other methods, since it touches nothing they
  // touch; all others need the lock. One round at a time.
  Answers gather(TimePoint now, Round& round);
  void run(Round& round) { runner_.run(round); }
  Answers keep(Round& round);

 private:
  struct HeldRound {
    std::uint64_t round = 0;
    std::vector<Request*> requests = {};
    std::size_t items = 0;
  };

  void gone(const std::vector<Request*>& requests);
  void give_back_of(const Request& request);
  void hold(Round& round, Answers& out);
  void fail_round(Round& round, Answers& out);
  void answer_unknown(Request& request, Answers& out);
  void plan_looks(TimePoint now, Round& round);
  // For callers whose request the store had.
  Error unknown() const;
  void refuse(Request& request, Answers& out);
  void close(Error cause, Answers& out);
  void store_failed(const Error& cause, Answers& out);

  Callers callers_;
  RoundRunner runner_;
  RoundsOptions options_;
  const bool recovers_;
  std::optional<Duration> touch_every_;

  std::deque<HeldRound> held_;
  std::vector<Settlement> give_backs_;
  std::vector<Ticket> unpark_;   // parked takes whose caller is gone
  std::optional<Error> closed_;  // why nothing is accepted any more
  bool failed_ = false;          // the store has failed, and is not called again
  std::optional<Error> away_;    // why the store is away, if it is
  std::uint64_t failed_flushes_ = 0;
  std::uint64_t away_round_ = 0;  // the last round that the store may not have
  std::set<std::string> hinted_;
  bool hinted_all_ = false;
  TimePoint last_now_{};
  std::uint64_t applied_ = 0;
  std::uint64_t flushed_ = 0;
  // What keep() saw of the runner, which run() may be changing.
  std::size_t parked_ = 0;
  TimePoint parked_end_ = never;
  TimePoint next_poll_ = never;
  bool more_ = false;
  TimePoint next_touch_ = never;
  RoundsStats stats_;
};

}  // namespace millrace
