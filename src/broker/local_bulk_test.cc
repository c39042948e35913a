// Tasks that move to another queue, and operations on many tasks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "broker/local_broker.h"
#include "store/forwarding.h"
#include "tests/support/broker_driver.h"
#include "tests/support/matchers.h"
#include "tests/support/rounds_driver.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class LocalBulkTest : public ::testing::Test {
 protected:
  Result<TaskState> update(TaskUpdate update, bool internal = false) {
    return only(d.wait<Broker::States>([&](auto done) {
      d.broker->update({.caller = {1}, .internal = internal}, {std::move(update)}, std::move(done));
    }));
  }
  Result<Broker::States> act(BulkBatch batch) {
    return d.wait<Broker::States>(
        [&](auto done) { d.broker->act(d.ask(), std::move(batch), std::move(done)); });
  }
  TaskId put(const std::string& queue = "q", NewTask fields = {}) {
    fields.queue = queue;
    return d.put(std::move(fields)).id;
  }
  BulkSeen seen(TaskId id) {
    const Task task = d.find(id);
    return {id, task.version, task.finished_at};
  }
  TaskId dead(const std::string& queue = "q") {
    const TaskId id = put(queue);
    d.settle(d.take_one(queue), Failed{error("no"), false});
    return id;
  }

  BrokerDriver d;
};

// ---- Moves -------------------------------------------------------------------------------------

TEST_F(LocalBulkTest, a_queue_to_move_to_is_created_as_for_a_put) {
  const TaskId id = put();
  EXPECT_THAT(update({.id = id, .queue = "new"}), IsOkAndHolds(TaskState::queued));
  EXPECT_EQ(d.find(id).queue, "new");
  EXPECT_EQ(d.queue("new").counts.total(), 1U);
  EXPECT_EQ(d.take_one("new").id, id);
}

TEST_F(LocalBulkTest, no_queue_is_created_where_that_is_switched_off) {
  BrokerDriver strict{{.rules = {.create_unknown_queues = false}}};
  strict.put_queue(queue("q"));
  const TaskId id = strict.put({.queue = "q"}).id;
  const auto moved = only(strict.wait<Broker::States>([&](auto done) {
    std::vector<TaskUpdate> updates{{.id = id, .queue = "new"}};
    strict.broker->update(strict.ask(), std::move(updates), std::move(done));
  }));
  ASSERT_THAT(moved, FailsWith(ErrorCode::not_found));
  EXPECT_THAT(moved.error().message, HasSubstr("create_unknown_queues"));
}

TEST_F(LocalBulkTest, no_queue_is_created_for_a_task_that_is_not_there) {
  EXPECT_THAT(update({.id = fresh_id(), .queue = "new"}), FailsWith(ErrorCode::not_found));
  EXPECT_THAT(d.wait<std::vector<QueueView>>(
                  [&](auto done) { d.broker->queues(d.ask(), "new", std::move(done)); }),
              FailsWith(ErrorCode::not_found));
}

TEST_F(LocalBulkTest, names_of_queues_to_move_to_are_looked_at_as_those_of_puts) {
  const TaskId id = put();
  for (const auto* name : {"$webhooks", "$new", "", "123", "no spaces"}) {
    EXPECT_THAT(update({.id = id, .queue = name}), FailsWith(ErrorCode::invalid)) << name;
  }
  EXPECT_THAT(update({.id = id, .queue = QueueNumber{77}}), FailsWith(ErrorCode::not_found));
  EXPECT_EQ(d.find(id).queue, "q");
}

TEST_F(LocalBulkTest, tasks_of_internal_queues_stay_there) {
  const TaskId id =
      must(only(d.try_put({{.queue = "$webhooks"}}, {.caller = {1}, .internal = true}))).id;
  EXPECT_THAT(update({.id = id, .queue = "q"}), FailsWith(ErrorCode::invalid));
  EXPECT_EQ(d.find(id).queue, "$webhooks");
  EXPECT_THAT(update({.id = id, .queue = "q"}, true), IsOkAndHolds(TaskState::queued));
}

// Otherwise reports about its tasks would be decided by the default settings.
TEST_F(LocalBulkTest, a_move_of_an_unknown_task_leaves_the_queue_known) {
  QueueSettings settings = queue("patient");
  settings.retry.max_retries = 10;
  d.put_queue(settings);
  const TaskId id = put("patient");
  for (int i = 0; i < 3; ++i) {
    d.settle(d.take_one("patient"), Failed{error("no")});
    d.live(1h, 1min);
  }
  const Lease lease = d.take_one("patient");
  EXPECT_THAT(update({.id = fresh_id(), .queue = "patient"}), FailsWith(ErrorCode::not_found));
  EXPECT_EQ(d.settle(lease, Failed{error("no")}).state, TaskState::retrying);
  EXPECT_EQ(d.find(id).counters.retries, 4U);
}

