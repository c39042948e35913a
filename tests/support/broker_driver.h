// Drives a LocalBroker in a test: verbs that block until they are answered, at a time the test
// moves by hand. Upkeep runs when the test says so.
#pragma once

#include <millrace/value.h>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "broker/blocking.h"
#include "broker/local_broker.h"
#include "core/clock.h"
#include "core/transition.h"
#include "core/uuid.h"
#include "payload/delivery_payload.h"
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

// The text of a member, or its JSON if it is something else; empty: it is null or not there.
inline std::string text_in(const Value* object, std::string_view name) {
  const Value* member = object == nullptr ? nullptr : object->find(name);
  if (member == nullptr || *member == Value{}) return {};
  const auto* text = std::get_if<std::string>(&member->any);
  return text != nullptr ? *text : to_json(*member);
}

// A task of $webhooks or $alerts in short: "webhook|state|url|result|error code|request id" or
// "alert|message|task|error code|retries".
inline std::string in_short(const Task& task, Where where) {
  const DeliveryPayload payload = must(parse_delivery(task.payload), where);
  const Value body = must(parse_json(payload.body), where);
  const std::string code = text_in(body.find("error"), "code");
  if (task.type == "alert") {
    return "alert|" + text_in(&body, "message") + "|" + text_in(&body, "taskId") + "|" + code +
           "|" + text_in(&body, "retries");
  }
  const bool left_out = text_in(&body, "resultLeftOut") == "true";
  return "webhook|" + payload.state + "|" + payload.url + "|" +
         (left_out ? "left out" : text_in(&body, "result")) + "|" + code + "|" + payload.request_id;
}

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

  Result<std::vector<Result<Put>>> try_put(std::vector<NewTask> tasks, Ask by = {.caller = {1}}) {
    return wait<std::vector<Result<Put>>>(
        [&](auto done) { broker->put(by, std::move(tasks), std::move(done)); });
  }
  Put put(NewTask task, Where where = Where::current()) {
    return must(only(try_put({std::move(task)})), where);
  }
  Result<WorkResult> try_work(WorkOrder order, Ask by = {.caller = {1}}) {
    return wait<WorkResult>(
        [&](auto done) { broker->work(by, std::move(order), std::move(done)); });
  }
  std::vector<Lease> take(const QueueRef& queue, std::uint32_t most = 1000,
                          std::string worker = "w", Where where = Where::current()) {
    auto result = must(
        try_work({.takes = {{.worker = std::move(worker), .queues = {{queue, most}}}}}), where);
    return must(std::move(result.taken.front()), where);
  }
  Lease take_one(const QueueRef& queue, Where where = Where::current()) {
    auto leases = take(queue, 1, "w", where);
    if (leases.size() != 1) give_up("nothing to take", where);
    return leases.front();
  }
  Result<Settled> try_settle(const Lease& lease, Outcome outcome,
                             std::vector<NewTask> follow_ups = {}) {
    WorkOrder order;
    order.reports.push_back({lease.id, lease.token, std::move(outcome), std::move(follow_ups)});
    auto result = try_work(std::move(order));
    if (!result) return std::unexpected(result.error());
    return result->settled.front();
  }
  Settled settle(const Lease& lease, Outcome outcome, Where where = Where::current()) {
    return must(try_settle(lease, std::move(outcome)), where);
  }
  Result<Task> try_find(TaskRef task) {
    return wait<Task>([&](auto done) { broker->find(ask(), task, std::move(done)); });
  }
  Task find(TaskRef task, Where where = Where::current()) { return must(try_find(task), where); }
  // Reads that were asked for before this are answered, or wait for their task.
  void finish_reads() { std::ignore = try_find(TaskNumber{0}); }
  // Upkeep runs, and all earlier requests are answered; callers that wait for a task that has ended
  // are answered by a read, after the flush.
  void settle_down(Where where = Where::current()) {
    finish_reads();
    broker->run_services();
    must(try_put({}), where);
    finish_reads();
  }
  Result<TaskState> try_cancel(TaskId id, std::string reason = "enough") {
    return only(wait<Broker::States>(
        [&](auto done) { broker->cancel(ask(), {id}, std::move(reason), std::move(done)); }));
  }
  Explanation explain(TaskRef task, Where where = Where::current()) {
    return must(
        wait<Explanation>([&](auto done) { broker->explain(ask(), task, std::move(done)); }),
        where);
  }
  Result<Queue> try_put_queue(QueueSettings settings, PutQueue mode = PutQueue::replace,
                              Ask by = {.caller = {1}}) {
    return wait<Queue>(
        [&](auto done) { broker->put_queue(by, std::move(settings), mode, std::move(done)); });
  }
  Queue put_queue(QueueSettings settings, Where where = Where::current()) {
    return must(try_put_queue(std::move(settings)), where);
  }
  QueueView queue(const QueueRef& ref, Where where = Where::current()) {
    return must(wait<std::vector<QueueView>>(
                    [&](auto done) { broker->queues(ask(), ref, std::move(done)); }),
                where)
        .front();
  }
  Result<Schedule> try_put_schedule(Schedule schedule, PutQueue mode = PutQueue::replace) {
    return wait<Schedule>([&](auto done) {
      broker->put_schedule(ask(), std::move(schedule), mode, std::move(done));
    });
  }
  Schedule put_schedule(Schedule schedule, Where where = Where::current()) {
    return must(try_put_schedule(std::move(schedule)), where);
  }
  Schedule schedule(const std::string& name, Where where = Where::current()) {
    return must(wait<std::vector<Schedule>>(
                    [&](auto done) { broker->schedules(ask(), name, std::move(done)); }),
                where)
        .front();
  }

  // Every task of a queue, with everything, newest first.
  std::vector<Task> all(const std::string& queue, Where where = Where::current()) {
    ListRequest request{.queue = queue, .limit = 1000, .detail = Detail::full};
    std::vector<Task> tasks;
    for (;;) {
      auto page = must(
          wait<TaskPage>([&](auto done) { broker->list(ask(), request, std::move(done)); }), where);
      std::move(page.tasks.begin(), page.tasks.end(), std::back_inserter(tasks));
      if (!page.next) return tasks;
      request.before = page.next;
    }
  }
  // Payloads of every task of a queue, oldest first.
  std::vector<std::string> payloads(const std::string& queue, Where where = Where::current()) {
    std::vector<std::string> payloads;
    for (Task& task : all(queue, where)) payloads.insert(payloads.begin(), std::move(task.payload));
    return payloads;
  }
  // What was stored to be delivered, in short, oldest first.
  std::vector<std::string> webhooks(Where where = Where::current()) {
    return deliveries("$webhooks", where);
  }
  std::vector<std::string> alerts(Where where = Where::current()) {
    return deliveries("$alerts", where);
  }

 private:
  std::vector<std::string> deliveries(const std::string& queue, Where where) {
    std::vector<std::string> lines;
    for (const Task& task : all(queue, where)) lines.insert(lines.begin(), in_short(task, where));
    return lines;
  }

  LocalBrokerOptions options_;
  std::uint64_t starts_ = 0;
};

}  // namespace millrace::test
