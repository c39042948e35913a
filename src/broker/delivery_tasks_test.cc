#include "broker/delivery_tasks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/limits.h"
#include "core/validate.h"
#include "tests/support/broker_driver.h"
#include "tests/support/matchers.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr auto every_event = static_cast<std::uint8_t>(CallbackOn::final_states) |
                             static_cast<std::uint8_t>(CallbackOn::retrying);

NewTask with_callback(NewTask fields = {}, std::uint8_t events = every_event) {
  fields.queue = "q";
  fields.request_id = "r";
  fields.callback = Callback{.url = "http://x", .events = events};
  return fields;
}

LocalBrokerOptions with_alerts() {
  LocalBrokerOptions options;
  options.rules.alerts = true;
  options.rules.retry.max_retries = 0;
  return options;
}

// S0-121
TEST(DeliveryTasks, a_completed_task_calls_back_with_its_result) {
  BrokerDriver d;
  const Put put = d.put(with_callback());
  d.settle(d.take_one("q"), Done{"42"});
  EXPECT_THAT(d.webhooks(), ElementsAre("webhook|completed|http://x|42||r"));
  const Task webhook = d.all("$webhooks").front();
  EXPECT_EQ(webhook.parent, put.id);
  EXPECT_EQ(webhook.type, "webhook");
  EXPECT_EQ(webhook.request_id, "r");
}

// S0-056
TEST(DeliveryTasks, a_webhook_is_tried_as_often_as_its_task_says) {
  BrokerDriver d;
  NewTask task = with_callback();
  task.callback->max_attempts = 5;
  d.put(task);
  d.settle(d.take_one("q"), Done{});
  EXPECT_EQ(d.all("$webhooks").front().retry->max_retries, 4U);
}

// S0-122, C-24
TEST(DeliveryTasks, a_failed_try_calls_back_where_that_was_wished) {
  BrokerDriver d;
  d.put(with_callback({.retry = RetryRules{.max_retries = 1}}));
  d.settle(d.take_one("q"), Failed{error("no", "boom")});
  EXPECT_THAT(d.webhooks(), ElementsAre("webhook|retrying|http://x||boom|r"));
  d.live(1min);
  d.settle(d.take_one("q"), Failed{error("no", "boom")});
  EXPECT_THAT(d.webhooks(),
              ElementsAre("webhook|retrying|http://x||boom|r", "webhook|dead|http://x||boom|r"));
}

TEST(DeliveryTasks, only_the_wished_events_call_back) {
  BrokerDriver d;
  d.put(with_callback({}, static_cast<std::uint8_t>(CallbackOn::failed)));
  d.settle(d.take_one("q"), Done{});
  d.put(with_callback({}, static_cast<std::uint8_t>(CallbackOn::failed)));
  d.settle(d.take_one("q"), Failed{error("no", "bad"), false});
  EXPECT_THAT(d.webhooks(), ElementsAre("webhook|failed|http://x||bad|r"));
}

TEST(DeliveryTasks, snoozing_and_giving_back_send_nothing) {
  BrokerDriver d;
  d.put(with_callback());
  d.settle(d.take_one("q"), GiveBack{});
  d.settle(d.take_one("q"), Snooze{d.now() + 1s});
  EXPECT_THAT(d.webhooks(), IsEmpty());
}

TEST(DeliveryTasks, cancelling_a_waiting_task_calls_back_in_the_same_commit) {
  BrokerDriver d;
  const Put put = d.put(with_callback());
  EXPECT_THAT(d.try_cancel(put.id), IsOkAndHolds(TaskState::cancelled));
  EXPECT_THAT(d.try_cancel(put.id), FailsWith(ErrorCode::conflict));
  EXPECT_THAT(d.webhooks(), ElementsAre("webhook|cancelled|http://x||cancelled|r"));
  EXPECT_EQ(d.queue("q").stats.cancelled, 1U);
}

TEST(DeliveryTasks, a_run_that_was_to_be_cancelled_ends_cancelled_with_its_callback) {
  BrokerDriver d;
  const Put put = d.put(with_callback());
  const Lease lease = d.take_one("q");
  EXPECT_THAT(d.try_cancel(put.id), IsOkAndHolds(TaskState::processing));
  EXPECT_THAT(d.webhooks(), IsEmpty());
  const Settled settled = d.settle(lease, Failed{error("no", "boom")});
  EXPECT_EQ(settled.status, SettleStatus::applied);
  EXPECT_EQ(settled.state, TaskState::cancelled);
  EXPECT_THAT(d.webhooks(), ElementsAre("webhook|cancelled|http://x||cancelled|r"));
  EXPECT_EQ(d.queue("q").stats.cancelled, 1U);
  EXPECT_EQ(d.queue("q").stats.retried, 0U);
}

