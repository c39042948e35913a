// Who works on what: the worker without its threads.
//
// It knows which tasks are here, whose turn it is, what has ended and is to be sent, what is to be
// asked for next, and what is due: heartbeats, timeouts. It reads no clock and starts nothing;
// whoever drives it (threads in worker.cc, one caller's thread in step.cc) holds its lock, passes
// the time, and does what it says.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <millrace/work.h>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "broker/broker.h"
#include "worker/hand.h"
#include "worker/line.h"
#include "worker/run.h"
#include "worker/turns.h"
#include "worker/worker.h"

namespace millrace::worker {

struct Wanted {
  std::size_t line = 0;
  std::uint32_t most = 0;
};

// A WorkOrder that is to be sent, or on its way.
struct Order {
  std::vector<RunPtr> reports = {};
  std::vector<RunPtr> extended = {};
  std::vector<Extension> extensions = {};  // by `extended`
  std::vector<Wanted> wanted = {};
  bool apart = false;  // a take for each queue, to learn which is refused
  Duration wait{};     // not zero: a poll
  Moment sent{};

  bool is_poll() const { return wait > Duration::zero(); }
};

// What an answer has brought, still to be put into place. Made without the lock.
struct Arrived {
  std::vector<std::vector<RunPtr>> by_line = {};
  WorkResult strays = {};  // of queues that were not asked: to be given back
  Moment first_heartbeat = no_moment;
};

// An end that is stored, for the hooks.
struct Told {
  RunPtr run = {};
  TaskState state = TaskState::completed;
};

// What is due now, to be done without the lock: a handler's own code may be behind it.
struct Due {
  std::vector<std::pair<RunPtr, StopReason>> stops = {};
  std::uint32_t abandoned = 0;  // threads that need a successor
};

class Dispatcher {
 public:
  Dispatcher(const WorkerOptions& options, std::vector<QueueHandlers> queues, const RunHost& host);
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  std::deque<Line>& lines() { return lines_; }
  const std::deque<Line>& lines() const { return lines_; }
  std::uint32_t processors() const { return processors_; }
  std::uint32_t busy() const { return busy_; }

  // ---- Hands (dispatcher.cc) ----

  // Work for a free processor; null: there is none. `one_call`: and no more than that.
  HandPtr next_hand(Moment now, bool one_call = false);
  // Whether a free processor would get something now.
  bool has_work() const;
  // Its processor is free again; all its calls came back.
  void finished(const HandPtr& hand);
  // A call that was abandoned has come back after all.
  void came_back(const Hand& hand);
  // One call of a handler has ended. Needs no lock.
  void note_cycle(Hand& hand, const Run& first, Moment handling) const;
  // Looks at hands of several calls that take longer than they should: what has ended is sent, what
  // has not begun is for others to run. With `all`, takes what has ended out of every hand.
  void collect(Moment now, bool all);
  // When collect() will find such a hand.
  Moment next_collect() const;
  // This run has ended although its call goes on, and its handler waits for the answer.
  void collect(const RunPtr& run);

  // ---- Orders (orders.cc) ----

  // What to send now, if anything.
  std::optional<Order> next_order(Moment now, bool take = true);
  std::optional<Order> next_poll(Moment now);
  // The polls on their way do not ask for all that they should: leave them, and ask again.
  bool should_replace_poll(Moment now);
  void poll_left();
  // The order in the broker's words. Needs no lock.
  WorkOrder words_of(const Order& order) const;
  // The tasks of an answer as runs. Needs no lock.
  Arrived arrived(const Order& order, Result<WorkResult>& result, Moment now) const;
  void answered(Order& order, Result<WorkResult>& result, Arrived arrived, Moment now,
                std::vector<Told>& told);
  // When next_order() or next_poll() may find something that they do not find now.
  Moment next_order_due(Moment now) const;
  bool paused(Moment now) const { return now < resume_at_; }
  // Whether an order or poll is on its way, or an end waits to be sent.
  bool sending() const { return orders_out_ != 0 || !outbox_.empty(); }
  // No order is on its way: what has changed may call for one.
  bool may_send() const { return orders_out_ < options_.orders; }
  bool has_reports() const { return may_send() && !outbox_.empty(); }

