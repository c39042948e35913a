#include "tests/support/echo_store.h"
#include "store/store.h"

namespace millrace::test {

std::vector<StoreCall> every_call() {
  const TimePoint now{};
  return {
      {"put", [=](Store& s) { return s.put({}, now).error(); }},
      {"work", [=](Store& s) { return s.work({}, {}, {}, now).error(); }},
      {"flush", [=](Store& s) { return s.flush().error(); }},
      {"due", [=](Store& s) { return s.due(now, {.limit = 1}).error(); }},
      {"advance", [=](Store& s) { return s.advance(now, 1).error(); }},
      {"find", [=](Store& s) { return find_task(s, TaskNumber{1}).error(); }},
      {"list", [=](Store& s) { return s.list({}).error(); }},
      {"counts", [=](Store& s) { return s.counts(std::nullopt, now).error(); }},
      {"cancel", [=](Store& s) { return s.cancel({}, now).error(); }},
      {"retry", [=](Store& s) { return s.retry({}, now).error(); }},
      {"remove", [=](Store& s) { return s.remove({}, now).error(); }},
      {"update", [=](Store& s) { return s.update({}, now).error(); }},
      {"restore", [=](Store& s) { return s.restore({}, now).error(); }},
      {"put_queue", [=](Store& s) { return s.put_queue({}, PutQueue::create, now).error(); }},
      {"queues", [=](Store& s) { return s.queues(std::nullopt).error(); }},
      {"remove_queue", [=](Store& s) { return s.remove_queue("q", false, now).error(); }},
      {"clear", [=](Store& s) { return s.clear("q", 1, now).error(); }},
      {"put_schedule",
       [=](Store& s) { return s.put_schedule({}, PutSchedule::replace, now).error(); }},
      {"remove_schedule", [=](Store& s) { return s.remove_schedule("s", now).error(); }},
      {"schedules", [=](Store& s) { return s.schedules(std::nullopt).error(); }},
      {"fire", [=](Store& s) { return s.fire({}, now).error(); }},
      {"remember", [=](Store& s) { return s.remember({}, now).error(); }},
      {"recall", [=](Store& s) { return s.recall({}, now).error(); }},
      {"time", [=](Store& s) { return s.time().error(); }},
      {"ready", [=](Store& s) { return s.ready(now).error(); }},
  };
}

}  // namespace millrace::test
