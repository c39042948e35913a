// The worker with its threads: a feeder that talks to the broker, processors that run handlers, a
// keeper that keeps time. They share a Dispatcher under one lock. No thread holds the lock while it
// talks to the broker or runs user code.
//
// A thread whose handler does not return keeps this object alive, so it outlives the Worker.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "broker/broker.h"
#include "core/clock.h"
#include "core/mutex.h"
#include "worker/dispatcher.h"
#include "worker/worker.h"

namespace millrace::worker {

struct Worker::Parts : RunHost, std::enable_shared_from_this<Worker::Parts> {
  Parts(Clock& its_clock, Broker& its_broker, WorkerOptions its_options,
        std::vector<QueueHandlers> queues);

  // ---- worker.cc ----
  void start();
  void shut_down();
  Stopped graceful_stop(Duration limit);
  void wait_until(Moment end, const std::function<bool()>& condition) REQUIRES(mutex);
  void ask_all_to_stop() REQUIRES(mutex);
  void end_threads() REQUIRES(mutex);

  // ---- What runs need (worker.cc, processors.cc) ----
  // From the clock; handlers that outlive the worker get the last known time.
  TimePoint wall_time() override;
  Moment steady_time() override;
  bool let_time_pass(Run& run, Duration time) override;
  void run_ended(Run& run) override;
  void run_has_signs(Run& run) override;
  Result<std::vector<Parent>> parents(const TaskId& task) override;
  Result<void> send_ended() override;

  Ask ask(CallerId caller) const { return {.caller = caller, .internal = options.internal}; }

  // ---- processors.cc ----
  struct Processor {
    std::thread thread;
    bool ended = false;
  };
  void add_processor() REQUIRES(mutex);
  void process(Processor& own);
  // False: a call was abandoned, and the thread with it.
  bool work_through(Chunk& chunk);

  // ---- feeder.cc ----
  struct Answer {
    Request request = {};
    std::uint64_t poll = 0;  // its number; 0: not a poll
    Result<WorkResult> result = {};
  };
  void feed();
  void take_answers(std::vector<StoredEnd>& stored) REQUIRES(mutex);
  void send(Request request, CallerId caller, std::uint64_t poll);
  void answer_came(Answer answer);
  void wait_for_news(Moment now) REQUIRES(mutex);
  void call_hooks(const std::vector<StoredEnd>& stored) const;

  // ---- keeper.cc ----
  void keep();
  void wake_keeper_by(Moment moment);
  void plan_upkeep(Moment moment) REQUIRES(mutex);
  void send_heartbeats(Request heartbeats);
  void send_beat();

  // ---- step.cc ----
  Result<std::size_t> step();
  Result<void> send_now(bool take);
  void pass_time(Run& run, Duration time);
  void look_now();

  SharedMutex outside;  // held shared while a handler's call uses the clock
  Clock* clock;
  Broker* broker;
  const WorkerOptions options;
  TimePoint last_time{};              // the time to report once the clock is gone
  std::atomic<bool> stirred = false;  // a run has ended while its call goes on
  std::atomic<Moment> keeper_next = Moment::zero();

  Mutex stop_mutex{LockRank::worker_stop};  // one stop at a time; locked before `mutex`
  Mutex mutex{LockRank::worker};
  Dispatcher core;       // says itself what of it needs no lock
  bool started = false;  // set under the lock before there are threads, so that these may read it
  bool shutting_down GUARDED_BY(mutex) = false;
  Condition work;  // for processors
  std::uint32_t idle GUARDED_BY(mutex) = 0;
  Condition rested;                          // for threads that wait for the end
  std::uint32_t live GUARDED_BY(mutex) = 0;  // processors that are not abandoned

  Condition news;  // for the feeder
  std::vector<Answer> inbox GUARDED_BY(mutex);
  Moment stirred_at GUARDED_BY(mutex) = no_moment;
  const CallerId request_caller;
  CallerId poll_caller GUARDED_BY(mutex);
  std::uint64_t poll_number GUARDED_BY(mutex) = 1;
  bool feeder_stops GUARDED_BY(mutex) = false;
  bool feeder_gone GUARDED_BY(mutex) = false;

  Condition due;  // for the keeper
  const CallerId keeper_caller;
  const CallerId beat_caller;
  std::vector<Answer> heartbeat_answers GUARDED_BY(mutex);
  std::optional<Instructions> instructions GUARDED_BY(mutex);
  bool beat_out GUARDED_BY(mutex) = false;
  bool beat_answered GUARDED_BY(mutex) = false;
  Moment next_beat GUARDED_BY(mutex){};
  bool keeper_stops GUARDED_BY(mutex) = false;

  std::list<Processor> processors GUARDED_BY(mutex);
  std::thread feeder;  // both belong to the thread that starts and stops
  std::thread keeper;

  std::optional<Stopped> stopped GUARDED_BY(mutex);
};

}  // namespace millrace::worker
