// Decides what the worker does; the worker without its threads.
//
// The dispatcher knows which tasks are here, which queue is next, which ends are to be sent, what
// to take next, and what is due: heartbeats, timeouts. It reads no clock and starts no thread. Its
// driver (the threads in worker.cc, or the caller's thread in step.cc) holds its lock, passes the
// time in, and does what it says.
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
#include "worker/chunk.h"
#include "worker/run.h"
#include "worker/turns.h"
#include "worker/worker.h"
#include "worker/worker_queue.h"

namespace millrace::worker {

struct Wanted {
  std::size_t queue_index = 0;
  std::uint32_t most = 0;
};

// A WorkOrder that is to be sent, or is under way.
struct Request {
  std::vector<RunPtr> reports = {};
  std::vector<RunPtr> extended = {};
  std::vector<Extension> extensions = {};  // in the order of `extended`
  std::vector<Wanted> wanted = {};
  bool apart = false;  // one take per queue, to learn which queue is refused
  Duration wait{};     // not zero: a poll
  Moment sent{};

  bool is_poll() const { return wait > Duration::zero(); }
};

// The tasks of an answer, sorted by queue. Made without the lock.
struct Arrived {
  std::vector<std::vector<RunPtr>> by_queue = {};
  WorkResult strays = {};  // tasks of queues that were not asked: to be given back
  Moment first_heartbeat = no_moment;
};

// An end that is stored, for the hooks.
struct StoredEnd {
  RunPtr run = {};
  TaskState state = TaskState::completed;
};

// What is due now. It is done without the lock, because it may run a handler's own code.
struct Due {
  std::vector<std::pair<RunPtr, StopReason>> stops = {};
  std::uint32_t abandoned = 0;  // threads that need a replacement
};

class Dispatcher {
 public:
  Dispatcher(const WorkerOptions& options, std::vector<QueueHandlers> queues, RunHost& host);
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  std::deque<WorkerQueue>& queues() { return queues_; }
  const std::deque<WorkerQueue>& queues() const { return queues_; }
  std::uint32_t processors() const { return processors_; }
  std::uint32_t busy() const { return busy_; }

  // ---- Chunks (dispatcher.cc) ----

  // Work for a free processor; null: there is none. `one_call`: a single call of a handler.
  ChunkPtr next_chunk(Moment now, bool one_call = false);
  // Whether a free processor would get work now.
  bool has_work() const;
  // The processor is free again; all calls of its chunk returned.
  void finished(const ChunkPtr& chunk);
  // A call that was abandoned has returned after all.
  void came_back(const Chunk& chunk);
  // One call of a handler has ended. Needs no lock.
  void note_cycle(Chunk& chunk, const Run& first, Moment handling) const;
  // Looks at chunks of several calls that take longer than they should: sends what has ended, and
  // lets other processors run what has not begun. With `all`, sends what has ended in every chunk.
  void collect(Moment now, bool all);
  // When collect() will find such a chunk.
  Moment next_collect() const;
  // The run has ended although its call goes on, and its handler waits for the answer.
  void collect(const RunPtr& run);

  // ---- Requests (requests.cc) ----

  // What to send now, if anything.
  std::optional<Request> next_request(Moment now, bool take = true);
  std::optional<Request> next_poll(Moment now);
  // Whether the polls under way ask for less than they should: the caller then leaves them and
  // polls again.
  bool should_replace_poll(Moment now);
  void poll_left();
  // The request as the broker takes it. Needs no lock.
  WorkOrder words_of(const Request& request) const;
  // The tasks of an answer as runs. Needs no lock.
  Arrived arrived(const Request& request, Result<WorkResult>& result, Moment now) const;
  void answered(Request& request, Result<WorkResult>& result, Arrived arrived, Moment now,
                std::vector<StoredEnd>& stored);
  // When next_request() or next_poll() may find something that they do not find now.
  Moment next_request_due(Moment now) const;
  bool paused(Moment now) const { return now < resume_at_; }
  // Whether a request or poll is under way, or an end waits to be sent.
  bool sending() const { return requests_out_ != 0 || !outbox_.empty(); }
  // Whether another request may be sent.
  bool may_send() const { return requests_out_ < options_.requests; }
  bool has_reports() const { return may_send() && !outbox_.empty(); }

