// Brokers that share their store, and whose store may go away and come back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <string>
#include <vector>

#include "broker/alerter.h"
#include "broker/history.h"
#include "broker/local_broker.h"
#include "tests/support/broker_driver.h"
#include "tests/support/matchers.h"
#include "tests/support/shared_server.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Two brokers over one server, with time moved for both.
class LocalShared : public ::testing::TestWithParam<bool> {
 protected:
  SharedServer server_{{.pushes = GetParam()}};
  BrokerDriver one_{options(), server_.connect()};
  BrokerDriver two_{options(), server_.connect()};

  static LocalBrokerOptions options() {
    LocalBrokerOptions options;
    options.rules.history = true;
    return options;
  }
  void live(Duration by) {
    for (Duration done{}; done < by; done += 250ms) {
      for (BrokerDriver* each : {&one_, &two_}) each->clock.advance(250ms);
      for (BrokerDriver* each : {&one_, &two_}) each->broker->run_services();
    }
  }
  // Long enough for the other broker to notice: at once if it is told, else when it looks.
  void let_refresh() { live(GetParam() ? 250ms : 5s); }

  static std::future<Result<WorkResult>> take_later(BrokerDriver& d, Duration wait) {
    auto promise = std::make_shared<std::promise<Result<WorkResult>>>();
    auto answer = promise->get_future();
    d.broker->work({.caller = {9}},
                   {.takes = {{.worker = "w", .queues = {{"q", 1}}}}, .wait = wait},
                   [promise](Result<WorkResult> result) { promise->set_value(std::move(result)); });
    return answer;
  }
  static std::size_t logged(BrokerDriver& d, const std::string& text) {
    const auto lines = d.logged.lines();
    return static_cast<std::size_t>(std::ranges::count_if(
        lines, [&](const std::string& line) { return line.find(text) != std::string::npos; }));
  }
};

INSTANTIATE_TEST_SUITE_P(Hints, LocalShared, ::testing::Values(true, false),
                         [](const auto& each) { return each.param ? "pushed" : "polled"; });

// ---- Not alone ---------------------------------------------------------------------------------

TEST_P(LocalShared, a_put_through_one_is_work_for_a_take_that_waits_at_the_other) {
  two_.put_queue(queue("q"));
  live(5s);
  auto taken = take_later(one_, 1h);
  while (one_.broker->stats().rounds.parked == 0) std::this_thread::yield();
  const Put put = two_.put(task("q"));
  if (!GetParam()) one_.clock.advance(250ms);
  ASSERT_EQ(taken.wait_for(30s), std::future_status::ready);
  const auto result = must(taken.get());
  ASSERT_THAT(result.taken.front(), IsOkAndHolds(SizeIs(1)));
  EXPECT_EQ(result.taken.front()->front().id, put.id);
}

TEST_P(LocalShared, what_one_takes_the_other_may_settle) {
  two_.put_queue(queue("q", {.retry = {.max_retries = 0}}));
  const Put put = two_.put(task("q"));
  const Lease lease = one_.take_one("q");
  EXPECT_EQ(two_.settle(lease, Failed{.error = {.code = "x"}}).state, TaskState::dead);
  EXPECT_THAT(one_.try_settle(lease, Done{}), IsOk()) << "already";
  EXPECT_EQ(one_.find(put.id).state, TaskState::dead);
}

TEST_P(LocalShared, settings_changed_through_one_hold_at_the_other) {
  one_.put_queue(queue("q"));
  let_refresh();
  two_.put(task("q"));
  EXPECT_EQ(two_.take_one("q").timeout, std::nullopt);
  one_.put_queue(queue("q", {.timeout = 7s}));
  let_refresh();
  two_.put(task("q"));
  EXPECT_EQ(two_.take_one("q").timeout, 7s);
}

TEST_P(LocalShared, a_queue_removed_through_one_is_gone_at_the_other) {
  one_.put_queue(queue("q"));
  let_refresh();
  two_.put_queue(queue("r"));
  EXPECT_THAT(two_.wait<void>([&](auto done) {
    two_.broker->remove_queue(two_.ask(), "q", false, std::move(done));
  }),
              IsOk());
  let_refresh();
  std::vector<std::string> names;
  const auto seen = must(one_.wait<MetricsSnapshot>(
      [&](auto done) { one_.broker->metrics(one_.ask(), std::move(done)); }));
  for (const QueueView& view : seen.queues) names.push_back(view.queue.settings.name);
  EXPECT_THAT(names, Not(Contains("q")));
  EXPECT_THAT(names, Contains("r"));
}

