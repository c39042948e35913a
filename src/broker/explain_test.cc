#include "broker/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/uuid.h"
#include "tests/support/broker_driver.h"
#include "tests/support/matchers.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ExplainTest : public ::testing::Test {
 protected:
  Put put(NewTask fields = {}) {
    fields.queue = "emails";
    return d.put(std::move(fields));
  }
  void expect(TaskId id, Gate gate, const std::string& sentence) {
    const Explanation why = d.explain(id);
    EXPECT_EQ(why.gate, gate);
    EXPECT_EQ(why.sentence, sentence);
    EXPECT_EQ(why.id, id);
  }

  BrokerDriver d;
};

TEST_F(ExplainTest, an_unknown_task_is_not_found) {
  EXPECT_THAT(d.wait<Explanation>(
                  [&](auto done) { d.broker->explain(d.ask(), fresh_id(), std::move(done)); }),
              FailsWith(ErrorCode::not_found));
}

TEST_F(ExplainTest, final_tasks) {
  const Put done = put();
  d.settle(d.take_one("emails"), Done{});
  expect(done.id, Gate::final, "It ended as completed at 2030-01-01T00:00:00.000Z.");
  const Put bad = put();
  d.settle(d.take_one("emails"), Failed{error("no such address", "bad_address"), false});
  expect(bad.id, Gate::final,
         "It ended as failed at 2030-01-01T00:00:00.000Z: bad_address: no such address.");
}

TEST_F(ExplainTest, running_tasks) {
  const Put one = put();
  d.take("emails", 1, "worker-7");
  expect(one.id, Gate::running, "It has been running on worker-7 since 2030-01-01T00:00:00.000Z.");
  EXPECT_EQ(d.explain(one.id).until, t0 + 60s);
  must(d.try_cancel(one.id));
  EXPECT_THAT(d.explain(one.id).sentence, HasSubstr("asked to cancel"));
  d.pass(61s);
  EXPECT_THAT(d.explain(one.id).sentence, HasSubstr("its lease is over"));
}

TEST_F(ExplainTest, held_tasks) {
  expect(put({.held = true}).id, Gate::held, "It is held until it is released.");
}

TEST_F(ExplainTest, tasks_that_wait_for_others) {
  std::vector<TaskId> ids;
  std::string named;
  for (int i = 0; i < 5; ++i) {
    ids.push_back(put({.start = t0 + 1h}).id);
    if (i < 3) named += (i == 0 ? "" : ", ") + to_text(ids.back().value) + " (delayed)";
  }
  const Put child = put({.after = After{.tasks = ids, .otherwise = Otherwise::hold}});
  expect(child.id, Gate::waits_for, "It waits for 5 of 5 tasks: " + named + " and 2 more.");
  const Put other = put({.after = After{.tasks = {ids[0]}}});
  expect(other.id, Gate::waits_for,
         "It waits for 1 of 1 task: " + to_text(ids[0].value) + " (delayed).");
  must(d.try_cancel(ids[0]));
  EXPECT_THAT(d.explain(child.id).sentence, HasSubstr(" (cancelled), "));
  EXPECT_THAT(d.explain(child.id).sentence,
              HasSubstr("A release lets it run, and so does a retry"));
  EXPECT_THAT(d.explain(other.id).sentence,
              HasSubstr("It will be cancelled because of how one of them ended."));
}

TEST_F(ExplainTest, parked_tasks) {
  const Put one = put();
  d.settle(d.take_one("emails"), Park{.until = t0 + 1h});
  expect(one.id, Gate::parked,
         "It has been parked since 2030-01-01T00:00:00.000Z until it is released, at the latest "
         "2030-01-01T01:00:00.000Z (in 60 min).");
  d.pass(2h);  // without upkeep, as where only servers with the role api run
  expect(one.id, Gate::parked,
         "It has been parked since 2030-01-01T00:00:00.000Z until 2030-01-01T01:00:00.000Z. That "
         "time has come, and the next upkeep of a server with the role all or scheduler releases "
         "it.");
  const Put for_ever = put();
  d.settle(d.take_one("emails"), Park{});
  expect(for_ever.id, Gate::parked,
         "It has been parked since 2030-01-01T02:00:00.000Z until it is released.");
}

