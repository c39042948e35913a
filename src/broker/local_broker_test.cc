#include "broker/local_broker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <vector>

#include "core/limits.h"
#include "store/store.h"
#include "tests/support/broker_driver.h"
#include "tests/support/matchers.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

NewTask to(QueueRef queue, NewTask fields = {}) {
  fields.queue = std::move(queue);
  return fields;
}

LocalBrokerOptions no_new_queues() {
  LocalBrokerOptions options;
  options.rules.create_unknown_queues = false;
  return options;
}

// ---- Put ----------------------------------------------------------------------------------------

TEST(LocalBroker, a_task_goes_from_put_to_done) {
  BrokerDriver d;
  const Put put = d.put(to("emails", {.payload = "hello"}));
  EXPECT_FALSE(put.id.value.is_nil());
  EXPECT_EQ(put.state, TaskState::queued);
  const Lease lease = d.take_one("emails");
  EXPECT_EQ(lease.id, put.id);
  EXPECT_EQ(lease.payload, "hello");
  EXPECT_EQ(d.settle(lease, Done{"result"}).state, TaskState::completed);
  EXPECT_EQ(d.find(put.id).result, "result");
}

TEST(LocalBroker, bad_tasks_are_refused_one_by_one_and_the_others_go_on) {
  BrokerDriver d;
  const auto results = must(d.try_put({to("q"), to("q", {.priority = 77}), to("$mine"),
                                       to("bad name"), to("q", {.type = "$inner"}), to("q")}));
  ASSERT_THAT(results, SizeIs(6));
  EXPECT_THAT(results[0], IsOk());
  EXPECT_THAT(results[1], FailsWith(ErrorCode::invalid, HasSubstr("priority is 77")));
  EXPECT_THAT(results[2], FailsWith(ErrorCode::invalid, HasSubstr("$mine")));
  EXPECT_THAT(results[3], FailsWith(ErrorCode::invalid, HasSubstr("bad name")));
  EXPECT_THAT(results[4], FailsWith(ErrorCode::invalid, HasSubstr("$inner")));
  EXPECT_THAT(results[5], IsOk());
  EXPECT_EQ(d.queue("q").counts.ready(), 2U);
  EXPECT_THAT(must(d.wait<std::vector<QueueView>>(
                  [&](auto done) { d.broker->queues(d.ask(), std::nullopt, std::move(done)); })),
              SizeIs(1));
}

TEST(LocalBroker, internal_queues_are_closed_whatever_they_are_called_by) {
  BrokerDriver d;
  const Uuid id = d.queue("$webhooks").queue.settings.id;
  EXPECT_THAT(only(d.try_put({to(id)})), FailsWith(ErrorCode::invalid, HasSubstr("internal")));
  const auto taken = must(d.try_work({.takes = {{.worker = "w", .queues = {{id, 1}}}}}));
  EXPECT_THAT(taken.taken.front(), FailsWith(ErrorCode::invalid, HasSubstr("internal")));
  EXPECT_THAT(d.try_put_queue({.name = "$mine"}), FailsWith(ErrorCode::invalid));
  EXPECT_THAT(d.wait<void>([&](auto done) {
    d.broker->remove_queue(d.ask(), "$webhooks", true, std::move(done));
  }),
              FailsWith(ErrorCode::invalid, HasSubstr("internal")));
}

TEST(LocalBroker, internal_requests_may_use_internal_names) {
  BrokerDriver d;
  const Ask inside{.caller = {2}, .internal = true};
  EXPECT_THAT(only(d.try_put({to("$webhooks", {.type = "webhook"})}, inside)), IsOk());
  const auto taken =
      must(d.try_work({.takes = {{.worker = "$local-1", .queues = {{"$webhooks", 1}}}}}, inside));
  EXPECT_THAT(*taken.taken.front(), SizeIs(1));
  const auto outside = must(d.try_work({.takes = {{.worker = "$local", .queues = {{"q", 1}}}}}));
  EXPECT_THAT(outside.taken.front(), FailsWith(ErrorCode::invalid, HasSubstr("$local")));
}