TEST_P(LocalShared, a_schedule_ticks_once) {
  one_.put_queue(queue("q"));
  Schedule schedule{.name = "s",
                    .rule = {.every = 10s},
                    .task = NewTask{.queue = "q"},
                    .overlap = Overlap::allow};
  one_.put_schedule(schedule);
  live(95s);
  EXPECT_THAT(one_.all("q"), SizeIs(9));
  EXPECT_EQ(two_.schedule("s").fired, 9U);
  EXPECT_EQ(logged(one_, "cannot fire") + logged(two_, "cannot fire"), 0U);
}

// The edit leaves the next tick where it is, so only the schedule's version tells.
TEST_P(LocalShared, a_tick_whose_task_was_edited_just_before_it_puts_the_new_task) {
  one_.put_queue(queue("q"));
  one_.put_schedule({.name = "s",
                     .rule = {.every = 10s},
                     .task = NewTask{.queue = "q", .payload = "old"},
                     .overlap = Overlap::allow});
  live(9s);
  const TimePoint next = two_.schedule("s").next;
  must(two_.wait<Schedule>([&](auto done) {
    const auto edit = [](Schedule& stored) -> Result<void> {
      stored.task.payload = "new";
      return {};
    };
    two_.broker->change_schedule(two_.ask(), "s", edit, std::move(done));
  }));
  ASSERT_EQ(server_.direct().schedules("s")->front().next, next);
  // Only the first broker runs, and it may not have read the schedule again.
  one_.clock.advance(1s);
  one_.broker->run_services();
  live(1s);
  EXPECT_THAT(one_.payloads("q"), ::testing::ElementsAre("new"));
}

TEST_P(LocalShared, a_schedule_and_a_queue_that_are_removed_do_not_come_back) {
  one_.put_queue(queue("q"));
  one_.put_schedule({.name = "s", .rule = {.every = 10s}, .task = NewTask{.queue = "q"}});
  live(6s);
  EXPECT_THAT(two_.wait<void>([&](auto done) {
    two_.broker->remove_schedule(two_.ask(), "s", std::move(done));
  }),
              IsOk());
  EXPECT_THAT(two_.wait<void>([&](auto done) {
    two_.broker->remove_queue(two_.ask(), "q", true, std::move(done));
  }),
              IsOk());
  live(10s);
  EXPECT_THAT(server_.direct().queues("q"), FailsWith(ErrorCode::not_found));
}

TEST_P(LocalShared, a_schedule_that_one_changes_the_other_does_not_fire_as_it_was) {
  one_.put_queue(queue("q"));
  Schedule schedule{
      .name = "s", .rule = {.every = 1h}, .task = NewTask{.queue = "q"}, .overlap = Overlap::allow};
  one_.put_schedule(schedule);
  live(6s);
  schedule.rule.every = 10s;
  two_.put_schedule(schedule);
  live(60s);
  EXPECT_THAT(one_.all("q"), SizeIs(::testing::AllOf(::testing::Ge(5U), ::testing::Le(6U))));
}

TEST_P(LocalShared, a_result_is_waited_for_at_one_and_comes_through_the_other) {
  one_.put_queue(queue("q"));
  const Put put = one_.put(task("q"));
  std::promise<Result<Task>> promise;
  auto answer = promise.get_future();
  one_.broker->await(one_.ask(), put.id, 1h,
                     [&](Result<Task> task) { promise.set_value(std::move(task)); });
  two_.settle(two_.take_one("q"), Done{.result = "42"});
  live(2s);
  ASSERT_EQ(answer.wait_for(30s), std::future_status::ready);
  EXPECT_EQ(must(answer.get()).result, "42");
}

TEST_P(LocalShared, upkeep_by_both_is_done_once_and_quietly) {
  one_.put_queue(queue("q", {.lease = 1s}));
  live(31s);
  std::vector<TaskId> ids;
  for (int i = 0; i < 10; ++i) {
    ids.push_back(one_.put(task("q", {.keep_for = 0s})).id);
    one_.take_one("q");
  }
  // Both look at the same moment.
  one_.clock.advance(2s);
  two_.clock.advance(2s);
  one_.broker->run_services();
  two_.broker->run_services();
  for (const TaskId& id : ids) EXPECT_EQ(one_.find(id).counters.lost, 1U);
  EXPECT_EQ(logged(one_, "cannot be settled") + logged(two_, "cannot be settled"), 0U);
}