TEST(DeliveryTasks, so_it_does_after_a_restart) {
  BrokerDriver d;
  const Put put = d.put(with_callback());
  const Lease lease = d.take_one("q");
  must(d.try_cancel(put.id));
  d.restart();
  EXPECT_EQ(d.settle(lease, Snooze{d.now() + 1h}).state, TaskState::cancelled);
  EXPECT_THAT(d.webhooks(), SizeIs(1));
}

TEST(DeliveryTasks, a_run_that_is_done_completes_whatever_was_requested) {
  BrokerDriver d;
  const Put put = d.put(with_callback());
  const Lease lease = d.take_one("q");
  must(d.try_cancel(put.id));
  EXPECT_EQ(d.settle(lease, Done{"1"}).state, TaskState::completed);
  EXPECT_THAT(d.webhooks(), ElementsAre("webhook|completed|http://x|1||r"));
}

TEST(DeliveryTasks, a_task_whose_workers_are_lost_for_good_calls_back) {
  BrokerDriver d;
  d.put(with_callback({.max_lost = 0}));
  d.take_one("q");
  d.live(2min);
  EXPECT_THAT(d.webhooks(), ElementsAre("webhook|dead|http://x||worker_lost|r"));
}

TEST(DeliveryTasks, a_task_that_was_not_started_in_time_calls_back) {
  BrokerDriver d;
  d.put(with_callback({.start_by = t0 + 10s}));
  d.live(11s);
  EXPECT_THAT(d.webhooks(), ElementsAre("webhook|cancelled|http://x||expired|r"));
}

TEST(DeliveryTasks, a_settlement_that_is_repeated_calls_back_once) {
  BrokerDriver d;
  d.put(with_callback());
  const Lease lease = d.take_one("q");
  d.settle(lease, Done{});
  EXPECT_EQ(d.settle(lease, Done{}).status, SettleStatus::already);
  EXPECT_THAT(d.webhooks(), SizeIs(1));
}

TEST(DeliveryTasks, a_result_that_finds_no_room_is_left_out_and_kept_in_the_task) {
  BrokerDriver d;
  const std::string result(limits::usual_task_size, 'x');
  const Put put = d.put(with_callback());
  d.settle(d.take_one("q"), Done{result});
  EXPECT_THAT(d.webhooks(), ElementsAre("webhook|completed|http://x|left out||r"));
  EXPECT_EQ(d.find(put.id).result, result);
}

