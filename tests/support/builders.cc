#include "tests/support/builders.h"

#include <atomic>
#include <utility>

#include "core/transition.h"

namespace millrace::test {

namespace {

Settlement ending(const Lease& lease, Event event) {
  return {.id = lease.id, .expect = Held{lease.token}, .event = event, .counters = lease.counters};
}

}  // namespace

Uuid fresh_uuid() {
  static std::atomic<std::uint64_t> last = 0;
  const std::uint64_t number = ++last;
  Uuid id{.bytes = {0x01, 0x90, 0, 0, 0, 0, 0x70, 0, 0x80}};
  for (std::size_t byte = 0; byte < 7; ++byte) {
    id.bytes[15 - byte] = static_cast<std::uint8_t>(number >> (8 * byte));
  }
  return id;
}

TaskId fresh_id() {
  return {fresh_uuid()};
}

NewTask task(QueueRef queue, NewTask fields) {
  fields.queue = std::move(queue);
  if (fields.id.value.is_nil()) fields.id = fresh_id();
  return fields;
}

Task old_task(std::string queue, Task fields) {
  if (fields.id.value.is_nil()) fields.id = fresh_id();
  fields.queue = std::move(queue);
  if (fields.created_at == TimePoint{}) fields.created_at = t0 - 1h;
  if (fields.updated_at == TimePoint{}) fields.updated_at = t0 - 30min;
  if (fields.start == TimePoint{}) fields.start = fields.created_at;
  if (is_final(fields.state) && !fields.finished_at) fields.finished_at = t0 - 30min;
  return fields;
}

QueueSettings queue(std::string name, QueueSettings fields) {
  fields.name = std::move(name);
  if (fields.id.is_nil()) fields.id = fresh_uuid();
  return fields;
}

TaskError error(std::string message, std::string code) {
  return {.code = std::move(code), .message = std::move(message), .failed_at = t0};
}

Settlement done(const Lease& lease, std::string result) {
  Settlement settlement = ending(lease, Event::done);
  settlement.result = std::move(result);
  return settlement;
}

Settlement retry_at(const Lease& lease, TimePoint ready, TaskError why) {
  Settlement settlement = ending(lease, Event::retry);
  settlement.ready = ready;
  settlement.error = std::move(why);
  ++settlement.counters.attempts;
  ++settlement.counters.retries;
  return settlement;
}

Settlement failed(const Lease& lease, TaskError why) {
  Settlement settlement = ending(lease, Event::fail);
  settlement.error = std::move(why);
  return settlement;
}

Settlement exhausted(const Lease& lease, TaskError why) {
  Settlement settlement = ending(lease, Event::exhaust);
  settlement.error = std::move(why);
  return settlement;
}

Settlement snoozed(const Lease& lease, TimePoint until) {
  Settlement settlement = ending(lease, Event::snooze);
  settlement.ready = until;
  ++settlement.counters.attempts;
  return settlement;
}

Settlement parked(const Lease& lease, TimePoint until) {
  Settlement settlement = ending(lease, Event::park);
  settlement.ready = until;
  ++settlement.counters.attempts;
  return settlement;
}

Settlement given_back(const Lease& lease) {
  return ending(lease, Event::give_back);
}

Settlement given_back_unseen(const Lease& lease) {
  Settlement settlement = given_back(lease);
  settlement.started = false;
  return settlement;
}

Settlement cancelled(const Lease& lease) {
  return ending(lease, Event::cancel);
}

Settlement lost(const Overdue& overdue, TimePoint now) {
  Settlement settlement = ending(overdue.lease, Event::lose);
  settlement.expect = overdue.expect;
  settlement.ready = now;
  ++settlement.counters.attempts;
  ++settlement.counters.lost;
  return settlement;
}

Settlement expired(const Overdue& overdue, TimePoint now) {
  Settlement settlement = ending(overdue.lease, Event::expire);
  settlement.expect = overdue.expect;
  settlement.error = error("start_by passed", "expired");
  settlement.error->failed_at = now;
  return settlement;
}

Settlement with(Settlement settlement, std::vector<NewTask> follow_ups) {
  settlement.follow_ups = std::move(follow_ups);
  return settlement;
}

}  // namespace millrace::test