TEST(LocalBroker, unknown_queues_are_created_with_defaults) {
  LocalBrokerOptions options;
  options.rules.new_queue.max_concurrent = 7;
  BrokerDriver d(options);
  d.put(to("emails"));
  const QueueSettings settings = d.queue("emails").queue.settings;
  EXPECT_FALSE(settings.id.is_nil());
  EXPECT_EQ(settings.max_concurrent, 7U);
  EXPECT_THAT(d.take("others"), IsEmpty()) << "a take creates nothing";
  EXPECT_THAT(only(d.try_put({to("others")})), IsOk());
  EXPECT_EQ(d.queue("others").queue.settings.max_concurrent, 7U);
}

TEST(LocalBroker, names_that_could_be_taken_for_something_else_are_refused) {
  BrokerDriver d;
  for (const auto* name : {"123", ".", "..", "01890a5d-ac96-774b-bcce-b302099a8057"}) {
    EXPECT_THAT(only(d.try_put({to(name)})),
                FailsWith(ErrorCode::invalid, HasSubstr("add a letter")))
        << name;
  }
  EXPECT_THAT(only(d.try_put({to("q123")})), IsOk());
}

TEST(LocalBroker, where_unknown_queues_are_not_created_the_message_helps) {
  BrokerDriver d(no_new_queues());
  d.put_queue({.name = "known"});
  const auto results = must(d.try_put({to("known"), to("emails")}));
  EXPECT_THAT(results[0], IsOk());
  EXPECT_THAT(results[1], FailsWith(ErrorCode::not_found, HasSubstr("create_unknown_queues")));
  const auto taken = must(d.try_work({.takes = {{.worker = "w", .queues = {{"known", 1}}},
                                                {.worker = "w", .queues = {{"emails", 1}}}}}));
  EXPECT_THAT(taken.taken[0], IsOk());
  EXPECT_THAT(taken.taken[1], FailsWith(ErrorCode::not_found, HasSubstr("create_unknown_queues")));
}

TEST(LocalBroker, there_are_as_many_queues_as_the_setting_allows) {
  BrokerDriver d({.rules = {.max_queues = 2}});
  d.put(to("a"));
  d.put(to("b"));
  const auto named = HasSubstr("queues.max_queues");
  EXPECT_THAT(only(d.try_put({to("c")})), FailsWith(ErrorCode::limited, named));
  const auto made = d.try_put_queue({.name = "c"});
  EXPECT_THAT(made, FailsWith(ErrorCode::limited, named));
  EXPECT_TRUE(made.error().lasting) << "waiting does not help";
  const Lease lease = d.take_one("a");
  EXPECT_THAT(d.try_settle(lease, Done{}, {to("c")}), FailsWith(ErrorCode::limited, named));
  EXPECT_THAT(only(d.try_put({to("b")})), IsOk());
  must(d.wait<void>(
      [&](auto done) { d.broker->remove_queue(d.ask(), "a", true, std::move(done)); }));
  d.broker->run_services();
  EXPECT_THAT(only(d.try_put({to("c")})), IsOk());
}

TEST(LocalBroker, a_key_creates_as_many_queues_as_the_setting_allows) {
  BrokerDriver d({.rules = {.max_queues_per_key = 2}});
  const auto put = [&](const char* queue, std::uint64_t key) {
    return only(d.try_put({to(queue)}, {.caller = {1}, .key = key}));
  };
  EXPECT_THAT(put("a", 7), IsOk());
  EXPECT_THAT(put("b", 7), IsOk());
  EXPECT_THAT(put("c", 7), FailsWith(ErrorCode::limited, HasSubstr("queues.max_per_key")));
  EXPECT_THAT(put("a", 7), IsOk());
  EXPECT_THAT(put("c", 8), IsOk()) << "another key";
  EXPECT_THAT(put("d", 0), IsOk()) << "a key that manages queues";
  must(d.wait<void>(
      [&](auto done) { d.broker->remove_queue(d.ask(), "a", true, std::move(done)); }));
  d.broker->run_services();
  EXPECT_THAT(put("e", 7), IsOk()) << "what was removed does not count";
}