TEST(DeliveryTasks, follow_ups_of_the_worker_come_before_the_result_in_the_webhook) {
  BrokerDriver d;
  d.put(with_callback());
  const std::vector<NewTask> large(18, {.queue = "next", .payload = std::string(900'000, 'x')});
  EXPECT_THAT(d.try_settle(d.take_one("q"), Done{std::string(700'000, 'r')}, large), IsOk());
  EXPECT_THAT(d.webhooks(), ElementsAre("webhook|completed|http://x|left out||r"));
}

TEST(DeliveryTasks, too_many_follow_ups_are_refused_with_the_webhook_counted) {
  BrokerDriver d;
  d.put(with_callback());
  const Lease lease = d.take_one("q");
  const std::vector<NewTask> many(limits::max_follow_ups, {.queue = "next"});
  EXPECT_THAT(d.try_settle(lease, Done{}, many),
              FailsWith(ErrorCode::too_large, ::testing::HasSubstr("33 follow-ups")));
  EXPECT_THAT(d.try_settle(lease, Done{}, {many.begin(), many.end() - 1}), IsOk());
}

// S0-161
TEST(DeliveryTasks, an_exhausted_task_alerts) {
  BrokerDriver d(with_alerts());
  const Put put = d.put({.queue = "q"});
  d.settle(d.take_one("q"), Failed{error("no", "boom")});
  EXPECT_THAT(d.alerts(), ElementsAre("alert|Task failed after maximum retries|" +
                                      to_text(put.id.value) + "|boom|0"));
}

// S0-155
TEST(DeliveryTasks, a_key_that_is_refused_alerts) {
  BrokerDriver d(with_alerts());
  const Put put = d.put(with_callback());
  d.settle(d.take_one("q"), Failed{error("no", "authentication_error")});
  EXPECT_THAT(d.alerts(), ElementsAre("alert|API key validation failure|" + to_text(put.id.value) +
                                      "|authentication_error|0"));
  EXPECT_THAT(d.webhooks(), SizeIs(1));
}

TEST(DeliveryTasks, no_alerts_about_internal_tasks_or_if_alerts_are_off) {
  BrokerDriver quiet;
  quiet.put({.queue = "q", .retry = RetryRules{.max_retries = 0}});
  quiet.settle(quiet.take_one("q"), Failed{error("no")});
  EXPECT_THAT(quiet.alerts(), IsEmpty());

  BrokerDriver d(with_alerts());
  const Ask inside{.caller = {2}, .internal = true};
  d.put({.queue = "q"});
  d.settle(d.take_one("q"), Failed{error("no")});
  for (int i = 0; i < 4; ++i) {
    auto taken =
        must(d.try_work({.takes = {{.worker = "$local", .queues = {{"$alerts", 1}}}}}, inside));
    const Lease lease = must(std::move(taken.taken.front())).front();
    must(d.try_work({.reports = {{lease.id, lease.token, Failed{error("no")}}}}, inside));
    d.live(2h, 1min);
    if (d.all("$alerts").front().state == TaskState::dead) break;
  }
  EXPECT_THAT(d.alerts(), SizeIs(1));
}

// ---- Redelivery
// ----------------------------------------------------------------------------------

class RedeliverTest : public ::testing::Test {
 protected:
  Result<Put> redeliver(TaskId id) {
    return d.wait<Put>([&](auto done) { d.broker->redeliver(d.ask(), id, std::move(done)); });
  }

  BrokerDriver d;
};

// S0-138
TEST_F(RedeliverTest, a_webhook_goes_out_once_more_as_the_task_is_stored) {
  NewTask task = with_callback();
  task.callback->max_attempts = 5;
  const Put put = d.put(task);
  d.settle(d.take_one("q"), Done{"42"});
  d.live(1min);
  const Put again = must(redeliver(put.id));
  EXPECT_EQ(again.state, TaskState::queued);
  EXPECT_THAT(d.webhooks(),
              ElementsAre("webhook|completed|http://x|42||r", "webhook|completed|http://x|42||r"));
  const Task webhook = d.find(again.id);
  EXPECT_EQ(webhook.queue, "$webhooks");
  EXPECT_EQ(webhook.type, "webhook");
  EXPECT_EQ(webhook.parent, put.id);
  EXPECT_EQ(webhook.retry->max_retries, 4U);
  EXPECT_EQ(d.queue("$webhooks").stats.put, 2U);
  EXPECT_EQ(d.find(put.id).state, TaskState::completed);
}

TEST_F(RedeliverTest, failures_and_cancellations_go_out_with_their_error) {
  // A redelivery also sends events that the task did not ask for.
  const Put failed = d.put(with_callback({}, static_cast<std::uint8_t>(CallbackOn::completed)));
  d.settle(d.take_one("q"), Failed{error("no", "bad"), false});
  const Put cancelled = d.put(with_callback());
  must(d.try_cancel(cancelled.id));
  must(redeliver(failed.id));
  must(redeliver(cancelled.id));
  EXPECT_THAT(d.webhooks(), ElementsAre("webhook|cancelled|http://x||cancelled|r",
                                        "webhook|failed|http://x||bad|r",
                                        "webhook|cancelled|http://x||cancelled|r"));
}

TEST_F(RedeliverTest, what_has_no_webhook_or_has_not_ended_is_refused_with_a_sentence) {
  const Put plain = d.put({.queue = "q"});
  d.settle(d.take_one("q"), Done{});
  EXPECT_THAT(redeliver(plain.id),
              FailsWith(ErrorCode::conflict, ::testing::HasSubstr("has no callback")));
  const Put waiting = d.put(with_callback());
  EXPECT_THAT(redeliver(waiting.id),
              FailsWith(ErrorCode::conflict, ::testing::HasSubstr("the task is queued")));
  d.take_one("q");
  EXPECT_THAT(redeliver(waiting.id),
              FailsWith(ErrorCode::conflict, ::testing::HasSubstr("the task is processing")));
  EXPECT_THAT(redeliver(fresh_id()), FailsWith(ErrorCode::not_found));
  EXPECT_THAT(d.webhooks(), IsEmpty());
}

TEST_F(RedeliverTest, a_delivery_cannot_be_delivered) {
  const Put put = d.put(with_callback());
  d.settle(d.take_one("q"), Done{});
  EXPECT_THAT(redeliver(d.all("$webhooks").front().id), FailsWith(ErrorCode::conflict));
  EXPECT_THAT(redeliver(put.id), IsOk());
}

TEST_F(RedeliverTest, a_result_that_does_not_fit_is_left_out) {
  const Put put = d.put(with_callback());
  d.settle(d.take_one("q"), Done{std::string(1'000'000, 'r')});
  must(redeliver(put.id));
  EXPECT_EQ(d.webhooks().back(), "webhook|completed|http://x|left out||r");
}

}  // namespace
}  // namespace millrace