TEST_F(LocalBulkTest, each_move_of_a_batch_has_its_own_result) {
  const TaskId first = put();
  const TaskId second = put();
  const TaskId third = put();
  std::vector<TaskUpdate> updates{{.id = first, .queue = "$x"},
                                  {.id = second, .queue = "new"},
                                  {.id = fresh_id(), .queue = "new"},
                                  {.id = third, .priority = 9}};
  const auto states = must(d.wait<Broker::States>(
      [&](auto done) { d.broker->update(d.ask(), std::move(updates), std::move(done)); }));
  ASSERT_THAT(states, SizeIs(4));
  EXPECT_THAT(states[0], FailsWith(ErrorCode::invalid));
  EXPECT_THAT(states[1], IsOkAndHolds(TaskState::queued));
  EXPECT_THAT(states[2], FailsWith(ErrorCode::not_found));
  EXPECT_THAT(states[3], IsOkAndHolds(TaskState::queued));
  EXPECT_EQ(d.find(second).queue, "new");
  EXPECT_EQ(d.find(third).priority, 9);
}

TEST_F(LocalBulkTest, a_move_serves_a_take_that_waits_at_the_other_queue) {
  const TaskId id = put();
  Heard<WorkResult> heard;
  WorkOrder order;
  order.takes.push_back({.worker = "w", .queues = {{std::string("other"), 1}}});
  order.wait = 1h;
  d.broker->work({.caller = {2}}, std::move(order), heard.completion());
  must(update({.id = id, .queue = "other"}));
  must(d.try_put({}));
  ASSERT_TRUE(heard.answered());
  EXPECT_EQ(must(must(heard.get()).taken.front()).front().id, id);
}

TEST_F(LocalBulkTest, a_drain_ends_when_the_last_task_is_moved_away) {
  const TaskId id = put();
  d.put_queue(queue("q", {.draining = true}));
  must(update({.id = id, .queue = "other"}));
  d.broker->run_services();
  EXPECT_FALSE(d.queue("q").queue.settings.draining);
  put("q");
}

// ---- Acting on many ----------------------------------------------------------------------------

TEST_F(LocalBulkTest, each_action_is_done_to_the_tasks_given) {
  const TaskId waiting = put();
  EXPECT_THAT(
      act({.request = {.action = BulkAction::priority, .priority = 8}, .tasks = {seen(waiting)}}),
      IsOkAndHolds(SizeIs(1)));
  EXPECT_EQ(d.find(waiting).priority, 8);
  must(act({.request = {.action = BulkAction::move, .to = "new"}, .tasks = {seen(waiting)}}));
  EXPECT_EQ(d.find(waiting).queue, "new");
  must(act({.request = {.action = BulkAction::cancel, .reason = "why"}, .tasks = {seen(waiting)}}));
  EXPECT_EQ(d.find(waiting).state, TaskState::cancelled);
  EXPECT_EQ(d.find(waiting).error->message, "why");
  EXPECT_EQ(d.queue("new").stats.cancelled, 1U);
  must(act({.request = {.action = BulkAction::retry}, .tasks = {seen(waiting)}}));
  EXPECT_EQ(d.find(waiting).state, TaskState::queued);
  must(act({.request = {.action = BulkAction::remove}, .tasks = {seen(waiting)}}));
  EXPECT_THAT(d.try_find(waiting), FailsWith(ErrorCode::not_found));
}

TEST_F(LocalBulkTest, what_changed_and_no_longer_fits_is_left_alone) {
  BulkRequest request{.action = BulkAction::remove};
  request.filter = {.queue = "q", .states = {TaskState::failed}};
  const TaskId id = dead();
  const BulkSeen before = seen(id);
  must(only(
      d.wait<Broker::States>([&](auto done) { d.broker->retry(d.ask(), {id}, std::move(done)); })));
  const auto states = must(act({.request = request, .tasks = {before}}));
  EXPECT_THAT(states.front(), FailsWith(ErrorCode::conflict));
  EXPECT_EQ(d.find(id).state, TaskState::queued);
}