TEST(LocalBroker, a_take_waits_on_though_one_of_its_queues_is_removed) {
  BrokerDriver d;
  d.put_queue({.name = "gone"});
  d.put_queue({.name = "live"});
  TakeRequest take{.worker = "w", .queues = {{"gone", 1}, {"live", 1}}};
  std::promise<Result<WorkResult>> got;
  d.broker->work({.caller = {2}}, {.takes = {take}, .wait = 10s},
                 [&](Result<WorkResult> result) { got.set_value(std::move(result)); });
  must(d.wait<void>(
      [&](auto done) { d.broker->remove_queue(d.ask(), "gone", true, std::move(done)); }));
  d.broker->run_services();
  d.put(to("live"));
  auto result = got.get_future();
  ASSERT_EQ(result.wait_for(10s), std::future_status::ready);
  EXPECT_THAT(must(must(result.get()).taken.front()), SizeIs(1));
}

TEST(LocalBroker, an_unknown_number_creates_nothing) {
  BrokerDriver d;
  EXPECT_THAT(only(d.try_put({to(QueueNumber{5})})),
              FailsWith(ErrorCode::not_found, HasSubstr("number 5")));
}

TEST(LocalBroker, a_queue_that_was_removed_comes_back_with_its_next_task) {
  BrokerDriver d;
  d.put(to("q"));
  must(d.wait<void>(
      [&](auto done) { d.broker->remove_queue(d.ask(), "q", true, std::move(done)); }));
  EXPECT_THAT(only(d.try_put({to("q")})), FailsWith(ErrorCode::conflict));
  d.broker->run_services();
  EXPECT_THAT(only(d.try_put({to("q")})), IsOk());
  EXPECT_EQ(d.queue("q").counts.total(), 1U);
}

TEST(LocalBroker, the_same_id_put_twice_is_one_task) {
  BrokerDriver d;
  const Put first = d.put(to("q"));
  const Put second = d.put(to("q", {.id = first.id}));
  EXPECT_TRUE(second.existing);
  EXPECT_EQ(d.queue("q").stats.put, 1U);
}

TEST(LocalBroker, more_than_a_batch_is_refused_whole) {
  BrokerDriver d;
  EXPECT_THAT(d.try_put(std::vector<NewTask>(limits::max_batch + 1, to("q"))),
              FailsWith(ErrorCode::too_large));
  WorkOrder order;
  order.reports.resize(limits::max_batch + 1);
  EXPECT_THAT(d.try_work(std::move(order)), FailsWith(ErrorCode::too_large));
}

TEST(LocalBroker, a_callback_that_could_not_be_delivered_is_refused) {
  const std::unique_ptr<Store> store = open_memory();
  ManualClock clock(t0);
  LocalBroker broker(clock, *store, {.keep_time = false});
  const auto results = must(wait_for_answer<std::vector<Result<Put>>>([&](auto done) {
    broker.put({}, {to("q", {.callback = Callback{.url = "http://x"}})}, std::move(done));
  }));
  EXPECT_THAT(results.front(), FailsWith(ErrorCode::invalid, HasSubstr("callback")));
}

// ---- Work ---------------------------------------------------------------------------------------

TEST(LocalBroker, one_order_settles_extends_and_takes) {
  BrokerDriver d;
  for (int i = 0; i < 3; ++i) d.put(to("q"));
  const auto leases = d.take("q", 2);
  WorkOrder order;
  order.reports.push_back({leases[0].id, leases[0].token, Done{}});
  order.extensions.push_back({.id = leases[1].id, .token = leases[1].token, .progress = 50});
  order.takes.push_back({.worker = "w", .queues = {{"q", 5}}});
  const auto result = must(d.try_work(std::move(order)));
  EXPECT_EQ(result.settled.front()->state, TaskState::completed);
  EXPECT_THAT(result.extended.front(), IsOk());
  EXPECT_THAT(*result.taken.front(), SizeIs(1));
  EXPECT_EQ(d.find(leases[1].id).progress, 50);
}