TEST_P(LocalShared, both_follow_the_clock_of_the_store) {
  server_.set_time(t0 + 24h);
  live(5s);
  for (BrokerDriver* each : {&one_, &two_}) EXPECT_GE(each->broker->now(), t0 + 24h);
}

TEST_P(LocalShared, a_clock_of_the_store_that_is_behind_was_not_set_back) {
  server_.set_time(t0 - 1h);
  BrokerDriver late(options(), server_.connect());
  for (int i = 0; i < 5; ++i) {
    late.clock.advance(1s);
    server_.set_time(t0 - 1h + (i + 1) * 1s);
    late.broker->run_services();
  }
  EXPECT_EQ(logged(late, "set back"), 0U);
  EXPECT_LT(late.broker->now(), t0);
}

// ---- Away and back -----------------------------------------------------------------------------

TEST_P(LocalShared, a_store_that_was_away_is_used_again) {
  one_.put_queue(queue("q"));
  server_.go_away();
  const auto lost = one_.try_put({task("q")});
  ASSERT_THAT(lost, FailsWith(ErrorCode::unavailable));
  EXPECT_EQ(lost.error().retry_after, 1s);
  EXPECT_TRUE(one_.broker->failure());
  server_.come_back();
  EXPECT_THAT(one_.try_put({task("q")}), IsOk());
  EXPECT_FALSE(one_.broker->failure());
}

TEST_P(LocalShared, upkeep_goes_on_and_says_once_that_it_was_lost_and_once_that_it_is_back) {
  live(5s);
  server_.go_away();
  live(60s);
  EXPECT_TRUE(one_.broker->failure());
  server_.come_back();
  live(6s);
  EXPECT_FALSE(one_.broker->failure());
  for (BrokerDriver* each : {&one_, &two_}) {
    EXPECT_EQ(logged(*each, "the store is away: the connection is lost"), 1U);
    EXPECT_EQ(logged(*each, "the store is back after"), 1U);
    EXPECT_EQ(logged(*each, "failed"), 0U);
  }
}

TEST_P(LocalShared, upkeep_of_a_store_that_is_away_does_not_spin) {
  live(5s);
  server_.go_away();
  const std::uint64_t before = server_.calls();
  live(60s);
  EXPECT_LT(server_.calls() - before, 2 * (60 * 4 + 60 * 7)) << "every poll, and upkeep";
}

// Design 2.1: nothing is settled as lost in the first 30 s after an outage.
TEST_P(LocalShared, after_an_outage_workers_have_30_seconds_to_come_back) {
  one_.put_queue(queue("q", {.lease = 10s}));
  const Put put = one_.put(task("q"));
  live(31s);
  const Lease lease = one_.take_one("q");
  server_.go_away();
  live(20s);
  server_.come_back();
  live(28s);
  EXPECT_EQ(one_.find(put.id).state, TaskState::processing);
  EXPECT_EQ(one_.settle(lease, Done{}).state, TaskState::completed);

  const Put other = one_.put(task("q"));
  static_cast<void>(one_.take_one("q"));
  server_.go_away();
  live(20s);
  server_.come_back();
  live(37s);
  EXPECT_EQ(one_.find(other.id).state, TaskState::queued);
}

TEST_P(LocalShared, a_blip_does_not_keep_lost_leases_alive) {
  one_.put_queue(queue("q", {.lease = 10s}));
  live(31s);
  const Put put = one_.put(task("q"));
  static_cast<void>(one_.take_one("q"));
  live(9s);
  server_.go_away();
  live(1s);
  server_.come_back();
  live(5s);
  EXPECT_EQ(one_.find(put.id).state, TaskState::queued);
}

