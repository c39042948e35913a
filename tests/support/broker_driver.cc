#include "tests/support/broker_driver.h"

#include <millrace/value.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <tuple>
#include <variant>

#include "payload/delivery_payload.h"
#include "store/embedded/state_machine.h"
#include "store/store.h"

namespace millrace::test {
namespace {

// The text of a member, or its JSON if it is something else; empty: it is null or not there.
std::string text_in(const Value* object, std::string_view name) {
  const Value* member = object == nullptr ? nullptr : object->find(name);
  if (member == nullptr || *member == Value{}) return {};
  const auto* text = std::get_if<std::string>(&member->any);
  return text != nullptr ? *text : to_json(*member);
}

// A task of $webhooks or $alerts in short.
std::string in_short(const Task& task, Where where) {
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

// Gives the same tokens each time, so that two can be compared.
std::shared_ptr<Store> in_memory() {
  return std::make_shared<embedded::StateMachine>(embedded::State::Options{.hash_seed = 1});
}

}  // namespace

BrokerDriver::BrokerDriver(LocalBrokerOptions options, std::shared_ptr<Store> own)
    : store(own ? std::move(own) : in_memory()) {
  options.keep_time = false;
  options.rules.webhooks = true;
  options.rules.log = logged.log();
  options_ = std::move(options);
  start();
}

void BrokerDriver::start() {
  options_.rules.seed = ++starts_;
  broker = std::make_unique<LocalBroker>(clock, *store, options_);
}

Result<std::vector<Result<Put>>> BrokerDriver::try_put(std::vector<NewTask> tasks, Ask by) {
  return wait<std::vector<Result<Put>>>(
      [&](auto done) { broker->put(by, std::move(tasks), std::move(done)); });
}

Put BrokerDriver::put(NewTask task, Where where) {
  return must(only(try_put({std::move(task)})), where);
}

Result<WorkResult> BrokerDriver::try_work(WorkOrder order, Ask by) {
  return wait<WorkResult>([&](auto done) { broker->work(by, std::move(order), std::move(done)); });
}

std::vector<Lease> BrokerDriver::take(const QueueRef& queue, std::uint32_t most, std::string worker,
                                      Where where) {
  auto result =
      must(try_work({.takes = {{.worker = std::move(worker), .queues = {{queue, most}}}}}), where);
  return must(std::move(result.taken.front()), where);
}

Lease BrokerDriver::take_one(const QueueRef& queue, Where where) {
  auto leases = take(queue, 1, "w", where);
  if (leases.size() != 1) give_up("nothing to take", where);
  return leases.front();
}

Result<Settled> BrokerDriver::try_settle(const Lease& lease, Outcome outcome,
                                         std::vector<NewTask> follow_ups) {
  WorkOrder order;
  order.reports.push_back({lease.id, lease.token, std::move(outcome), std::move(follow_ups)});
  auto result = try_work(std::move(order));
  if (!result) return std::unexpected(result.error());
  return result->settled.front();
}

Settled BrokerDriver::settle(const Lease& lease, Outcome outcome, Where where) {
  return must(try_settle(lease, std::move(outcome)), where);
}

Result<Task> BrokerDriver::try_find(TaskRef task) {
  return wait<Task>([&](auto done) { broker->find(ask(), task, std::move(done)); });
}

Task BrokerDriver::find(TaskRef task, Where where) {
  return must(try_find(task), where);
}

void BrokerDriver::finish_reads() {
  std::ignore = try_find(TaskNumber{0});
}

void BrokerDriver::settle_down(Where where) {
  finish_reads();
  broker->run_services();
  must(try_put({}), where);
  finish_reads();
}

Result<TaskState> BrokerDriver::try_cancel(TaskId id, std::string reason, Ask by) {
  return only(wait<Broker::States>(
      [&](auto done) { broker->cancel(by, {id}, std::move(reason), std::move(done)); }));
}

Explanation BrokerDriver::explain(TaskRef task, Where where) {
  return must(wait<Explanation>([&](auto done) { broker->explain(ask(), task, std::move(done)); }),
              where);
}

Result<Queue> BrokerDriver::try_put_queue(QueueSettings settings, PutQueue mode, Ask by) {
  return wait<Queue>(
      [&](auto done) { broker->put_queue(by, std::move(settings), mode, std::move(done)); });
}

Queue BrokerDriver::put_queue(QueueSettings settings, Where where) {
  return must(try_put_queue(std::move(settings)), where);
}

QueueView BrokerDriver::queue(const QueueRef& ref, Where where) {
  return must(wait<std::vector<QueueView>>(
                  [&](auto done) { broker->queues(ask(), ref, std::move(done)); }),
              where)
      .front();
}

Result<Schedule> BrokerDriver::try_put_schedule(Schedule schedule, PutQueue mode) {
  return wait<Schedule>(
      [&](auto done) { broker->put_schedule(ask(), std::move(schedule), mode, std::move(done)); });
}

Schedule BrokerDriver::put_schedule(Schedule schedule, Where where) {
  return must(try_put_schedule(std::move(schedule)), where);
}

Schedule BrokerDriver::schedule(const std::string& name, Where where) {
  return must(wait<std::vector<Schedule>>(
                  [&](auto done) { broker->schedules(ask(), name, std::move(done)); }),
              where)
      .front();
}

std::vector<Task> BrokerDriver::all(const std::string& queue, Where where) {
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

std::vector<std::string> BrokerDriver::payloads(const std::string& queue, Where where) {
  std::vector<std::string> payloads;
  for (Task& task : all(queue, where)) payloads.insert(payloads.begin(), std::move(task.payload));
  return payloads;
}

std::vector<std::string> BrokerDriver::webhooks(Where where) {
  return deliveries("$webhooks", where);
}

std::vector<std::string> BrokerDriver::alerts(Where where) {
  return deliveries("$alerts", where);
}

std::vector<std::string> BrokerDriver::deliveries(const std::string& queue, Where where) {
  std::vector<std::string> lines;
  for (const Task& task : all(queue, where)) lines.insert(lines.begin(), in_short(task, where));
  return lines;
}

}  // namespace millrace::test