TEST(LocalBroker, a_report_about_an_old_lease_is_lease_lost_and_changes_nothing) {
  BrokerDriver d;
  d.put(to("q"));
  const Lease first = d.take_one("q");
  EXPECT_EQ(d.settle(first, GiveBack{}).state, TaskState::queued);
  const Lease second = d.take_one("q");
  EXPECT_THAT(d.try_settle(first, Done{}), FailsWith(ErrorCode::lease_lost));
  EXPECT_EQ(d.settle(second, Done{}).status, SettleStatus::applied);
  EXPECT_EQ(d.settle(second, Failed{error("late")}).status, SettleStatus::already);
  EXPECT_EQ(d.find(second.id).state, TaskState::completed);
}

TEST(LocalBroker, a_worker_that_ran_through_a_restart_can_settle) {
  BrokerDriver d;
  d.put(to("q", {.retry = RetryRules{.base = 7s, .jitter = Jitter::none}}));
  d.put(to("q"));
  const auto leases = d.take("q", 2);
  d.restart();
  EXPECT_EQ(d.settle(leases[0], Failed{error("again")}).state, TaskState::retrying);
  EXPECT_EQ(d.find(leases[0].id).start, d.now() + 7s);
  EXPECT_EQ(d.settle(leases[1], Done{"r"}).state, TaskState::completed);
  EXPECT_EQ(d.find(leases[1].id).result, "r");
}

TEST(LocalBroker, a_report_about_a_task_that_is_gone_is_not_found) {
  BrokerDriver d;
  d.put(to("q"));
  Lease lease = d.take_one("q");
  WorkOrder order;
  order.reports.push_back({fresh_id(), Token{77}, Done{}});
  order.reports.push_back({lease.id, lease.token, Done{}});
  order.takes.push_back({.worker = "w", .queues = {{"q", 1}}});
  const auto result = must(d.try_work(std::move(order)));
  ASSERT_THAT(result.settled, SizeIs(2));
  EXPECT_THAT(result.settled[0], FailsWith(ErrorCode::not_found));
  EXPECT_THAT(result.settled[1], IsOk());
  EXPECT_THAT(result.taken, SizeIs(1));
}

// S1-028, S0-145…149
TEST(LocalBroker, the_policy_is_the_tasks_then_its_types_then_the_queues_then_the_servers) {
  LocalBrokerOptions options;
  options.rules.retry = {.base = 1s, .jitter = Jitter::none, .max_retries = 1};
  BrokerDriver d(options);
  d.put_queue({.name = "plain"});
  d.put_queue(
      {.name = "q", .retry = {.base = 10s}, .types = {{.type = "t", .retry = {.base = 100s}}}});
  const auto delay_of = [&](NewTask task) {
    d.put(task);
    const Lease lease = d.take_one(task.queue);
    d.settle(lease, Failed{error("no")});
    return d.find(lease.id).start - d.now();
  };
  EXPECT_EQ(delay_of(to("plain")), 1s);
  EXPECT_EQ(delay_of(to("q")), 10s);
  EXPECT_EQ(delay_of(to("q", {.type = "t"})), 100s);
  EXPECT_EQ(delay_of(to("q", {.type = "t", .retry = RetryRules{.base = 1000s}})), 1000s);
}

TEST(LocalBroker, a_lease_says_how_long_its_run_may_take) {
  BrokerDriver d;
  d.put_queue({.name = "q", .timeout = 10s, .types = {{.type = "t", .timeout = 20s}}});
  for (const auto& [task, timeout] : {std::pair{to("q"), 10s},
                                      {to("q", {.type = "t"}), 20s},
                                      {to("q", {.type = "t", .timeout = 30s}), 30s}}) {
    d.put(task);
    EXPECT_EQ(d.take_one("q").timeout, timeout);
  }
}