  // ---- Upkeep (upkeep.cc) ----

  void look(Moment now, Due& due);
  // Heartbeats that are due; at most one such order is on its way.
  std::optional<Order> next_pulse(Moment now);
  void pulse_answered(Order& pulse, Result<WorkResult>& result, Moment now, Due& due);
  // When look() or next_pulse() must be called again.
  Moment next_upkeep(Moment now) const;
  void assign(const std::vector<Assignment>& assignments);
  // It has answered something else. True: so orders are worth another try.
  bool broker_answers();
  WorkerReport report() const;

  // ---- Stepping: one thread, nothing ahead, nobody is given up ----

  void begin_step();

  // ---- Stopping ----

  // Takes no more and gives back what was not begun.
  void shut_down();
  bool stopping() const { return stopping_; }
  std::vector<RunPtr> running() const;
  // Gives back what still runs, and counts on nobody to come back. The result is how many calls
  // those were.
  std::size_t give_up();
  // What could not be sent will not be.
  void drop_all(const Error& why);
  // Since the start, or since the shut-down.
  std::uint64_t given_back() const { return given_back_; }

 private:
  friend class DispatcherTest;

  std::size_t hand_size(const Line& line, bool one_call) const;
  std::vector<RunPtr> pick_runs(Line& line, std::size_t most, std::vector<std::size_t>& ends,
                                Moment now);
  void unhand(const HandPtr& hand);
  void give_back(const RunPtr& run);
  void give_back_waiting(Line& line);
  void count(Line& line, const Run& run);

  std::vector<Wanted> wanted(bool dry, Moment now) const;
  bool takes_nothing(const Line& line, Moment now) const;
  void settled(const RunPtr& run, const Result<Settled>& result, std::vector<Told>& told,
               std::vector<RunPtr>& again);
  void refused(const RunPtr& run, const Error& error, std::vector<RunPtr>& again);
  void pause(const Error& error, Moment now);
  void take_answered(const Order& order, const Result<WorkResult>& result, const Arrived& arrived,
                     Moment now);
  void failed(Order& order, const Error& error, Moment now);
  void broker_is_there();
  void trim();
  // What has ended cannot be stored now: its leases must last until it can.
  bool ends_wait() const { return broker_lost_ || orders_out_ != 0; }
  void extended(Order& order, Result<WorkResult>& result, Moment now, Due* due);

  void look_at(const HandPtr& hand, Moment now, Due& due);
  bool should_abandon(const Hand& hand, const Hand::Call& call, Moment now) const;
  void give_back_stale(Line& line, Moment now);
  void lost(const RunPtr& run, Due* due);
  Moment heartbeat_of(const Run& run) const;

  const WorkerOptions& options_;
  const RunHost& host_;
  std::deque<Line> lines_;
  Turns turns_;
  std::uint32_t processors_ = 0;
  std::uint32_t busy_ = 0;
  std::vector<HandPtr> hands_;  // given out, not abandoned
  bool stopping_ = false;
  bool stepping_ = false;
  std::uint64_t given_back_ = 0;
  std::vector<RunPtr> given_up_;

  std::deque<RunPtr> outbox_;  // ended, to be sent
  std::uint32_t orders_out_ = 0;
  std::uint32_t polls_out_ = 0;
  bool pulse_out_ = false;
  std::size_t most_reports_ = 1000;  // halved when an order was refused whole
  bool apart_ = false;

  bool broker_lost_ = false;
  bool broker_away_ = false;  // it did not answer at all
  Moment resume_at_{};
  Moment pause_{};
  std::minstd_rand random_;
};

}  // namespace millrace::worker
