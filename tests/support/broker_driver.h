// Drives a LocalBroker in a test: verbs that block until they are answered, at a time the test
// moves by hand. Upkeep runs when the test says so.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "broker/blocking.h"
#include "broker/local_broker.h"
#include "core/clock.h"
#include "core/transition.h"
#include "core/uuid.h"
#include "store/embedded/memory.h"
#include "store/fwd.h"
#include "tests/support/driver.h"

namespace millrace::test {

// The log, in lines.
class LogLines {
 public:
  Log log(LogLevel least = LogLevel::debug) {
    return {.least = least, .write = [this](const LogEntry& entry) {
              const std::scoped_lock lock(mutex_);
              lines_.push_back(entry.message);
            }};
  }
  std::vector<std::string> lines() {
    const std::scoped_lock lock(mutex_);
    return lines_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

class BrokerDriver {
 public:
  // Without a store: over one in memory.
  explicit BrokerDriver(LocalBrokerOptions options = {}, std::shared_ptr<Store> own = nullptr);

  ManualClock clock{t0};
  std::shared_ptr<Store> store;
  LogLines logged;
  std::unique_ptr<LocalBroker> broker;

  void start();
  // Another broker over the same store, which remembers nothing.
  void restart() {
    broker.reset();
    start();
  }

  TimePoint now() { return clock.now(); }
  void pass(Duration by) { clock.advance(by); }
  // Time passes in steps of a second or less, with upkeep, as in a real server.
  void live(Duration by, Duration step = std::chrono::seconds(1)) {
    for (Duration done{}; done < by; done += step) {
      clock.advance(std::min(step, by - done));
      broker->run_services();
    }
  }

  Ask ask() { return {.caller = {1}}; }

  template <class T, class Start>
  Result<T> wait(const Start& begin) {
    return wait_for_answer<T>(begin);
  }

  // ---- Verbs ------------------------------------------------------------------------------------

  Result<std::vector<Result<Put>>> try_put(std::vector<NewTask> tasks, Ask by = {.caller = {1}});
  Put put(NewTask task, Where where = Where::current());
  Result<WorkResult> try_work(WorkOrder order, Ask by = {.caller = {1}});
  std::vector<Lease> take(const QueueRef& queue, std::uint32_t most = 1000,
                          std::string worker = "w", Where where = Where::current());
  Lease take_one(const QueueRef& queue, Where where = Where::current());
  Result<Settled> try_settle(const Lease& lease, Outcome outcome,
                             std::vector<NewTask> follow_ups = {});
  Settled settle(const Lease& lease, Outcome outcome, Where where = Where::current());
  Result<Task> try_find(TaskRef task);
  Task find(TaskRef task, Where where = Where::current());
  // Reads that were asked for before this are answered, or wait for their task.
  void finish_reads();
  // Upkeep runs, and all earlier requests are answered; callers that wait for a task that has ended
  // are answered by a read, after the flush.
  void settle_down(Where where = Where::current());
  Result<TaskState> try_cancel(TaskId id, std::string reason = "enough", Ask by = {.caller = {1}});
  Explanation explain(TaskRef task, Where where = Where::current());
  Result<Queue> try_put_queue(QueueSettings settings, PutQueue mode = PutQueue::replace,
                              Ask by = {.caller = {1}});
  Queue put_queue(QueueSettings settings, Where where = Where::current());
  QueueView queue(const QueueRef& ref, Where where = Where::current());
  Result<Schedule> try_put_schedule(Schedule schedule, PutQueue mode = PutQueue::replace);
  Schedule put_schedule(Schedule schedule, Where where = Where::current());
  Schedule schedule(const std::string& name, Where where = Where::current());

  // Every task of a queue, with everything, newest first.
  std::vector<Task> all(const std::string& queue, Where where = Where::current());
  // Payloads of every task of a queue, oldest first.
  std::vector<std::string> payloads(const std::string& queue, Where where = Where::current());
  // What was stored to be delivered, in short, oldest first:
  // "webhook|state|url|result|error code|request id" or "alert|message|task|error code|retries".
  std::vector<std::string> webhooks(Where where = Where::current());
  std::vector<std::string> alerts(Where where = Where::current());

 private:
  std::vector<std::string> deliveries(const std::string& queue, Where where);

  LocalBrokerOptions options_;
  std::uint64_t starts_ = 0;
};

}  // namespace millrace::test