TEST(LocalBroker, follow_ups_are_stored_with_the_settlement_and_get_ids_and_queues) {
  BrokerDriver d;
  d.put(to("q"));
  const Lease lease = d.take_one("q");
  EXPECT_THAT(d.try_settle(lease, Done{}, {to("next"), to("$webhooks")}),
              FailsWith(ErrorCode::invalid, HasSubstr("follow-up 2")));
  EXPECT_EQ(d.find(lease.id).state, TaskState::processing);
  EXPECT_THAT(d.try_settle(lease, Done{}, {to("next"), to("other")}), IsOk());
  EXPECT_THAT(d.take("next"), SizeIs(1));
  EXPECT_THAT(d.take("other"), SizeIs(1));
}

TEST(LocalBroker, results_stay_beside_their_reports_where_some_are_refused) {
  BrokerDriver d;
  for (int i = 0; i < 3; ++i) d.put(to("q"));
  const auto leases = d.take("q");
  WorkOrder order;
  for (const Lease& lease : leases) order.reports.push_back({lease.id, lease.token, Done{}});
  order.reports[1].follow_ups = {to("$no")};
  const auto result = must(d.try_work(std::move(order)));
  EXPECT_THAT(result.settled[0], IsOk());
  EXPECT_THAT(result.settled[1], FailsWith(ErrorCode::invalid));
  EXPECT_THAT(result.settled[2], IsOk());
  EXPECT_EQ(d.find(leases[1].id).state, TaskState::processing);
  EXPECT_EQ(d.find(leases[2].id).state, TaskState::completed);
}

TEST(LocalBroker, what_is_given_back_can_be_taken_at_once_and_is_not_held_any_more) {
  BrokerDriver d;
  d.put(to("q"));
  const auto result = must(d.try_work({.takes = {{.worker = "w", .queues = {{"q", 1}}}}}));
  d.broker->give_back(result);
  EXPECT_THAT(d.take("q"), SizeIs(1));
  const auto workers = must(d.wait<std::vector<WorkerView>>(
      [&](auto done) { d.broker->workers(d.ask(), std::move(done)); }));
  ASSERT_THAT(workers, SizeIs(1));
  EXPECT_EQ(workers.front().holding, 1U);
}

TEST(LocalBroker, a_heartbeat_is_a_sign_of_life) {
  BrokerDriver d;
  d.put(to("q"));
  const Lease lease = d.take_one("q");
  d.pass(20s);
  const auto extend = [&] {
    WorkOrder order;
    order.extensions.push_back({.id = lease.id, .token = lease.token});
    return must(d.try_work(std::move(order))).extended.front();
  };
  const auto worker = [&] {
    return must(d.wait<std::vector<WorkerView>>(
                    [&](auto done) { d.broker->workers(d.ask(), std::move(done)); }))
        .front();
  };
  EXPECT_THAT(extend(), IsOk());
  EXPECT_EQ(worker().last_seen, t0 + 20s);
  EXPECT_EQ(worker().holding, 1U);
  d.live(3min);
  EXPECT_EQ(worker().holding, 0U);
  EXPECT_THAT(extend(), FailsWith(ErrorCode::lease_lost));
}

// S0-159
TEST(LocalBroker, retries_and_failures_are_logged) {
  BrokerDriver d;
  const Put put = d.put(to("q", {.retry = RetryRules{.jitter = Jitter::none, .max_retries = 1}}));
  d.settle(d.take_one("q"), Failed{error("no")});
  d.live(31s);
  d.settle(d.take_one("q"), Failed{error("no")});
  const std::string id = to_text(put.id.value);
  EXPECT_THAT(d.logged.lines(),
              ::testing::IsSupersetOf(
                  {"Scheduling retry #1 for task " + id + " at 2030-01-01T00:00:30.000Z",
                   "task " + id + " failed and has no retry left",
                   std::string("1 delayed or retrying tasks are due")}));
}

