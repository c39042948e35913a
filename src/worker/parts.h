// The worker with its threads: a feeder that talks to the broker, processors that run handlers, a
// keeper that keeps time. They share a Dispatcher under one lock. No thread holds the lock while it
// talks to the broker or runs user code.
//
// A thread whose handler does not return keeps this object alive, so it outlives the Worker.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "broker/broker.h"
#include "core/clock.h"
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
  void wait_until(std::unique_lock<std::mutex>& lock, Moment end,
                  const std::function<bool()>& condition);
  void ask_all_to_stop(std::unique_lock<std::mutex>& lock);
  void end_threads(std::unique_lock<std::mutex>& lock);
  RunHost host_functions();
  // From the clock; handlers that outlive the worker get the last known time.
  TimePoint wall_time();
  Moment steady_time();
  Ask ask(CallerId caller) const { return {.caller = caller, .internal = options.internal}; }

  // ---- processors.cc ----
  struct Processor {
    std::thread thread;
    bool ended = false;
  };
  void add_processor();
  void process(Processor& own);
  // False: a call was abandoned, and the thread with it.
  bool work_through(Chunk& chunk);
  void run_ended(Run& run);

  // ---- feeder.cc ----
  struct Answer {
    Request request = {};
    std::uint64_t poll = 0;  // its number; 0: not a poll
    Result<WorkResult> result = {};
  };
  void feed();
  void take_answers(std::unique_lock<std::mutex>& lock, std::vector<StoredEnd>& stored);
  void send(Request request, CallerId caller, std::uint64_t poll);
  void answer_came(Answer answer);
  void wait_for_news(std::unique_lock<std::mutex>& lock, Moment now);
  void call_hooks(const std::vector<StoredEnd>& stored) const;

  // ---- keeper.cc ----
  void keep();
  void wake_keeper_by(Moment moment);
  void plan_upkeep(Moment moment);
  void send_heartbeats(Request heartbeats);
  void send_beat();

  // ---- step.cc ----
  Result<std::size_t> step();
  Result<void> send_now(bool take);
  void pass_time(Run& run, Duration time);
  void look_now();

  std::shared_mutex outside;  // held shared while a handler's call uses the clock
  Clock* clock;
  Broker* broker;
  const WorkerOptions options;
  const RunHost host;
  TimePoint last_time{};              // the time to report once the clock is gone
  std::atomic<bool> stirred = false;  // a run has ended while its call goes on
  std::atomic<Moment> keeper_next = Moment::zero();

  std::mutex mutex;  // guards what follows
  Dispatcher core;
  bool started = false;
  bool shutting_down = false;
  std::condition_variable work;  // for processors
  std::uint32_t idle = 0;
  std::condition_variable rested;  // for threads that wait for the end
  std::uint32_t live = 0;          // processors that are not abandoned

  std::condition_variable news;  // for the feeder
  std::vector<Answer> inbox;
  Moment stirred_at = no_moment;
  CallerId request_caller{};
  CallerId poll_caller{};
  std::uint64_t poll_number = 1;
  bool feeder_stops = false;
  bool feeder_gone = false;

  std::condition_variable due;  // for the keeper
  CallerId keeper_caller{};
  CallerId beat_caller{};
  std::vector<Answer> heartbeat_answers;
  std::optional<Instructions> instructions;
  bool beat_out = false;
  bool beat_answered = false;
  Moment next_beat{};
  bool keeper_stops = false;

  std::list<Processor> processors;
  std::thread feeder;
  std::thread keeper;

  std::mutex stop_mutex;  // one stop at a time
  std::optional<Stopped> stopped;
};

}  // namespace millrace::worker