TEST_F(ExplainTest, tasks_that_are_not_due) {
  const Put later = put({.delay = 5min});
  expect(later.id, Gate::not_due, "It is not due until 2030-01-01T00:05:00.000Z (in 5 min).");
  EXPECT_EQ(d.explain(later.id).until, t0 + 5min);
  EXPECT_EQ(d.explain(later.id).estimate, t0 + 5min);
  const Put again = put({.retry = RetryRules{.base = 90s, .jitter = Jitter::none}});
  d.settle(d.take_one("emails"), Failed{error("no")});
  expect(again.id, Gate::not_due,
         "It failed once and is tried again at 2030-01-01T00:01:30.000Z (in 90 s).");
}

TEST_F(ExplainTest, inactive_queues) {
  const Put one = put();
  d.put_queue({.name = "emails", .active = false});
  expect(one.id, Gate::inactive, "The queue emails is switched off.");
}

TEST_F(ExplainTest, paused_queues) {
  const Put one = put();
  d.put_queue({.name = "emails", .paused_until = t0 + 3h});
  expect(one.id, Gate::paused,
         "The queue emails is paused until 2030-01-01T03:00:00.000Z (in 3 h).");
  EXPECT_EQ(d.explain(one.id).until, t0 + 3h);
  d.put_queue({.name = "emails", .paused_until = never});
  expect(one.id, Gate::paused, "The queue emails is paused until it is resumed.");
  EXPECT_EQ(d.explain(one.id).until, std::nullopt);
}

TEST_F(ExplainTest, full_queues) {
  d.put_queue({.name = "emails", .max_concurrent = 3});
  for (int i = 0; i < 3; ++i) put();
  d.take("emails");
  const Put one = put();
  expect(one.id, Gate::concurrency,
         "3 of 3 tasks of the queue emails are running; max_concurrent is 3.");
  EXPECT_EQ(d.explain(one.id).ahead, 0U);
}

TEST_F(ExplainTest, queues_that_have_reached_their_rate) {
  d.put_queue({.name = "emails", .process_rate = Rate{.max = 2, .per = 60s}});
  for (int i = 0; i < 2; ++i) put();
  d.take("emails");
  const Put one = put();
  const Explanation why = d.explain(one.id);
  EXPECT_EQ(why.gate, Gate::rate);
  EXPECT_THAT(why.sentence, StartsWith("The queue emails may start 2 tasks in 1m and has; more"));
  ASSERT_TRUE(why.until.has_value());
  d.pass(*why.until - d.now());
  EXPECT_NE(d.explain(one.id).gate, Gate::rate);
}

TEST_F(ExplainTest, queues_without_workers) {
  const Put one = put();
  d.pass(5min);
  expect(one.id, Gate::no_worker,
         "No worker has asked for the queue emails since this server started (5 min ago).");
  d.take("emails", 1);
  const Put two = put();
  d.pass(2min);
  EXPECT_EQ(d.explain(two.id).gate, Gate::next);
  d.pass(3min);
  expect(two.id, Gate::no_worker, "No worker has asked for the queue emails for 5 min.");
}

TEST_F(ExplainTest, tasks_behind_others) {
  std::vector<NewTask> others(200, {.queue = "emails", .priority = 9});
  must(d.try_put(others));
  must(d.try_put(others));
  const Put one = put();
  d.pass(10s);
  d.take("emails", 100);
  const Explanation why = d.explain(one.id);
  EXPECT_EQ(why.gate, Gate::behind);
  EXPECT_EQ(why.sentence,
            "About 300 tasks are before it; at 10 per second it should start in about 30 s.");
  EXPECT_EQ(why.ahead, 300U);
  EXPECT_EQ(why.estimate, d.now() + 30s);
}

TEST_F(ExplainTest, the_place_among_equals_is_estimated_from_when_they_came) {
  for (int i = 0; i < 100; ++i) {
    put();
    d.pass(1s);
  }
  const Task middle = d.all("emails")[50];
  d.take("emails", 1);
  d.settle(d.take_one("emails"), GiveBack{});
  const Explanation why = d.explain(middle.id);
  EXPECT_EQ(why.gate, Gate::behind);
  EXPECT_NEAR(static_cast<double>(*why.ahead), 48, 3);
}

TEST_F(ExplainTest, the_next_task) {
  d.put_queue({.name = "emails"});
  d.take("emails");
  expect(put().id, Gate::next,
         "It is next: the next worker that asks for tasks of its queue gets it.");
}

}  // namespace
}  // namespace millrace