// S0-142
// What is to start at a moment starts at that moment, not with the next sweep.
TEST(LocalBroker, delays_end_to_the_millisecond) {
  BrokerDriver d;
  d.put_queue({.name = "q", .retry = {.base = 300ms, .jitter = Jitter::none}});
  const auto ends_in_time = [&](TaskId id) {
    EXPECT_GT(d.find(id).start, d.now());
    d.pass(300ms);
    d.broker->run_services();
    return d.find(id).state == TaskState::queued;
  };
  d.broker->run_services();
  const Put put = d.put(to("q", {.delay = 300ms}));
  EXPECT_TRUE(ends_in_time(put.id));
  d.settle(d.take_one("q"), Failed{error("no")});
  EXPECT_TRUE(ends_in_time(put.id));
  d.settle(d.take_one("q"), Snooze{d.now() + 300ms});
  EXPECT_TRUE(ends_in_time(put.id));
  const TaskId child = fresh_id();
  must(d.try_settle(d.take_one("q"), Done{}, {to("q", {.id = child, .delay = 300ms})}));
  EXPECT_TRUE(ends_in_time(child));
  must(d.wait<Broker::States>([&](auto done) {
    d.broker->update(d.ask(), {{.id = child, .start = d.now() + 300ms}}, std::move(done));
  }));
  EXPECT_TRUE(ends_in_time(child));
}

// ---- BrokerMetrics and workers
// ------------------------------------------------------------------------

TEST(LocalBroker, metrics_count_what_happened) {
  BrokerDriver d;
  d.put_queue({.name = "q", .retry = {.max_retries = 0}});
  for (int i = 0; i < 5; ++i) d.put(to("q"));
  d.pass(2s);
  const auto leases = d.take("q");
  d.pass(4s);
  d.settle(leases[0], Done{});
  d.settle(leases[1], Failed{error("no")});
  d.settle(leases[2], Snooze{d.now() + 1h});
  d.settle(leases[3], GiveBack{});
  d.settle(leases[4], Cancel{"no"});
  const QueueStats stats = d.queue("q").stats;
  EXPECT_EQ(stats.since, t0);
  EXPECT_EQ(stats.put, 5U);
  EXPECT_EQ(stats.taken, 5U);
  EXPECT_EQ(stats.completed, 1U);
  EXPECT_EQ(stats.failed, 1U);
  EXPECT_EQ(stats.snoozed, 1U);
  EXPECT_EQ(stats.given_back, 1U);
  EXPECT_EQ(stats.cancelled, 1U);
  EXPECT_DOUBLE_EQ(stats.mean_wait_seconds, 2);
  EXPECT_DOUBLE_EQ(stats.mean_run_seconds, 4);
  EXPECT_DOUBLE_EQ(stats.take_rate, 5.0 / 6);
  EXPECT_EQ(stats.last_asked, t0 + 2s);
}

TEST(LocalBroker, workers_are_known_by_what_they_ask_for_and_hold) {
  BrokerDriver d;
  for (int i = 0; i < 3; ++i) d.put(to("q"));
  const auto leases = d.take("q", 2, "worker-1");
  d.settle(leases[0], Done{});
  const auto workers = must(d.wait<std::vector<WorkerView>>(
      [&](auto done) { d.broker->workers(d.ask(), std::move(done)); }));
  ASSERT_THAT(workers, SizeIs(1));
  EXPECT_EQ(workers[0].name, "worker-1");
  EXPECT_THAT(workers[0].queues, ElementsAre("q"));
  EXPECT_EQ(workers[0].taken, 2U);
  EXPECT_EQ(workers[0].settled, 1U);
  EXPECT_EQ(workers[0].holding, 1U);
  EXPECT_THAT(workers[0].tasks, ElementsAre(leases[1].id));
}

}  // namespace
}  // namespace millrace
