// The worker with its threads: a feeder that talks to the broker, processors that run handlers, a
// keeper that minds the time. They share a Dispatcher under one lock, which nobody holds while it
// talks to the broker or runs somebody else's code.
//
// Threads whose handler does not come back hold on to this, so that it outlives the Worker.
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

struct Worker::Parts : std::enable_shared_from_this<Worker::Parts> {
  Parts(Clock& its_clock, Broker& its_broker, WorkerOptions its_options,
        std::vector<QueueHandlers> queues);

  // ---- worker.cc ----
  void start();
  void shut_down();
  Stopped graceful_stop(Duration limit);
  void wait_until(Moment end, const std::function<bool()>& condition) REQUIRES(mutex);
  void ask_all_to_stop() REQUIRES(mutex);
  void end_threads() REQUIRES(mutex);
  RunHost host_functions();
  // Of the clock, also for handlers that outlive the worker.
  TimePoint wall_time();
  Moment steady_time();
  Ask ask(CallerId caller) const { return {.caller = caller, .internal = options.internal}; }

  // ---- processors.cc ----
  struct Processor {
    std::thread thread;
    bool ended = false;
  };
  void add_processor() REQUIRES(mutex);
  void process(Processor& own);
  // False: a call was abandoned, and the thread with it.
  bool work_through(Hand& hand);
  void run_ended(Run& run);

  // ---- feeder.cc ----
  struct Answer {
    Order order = {};
    std::uint64_t poll = 0;  // its number; 0: no poll
    Result<WorkResult> result = {};
  };
  void feed();
  void take_answers(std::vector<Told>& told) REQUIRES(mutex);
  void send(Order order, CallerId caller, std::uint64_t poll);
  void answer_came(Answer answer);
  void wait_for_news(Moment now) REQUIRES(mutex);
  void tell(const std::vector<Told>& told) const;

  // ---- keeper.cc ----
  void keep();
  void wake_keeper_by(Moment moment);
  void plan_upkeep(Moment moment) REQUIRES(mutex);
  void send_pulse(Order pulse);
  void send_beat();

  // ---- step.cc ----
  Result<std::size_t> step();
  Result<void> send_now(bool take);
  void pass_time(Run& run, Duration time);
  void look_now();

  SharedMutex outside;  // held shared by whoever uses the clock in a handler's name
  Clock* clock;
  Broker* broker;
  const WorkerOptions options;
  const RunHost host;
  TimePoint last_time{};              // once there is no clock any more
  std::atomic<bool> stirred = false;  // a run has ended while its call goes on
  std::atomic<Moment> keeper_next = Moment::zero();

  Mutex stop_mutex;  // one stop at a time; locked before `mutex`
  Mutex mutex;
  Dispatcher core;       // says itself what of it needs no lock
  bool started = false;  // set under the lock before there are threads, so that these may read it
  bool shutting_down GUARDED_BY(mutex) = false;
  Condition work;  // for processors
  std::uint32_t idle GUARDED_BY(mutex) = 0;
  Condition rested;                          // for those who wait for the end
  std::uint32_t live GUARDED_BY(mutex) = 0;  // processors that are not given up

  Condition news;  // for the feeder
  std::vector<Answer> inbox GUARDED_BY(mutex);
  Moment stirred_at GUARDED_BY(mutex) = no_moment;
  const CallerId order_caller;
  CallerId poll_caller GUARDED_BY(mutex);
  std::uint64_t poll_number GUARDED_BY(mutex) = 1;
  bool feeder_stops GUARDED_BY(mutex) = false;
  bool feeder_gone GUARDED_BY(mutex) = false;

  Condition due;  // for the keeper
  const CallerId keeper_caller;
  const CallerId beat_caller;
  std::vector<Answer> pulses GUARDED_BY(mutex);
  std::optional<Instructions> instructions GUARDED_BY(mutex);
  bool beat_out GUARDED_BY(mutex) = false;
  bool beat_answered GUARDED_BY(mutex) = false;
  Moment next_beat GUARDED_BY(mutex){};
  bool keeper_stops GUARDED_BY(mutex) = false;

  std::list<Processor> processors GUARDED_BY(mutex);
  std::thread feeder;  // both: of whoever starts and stops
  std::thread keeper;

  std::optional<Stopped> stopped GUARDED_BY(mutex);
};

}  // namespace millrace::worker