  // ---- Upkeep (upkeep.cc) ----

  void look(Moment now, Due& due);
  // Heartbeats that are due; at most one such request is under way.
  std::optional<Request> next_heartbeats(Moment now);
  void heartbeats_answered(Request& heartbeats, Result<WorkResult>& result, Moment now, Due& due);
  // When look() or next_heartbeats() must be called again.
  Moment next_upkeep(Moment now) const;
  void assign(const std::vector<Assignment>& assignments);
  // The broker has answered another call. True: requests are worth another try.
  bool broker_answers();
  WorkerReport report() const;

  // ---- Stepping: one thread, no prefetch, no call is abandoned ----

  void begin_step();

  // ---- Stopping ----

  // Takes nothing more and gives back what was not begun.
  void shut_down();
  bool stopping() const { return stopping_; }
  std::vector<RunPtr> running() const;
  // Gives back what still runs, without waiting for the handlers. The result is the number of calls
  // that were abandoned.
  std::size_t give_up();
  // Drops the ends that could not be sent.
  void drop_all(const Error& why);
  // Since the start, or since the shut-down.
  std::uint64_t given_back() const { return given_back_; }

 private:
  friend class DispatcherTest;

  std::size_t chunk_size(const WorkerQueue& queue, bool one_call) const;
  std::vector<RunPtr> pick_runs(WorkerQueue& queue, std::size_t most,
                                std::vector<std::size_t>& ends, Moment now);
  void remove_chunk(const ChunkPtr& chunk);
  void give_back(const RunPtr& run);
  void give_back_waiting(WorkerQueue& queue);
  void count(WorkerQueue& queue, const Run& run);

  std::vector<Wanted> wanted(bool dry, Moment now) const;
  bool takes_nothing(const WorkerQueue& queue, Moment now) const;
  void settled(const RunPtr& run, const Result<Settled>& result, std::vector<StoredEnd>& stored,
               std::vector<RunPtr>& again);
  void refused(const RunPtr& run, const Error& error, std::vector<RunPtr>& again);
  void pause(const Error& error, Moment now);
  void take_answered(const Request& request, const Result<WorkResult>& result,
                     const Arrived& arrived, Moment now);
  void failed(Request& request, const Error& error, Moment now);
  void broker_is_there();
  void trim();
  // Whether ends cannot be stored now: their leases must last until they can.
  bool ends_wait() const { return broker_lost_ || requests_out_ != 0; }
  void extended(Request& request, Result<WorkResult>& result, Moment now, Due* due);

  void look_at(const ChunkPtr& chunk, Moment now, Due& due);
  bool should_abandon(const Chunk& chunk, const Chunk::Call& call, Moment now) const;
  void give_back_stale(WorkerQueue& queue, Moment now);
  void lost(const RunPtr& run, Due* due);
  Moment heartbeat_of(const Run& run) const;

  const WorkerOptions& options_;
  RunHost& host_;
  std::deque<WorkerQueue> queues_;
  Turns turns_;
  std::uint32_t processors_ = 0;
  std::uint32_t busy_ = 0;
  std::vector<ChunkPtr> chunks_;  // given out, not abandoned
  bool stopping_ = false;
  bool stepping_ = false;
  std::uint64_t given_back_ = 0;
  std::vector<RunPtr> given_up_;

  std::deque<RunPtr> outbox_;  // ended, to be sent
  std::uint32_t requests_out_ = 0;
  std::uint32_t polls_out_ = 0;
  bool heartbeats_out_ = false;
  std::size_t most_reports_ = 1000;  // halved when a whole request was refused
  bool apart_ = false;

  bool broker_lost_ = false;
  bool broker_away_ = false;  // the broker did not answer at all
  Moment resume_at_{};
  Moment pause_{};
  std::minstd_rand random_;
};

}  // namespace millrace::worker
