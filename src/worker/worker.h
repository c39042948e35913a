// Takes tasks and runs their handlers on processors (threads), from start() until it is stopped.
//
//   start() ─► take ─► handle ─► settle ─► … ─► shutdown() ─► graceful_stop()
//
// Works with any Broker. Instead of start(), step() runs it on the caller's thread.
#pragma once

#include <millrace/context.h>
#include <millrace/handler.h>
#include <millrace/result.h>
#include <millrace/time.h>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "broker/broker.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/metrics.h"

namespace millrace::worker {

// How the tasks of one queue are run here.
struct QueueHandlers {
  std::string queue = {};
  std::uint32_t concurrency = 1;
  std::optional<std::uint32_t> prefetch = std::nullopt;
  std::uint32_t batch_size = 1;  // most tasks in one call of a handler
  Acknowledge acknowledge = Acknowledge::automatic;
  std::optional<Duration> timeout = std::nullopt;  // if neither the task nor the queue has one
  Duration grace = std::chrono::seconds(5);
  std::uint8_t priority = default_priority;  // of the queue, for QueueOrder::strict
  std::uint32_t weight = 1;                  // of the queue, for QueueOrder::weighted
  HandlerFunction any = {};                  // for types without a handler of their own
  std::map<std::string, HandlerFunction> by_type = {};
  Hook on_completed = {};
  Hook on_failed = {};
  Hook on_requeued = {};
  Hook on_dead = {};
  Hook on_cancelled = {};
};

struct WorkerOptions {
  std::string name = {};
  bool internal = false;         // runs in the process of the store: may use names with $
  std::uint32_t processors = 0;  // 0: as many as the queues' concurrency together
  QueueOrder order = QueueOrder::round_robin;
  // Requests to the broker at the same time. One is best for a broker in this process, where more
  // would only make each smaller; a few keep a remote broker busy.
  std::uint32_t requests = 1;
  // Polls at the same time, each for other queues; another one is sent only when one more queue is
  // found empty. One is enough where replacing a poll costs nothing, as in this process.
  std::uint32_t polls = 1;
  Duration idle = std::chrono::seconds(1);         // how long a take waits for tasks
  Duration error_pause = std::chrono::seconds(5);  // after a failed call; grows
  Duration longest_pause = std::chrono::seconds(30);
  Duration beat = std::chrono::seconds(5);         // how often it reports and asks for instructions
  Duration slow_cycle = std::chrono::seconds(10);  // a longer one is counted
  // In step(), when a handler waits: lets virtual time pass, as ManualClock::advance does.
  std::function<void(Duration)> pass_time = {};
  Log log = {};
  bool log_failures = true;  // of tasks; false: the hooks report them
};

// What happened on one queue since the start.
struct RunMetrics {
  std::string queue = {};
  HandlerStats stats = {};
  std::uint64_t handled = 0;    // tasks whose handler ended, well or not
  std::uint64_t completed = 0;  // tasks that completed
  std::uint64_t failed = 0;     // tasks that ended failed or dead
  std::uint64_t timed_out = 0;  // runs that timed out
  std::uint64_t lost = 0;       // leases that were gone before the handler ended
  std::uint64_t refused = 0;    // ends that could not be stored
  std::uint64_t left = 0;       // tasks that a manually acknowledging handler did not settle
  std::uint64_t slow_cycles = 0;
  std::uint32_t concurrency = 0;  // calls of handlers that may run at once
  std::uint32_t running = 0;      // that do
  std::uint32_t waiting = 0;      // prefetched
  std::uint32_t abandoned = 0;    // threads whose handler does not come back
};

struct Stopped {
  std::uint64_t given_back = 0;   // prefetched tasks, and tasks still running at the limit
  std::uint64_t interrupted = 0;  // calls of handlers that did not end within the limit
  std::uint64_t running = 0;      // handlers that have not returned even then
};

class Worker {
 public:
  Worker(Clock& clock, Broker& broker, WorkerOptions options, std::vector<QueueHandlers> queues);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker();

  void start();
  // Takes nothing more and gives prefetched tasks back; running handlers go on. Returns at once.
  void shutdown();
  // Waits for running handlers, at most `limit` (zero: without limit), then asks them to stop and
  // gives their tasks back.
  Stopped graceful_stop(Duration limit);

  // Takes and runs one round of what is ready now, on this thread. The result is how many tasks
  // ended. Only without start().
  Result<std::size_t> step();

  std::vector<RunMetrics> metrics() const;
  // How long the take and the handling of a batch took, in seconds.
  HistogramSnapshot cycles(const std::string& queue) const;
  std::uint32_t running_processors() const;

 private:
  struct Parts;
  std::shared_ptr<Parts> parts_;
};

}  // namespace millrace::worker