TEST_F(LocalBulkTest, what_changed_and_still_fits_is_acted_on_unless_that_might_be_twice) {
  BulkRequest request{.action = BulkAction::retry};
  request.filter.queue = "q";
  const TaskId id = dead();
  const BulkSeen before = seen(id);
  must(update({.id = id, .delivery_attempt = "200"}));
  ASSERT_NE(d.find(id).version, before.version);
  const BulkBatch batch{.request = request, .tasks = {before}, .not_twice = true};
  EXPECT_THAT(must(act(batch)).front(), IsOkAndHolds(TaskState::queued));
  d.pass(1s);
  d.settle(d.take_one("q"), Failed{error("again"), false});
  EXPECT_THAT(must(act(batch)).front(), FailsWith(ErrorCode::conflict));
  EXPECT_THAT(must(act({.request = request, .tasks = {before}})).front(),
              IsOkAndHolds(TaskState::queued));
}

TEST_F(LocalBulkTest, what_is_gone_is_told_and_the_others_are_acted_on) {
  const TaskId id = put();
  const auto states = must(act(
      {.request = {.action = BulkAction::cancel}, .tasks = {{fresh_id(), Version{1}}, seen(id)}}));
  ASSERT_THAT(states, SizeIs(2));
  EXPECT_THAT(states[0], FailsWith(ErrorCode::not_found));
  EXPECT_THAT(states[1], IsOkAndHolds(TaskState::cancelled));
}

TEST_F(LocalBulkTest, no_more_is_acted_on_at_once_than_four_mebibytes) {
  BulkBatch batch{.request = {.action = BulkAction::move, .to = "other"}};
  for (int i = 0; i < 6; ++i) {
    batch.tasks.push_back(seen(put("q", {.payload = std::string(1'000'000, 'x')})));
  }
  EXPECT_THAT(must(act(batch)), SizeIs(5));
  EXPECT_EQ(d.queue("other").counts.total(), 5U);
}

TEST_F(LocalBulkTest, a_batch_for_a_queue_that_cannot_be_is_refused_as_a_whole) {
  const TaskId id = put();
  EXPECT_THAT(act({.request = {.action = BulkAction::move, .to = "$alerts"}, .tasks = {seen(id)}}),
              FailsWith(ErrorCode::invalid));
  EXPECT_THAT(act({.request = {.action = BulkAction::cancel},
                   .tasks = std::vector<BulkSeen>(1001, seen(id))}),
              FailsWith(ErrorCode::too_large));
  EXPECT_EQ(d.find(id).state, TaskState::queued);
}

TEST_F(LocalBulkTest, a_caller_that_waits_for_a_task_hears_that_it_was_cancelled_or_removed) {
  for (const BulkAction action : {BulkAction::cancel, BulkAction::remove}) {
    const TaskId id = put();
    Heard<Task> heard;
    d.broker->await({.caller = {2}}, id, 1h, heard.completion());
    d.finish_reads();
    must(act({.request = {.action = action}, .tasks = {seen(id)}}));
    d.settle_down();
    EXPECT_TRUE(heard.answered());
  }
}

TEST_F(LocalBulkTest, cancelled_tasks_still_tell_their_callback) {
  const TaskId id = put("q", {.callback = Callback{.url = "http://example.org", .events = 31}});
  must(act({.request = {.action = BulkAction::cancel}, .tasks = {seen(id)}}));
  EXPECT_THAT(d.webhooks(), SizeIs(1));
}

TEST_F(LocalBulkTest, events_say_what_was_done_and_where) {
  const std::uint64_t before = d.broker->events().last();
  const TaskId id = put();
  const TaskId held = put("q", {.held = true});
  must(update({.id = id, .priority = 3, .queue = "second"}));
  must(update({.id = held, .release = true}));
  must(act({.request = {.action = BulkAction::move, .to = "third"}, .tasks = {seen(id)}}));
  must(act({.request = {.action = BulkAction::priority, .priority = 8}, .tasks = {seen(id)}}));
  must(act(
      {.request = {.action = BulkAction::cancel}, .tasks = {{fresh_id(), Version{1}}, seen(id)}}));
  must(act({.request = {.action = BulkAction::retry}, .tasks = {seen(id)}}));
  must(act({.request = {.action = BulkAction::remove}, .tasks = {seen(id)}}));
  std::vector<std::string> heard;
  for (const auto& event : d.broker->events().read({}, before, 100, 1000).events) {
    heard.push_back(std::string(name_of(event.what)) + " " + event.queue);
  }
  EXPECT_THAT(heard,
              ElementsAre("put q", "put q", "moved second", "released q", "moved third",
                          "changed third", "cancelled third", "retried third", "removed third"));
}

}  // namespace
}  // namespace millrace