TEST_P(LocalShared, a_caller_that_waits_for_a_result_goes_on_waiting_through_an_outage) {
  one_.put_queue(queue("q"));
  const Put put = one_.put(task("q"));
  std::promise<Result<Task>> promise;
  auto answer = promise.get_future();
  one_.broker->await(one_.ask(), put.id, 1h,
                     [&](Result<Task> task) { promise.set_value(std::move(task)); });
  one_.finish_reads();  // from now on it waits
  live(2s);
  server_.go_away();
  live(20s);
  ASSERT_EQ(answer.wait_for(0s), std::future_status::timeout);
  server_.come_back();
  two_.settle(two_.take_one("q"), Done{.result = "42"});
  live(6s);
  ASSERT_EQ(answer.wait_for(30s), std::future_status::ready);
  EXPECT_EQ(must(answer.get()).result, "42");
}

// The tick was fired, and lost with the server before it was flushed.
TEST_P(LocalShared, a_tick_that_was_lost_with_the_store_fires_again) {
  one_.put_queue(queue("q"));
  one_.put_schedule({.name = "s", .rule = {.every = 60s}, .task = NewTask{.queue = "q"}});
  live(59s);
  for (BrokerDriver* each : {&one_, &two_}) each->clock.advance(2s);
  server_.lose_answers(1'000);
  one_.broker->run_services();
  server_.crash();
  EXPECT_EQ(server_.direct().schedules("s")->front().fired, 0U);
  server_.come_back();
  live(6s);
  EXPECT_EQ(one_.schedule("s").fired, 1U);
  EXPECT_THAT(one_.all("q"), SizeIs(1));
}

TEST_P(LocalShared, a_broker_that_starts_while_the_store_is_away_gets_its_queues_later) {
  SharedServer server({.pushes = GetParam()});
  server.go_away();
  BrokerDriver late(options(), server.connect());
  server.come_back();
  late.live(6s);
  EXPECT_THAT(late.try_put({task("$webhooks")}, {.caller = {1}, .internal = true}), IsOk());
  EXPECT_EQ(late.queue("$bulk").queue.settings.name, "$bulk");
}

TEST_P(LocalShared, what_needs_a_new_queue_fails_with_the_store_and_not_for_want_of_the_queue) {
  server_.lose_answers(1);
  const auto put = one_.try_put({task("new")});
  ASSERT_TRUE(!put || !put->front());
  EXPECT_EQ(put ? put->front().error().code : put.error().code, ErrorCode::unavailable);
  EXPECT_THAT(one_.try_put({task("new")}), IsOkAndHolds(Each(IsOk())));
}

// Whichever call's answer was lost.
TEST_P(LocalShared, the_history_counts_nothing_twice_when_an_answer_is_lost) {
  for (std::uint64_t good = 0; good <= 30; ++good) {
    SharedServer server({.pushes = GetParam()});
    BrokerDriver d(options(), server.connect());
    d.broker->run_services();
    d.put_queue(queue("q"));
    for (int i = 0; i < 3; ++i) d.put(task("q"));
    d.pass(60s);
    server.lose_answers(1, good);
    d.broker->run_services();
    server.lose_answers(0);
    d.live(20s);
    const auto history = must(d.wait<History>(
        [&](auto done) { d.broker->history(d.ask(), {.until = d.now()}, std::move(done)); }));
    std::uint64_t put = 0;
    for (const HistoryPoint& point : history.points) put += point.put;
    EXPECT_EQ(put, 3U) << "after " << good << " good answers one was lost";
  }
}

TEST_P(LocalShared, an_alert_about_a_queue_that_all_see_is_sent_once) {
  SharedServer server({.pushes = GetParam()});
  LocalBrokerOptions watching;
  watching.rules.alerts = true;
  watching.alerter = AlerterOptions{.limits = {.depth = 2}};
  BrokerDriver one(watching, server.connect());
  BrokerDriver two(watching, server.connect());
  one.put_queue(queue("q"));
  for (int i = 0; i < 5; ++i) one.put(task("q"));
  for (int i = 0; i < 30; ++i) {
    one.live(1s);
    two.live(1s);
  }
  EXPECT_THAT(two.all("$alerts"), SizeIs(1));
}

TEST_P(LocalShared, stopping_does_not_wait_for_a_store_that_is_away) {
  auto taken = take_later(one_, 1h);
  server_.go_away();
  one_.broker->stop();
  ASSERT_EQ(taken.wait_for(30s), std::future_status::ready);
  EXPECT_THAT(taken.get(), FailsWith(ErrorCode::unavailable));
}

}  // namespace
}  // namespace millrace
