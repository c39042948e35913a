// The end of a lease: every event, repeats, cancel requests, and several things in one commit.
#include <gmock/gmock.h>

#include "store/store.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// ---- Every event -------------------------------------------------------------------------------

// S0-026, S0-094, S0-061, S0-066, S1-011
TEST_P(StoreConformance, done_completes_the_task_and_keeps_its_result) {
  const TaskId id = put(task("q")).id;
  const Lease lease = take_one("q");
  pass(3s);
  EXPECT_EQ(settle(done(lease, "{\"sent\":true}")), TaskState::completed);
  const Task found = find(id);
  EXPECT_EQ(found.state, TaskState::completed);
  EXPECT_EQ(found.result, "{\"sent\":true}");
  EXPECT_EQ(found.started_at, t0);
  EXPECT_EQ(found.finished_at, now);
  EXPECT_EQ(found.updated_at, now);
  EXPECT_EQ(found.lease_until, std::nullopt);
  EXPECT_EQ(found.worker, "worker-1");
  EXPECT_EQ(found.error, std::nullopt);
}

// S0-064, S1-012, S2-008
TEST_P(StoreConformance, retry_sends_the_task_back_with_its_error) {
  const TaskId id = put(task("q")).id;
  EXPECT_EQ(settle(retry_at(take_one("q"), now + 30s, error("timeout"))), TaskState::retrying);
  const Task found = find(id);
  EXPECT_EQ(found.state, TaskState::retrying);
  EXPECT_EQ(found.error, error("timeout"));
  EXPECT_EQ(found.finished_at, std::nullopt);
  EXPECT_EQ(found.lease_until, std::nullopt);
}

// S0-027, S0-098, S0-062
TEST_P(StoreConformance, fail_ends_the_task_as_failed) {
  const TaskId id = put(task("q")).id;
  TaskError why = error("no such user", "bad_request");
  why.details = "{\"field\":\"to\"}";
  why.stack = "at f()";
  EXPECT_EQ(settle(failed(take_one("q"), why)), TaskState::failed);
  EXPECT_EQ(find(id).error, why);
  EXPECT_EQ(find(id).finished_at, now);
}

// S0-098, S0-065, S0-067
TEST_P(StoreConformance, exhaust_ends_the_task_as_dead) {
  const TaskId id = put(task("q")).id;
  EXPECT_EQ(settle(exhausted(take_one("q"), error("third time"))), TaskState::dead);
  EXPECT_EQ(find(id).error, error("third time"));
  EXPECT_EQ(find(id).finished_at, now);
}

TEST_P(StoreConformance, snooze_delays_the_task) {
  const TaskId id = put(task("q")).id;
  EXPECT_EQ(settle(snoozed(take_one("q"), now + 30s)), TaskState::delayed);
  EXPECT_EQ(find(id).start, now + 30s);
  pass(30s - 1ms);
  EXPECT_THAT(take("q"), IsEmpty());
  pass(1ms);
  EXPECT_EQ(take_one("q").id, id);
}

TEST_P(StoreConformance, give_back_queues_the_task_again) {
  const TaskId id = put(task("q")).id;
  EXPECT_EQ(settle(given_back(take_one("q"))), TaskState::queued);
  EXPECT_EQ(take_one("q").id, id);
}

TEST_P(StoreConformance, a_handler_may_end_its_own_task_as_cancelled) {
  const TaskId id = put(task("q")).id;
  EXPECT_EQ(settle(cancelled(take_one("q"))), TaskState::cancelled);
  EXPECT_EQ(find(id).finished_at, now);
}

TEST_P(StoreConformance, a_retry_in_the_past_may_be_taken_at_once) {
  const TaskId id = put(task("q")).id;
  EXPECT_EQ(settle(retry_at(take_one("q"), now - 1h)), TaskState::retrying);
  EXPECT_EQ(take_one("q").id, id);
}

TEST_P(StoreConformance, an_event_that_does_not_suit_the_expectation_is_invalid) {
  put(task("q"));
  Settlement settlement = done(take_one("q"));
  for (const Event event : {Event::release, Event::become_due, Event::take, Event::lose,
                            Event::expire, Event::revive}) {
    settlement.event = event;
    expect_unchanged([&] { EXPECT_THAT(try_settle(settlement), FailsWith(ErrorCode::invalid)); });
  }
}

TEST_P(StoreConformance, the_error_stays_while_the_task_is_retried) {
  const TaskId id = put(task("q")).id;
  settle(retry_at(take_one("q"), now, error("timeout")));
  advance();
  EXPECT_EQ(find(id).error, error("timeout"));
  take_one("q");
  EXPECT_EQ(find(id).error, error("timeout"));
}

TEST_P(StoreConformance, a_final_task_is_never_given_out_again) {
  for (const TaskState state : final_states) task_in(state, "q");
  pass(24h);
  EXPECT_THAT(take("q"), IsEmpty());
}

// ---- History -----------------------------------------------------------------------------------

// S0-025
TEST_P(StoreConformance, the_history_has_a_line_for_every_attempt_that_ended) {
  const TaskId id = put(task("q")).id;
  const Lease first = take_one("q");
  pass(1s);
  settle(retry_at(first, now, error("timeout", "net")));
  const Lease second = take_one("q");
  pass(2s);
  settle(done(second));
  EXPECT_THAT(find(id).history, ElementsAre(Attempt{.started_at = t0,
                                                    .ended_at = t0 + 1s,
                                                    .event = Event::retry,
                                                    .worker = "worker-1",
                                                    .error_code = "net",
                                                    .error_message = "timeout"},
                                            Attempt{.started_at = t0 + 1s,
                                                    .ended_at = t0 + 3s,
                                                    .event = Event::done,
                                                    .worker = "worker-1"}));
}

TEST_P(StoreConformance, the_newest_20_lines_of_the_history_stay) {
  const TaskId id = put(task("q")).id;
  for (int i = 0; i < 25; ++i) {
    settle(retry_at(take_one("q"), now, error(std::to_string(i))));
  }
  const auto history = find(id).history;
  ASSERT_THAT(history, SizeIs(20));
  EXPECT_EQ(history.front().error_message, "5");
  EXPECT_EQ(history.back().error_message, "24");
}

// ---- Repeats -----------------------------------------------------------------------------------

TEST_P(StoreConformance, repeating_a_settle_answers_already_and_changes_nothing) {
  for (const TaskState state : {TaskState::completed, TaskState::failed, TaskState::dead,
                                TaskState::retrying, TaskState::delayed, TaskState::cancelled}) {
    put(task("q"));
    const Lease lease = take_one("q");
    const Settlement settlement = state == TaskState::completed  ? done(lease, "result")
                                  : state == TaskState::failed   ? failed(lease)
                                  : state == TaskState::dead     ? exhausted(lease)
                                  : state == TaskState::retrying ? retry_at(lease, now + 1h)
                                  : state == TaskState::delayed  ? snoozed(lease, now + 1h)
                                                                 : cancelled(lease);
    settle(settlement);
    expect_unchanged([&] {
      EXPECT_THAT(try_settle(settlement), IsOkAndHolds(Settled{SettleStatus::already, state}));
    });
  }
}

TEST_P(StoreConformance, another_end_by_the_token_that_settled_the_task_answers_already_too) {
  put(task("q"));
  const Lease lease = take_one("q");
  settle(done(lease, "first"));
  expect_unchanged([&] {
    EXPECT_THAT(try_settle(with(failed(lease), {task("q")})),
                IsOkAndHolds(Settled{SettleStatus::already, TaskState::completed}));
  });
}

TEST_P(StoreConformance, already_says_in_which_state_the_task_is_now) {
  put(task("q"));
  const Lease lease = take_one("q");
  settle(retry_at(lease, now + 5s));
  pass(5s);
  advance();
  EXPECT_THAT(try_settle(retry_at(lease, now)),
              IsOkAndHolds(Settled{SettleStatus::already, TaskState::queued}));
}

TEST_P(StoreConformance, the_same_settlement_twice_in_one_call_is_applied_once) {
  put(task("q"));
  const Lease lease = take_one("q");
  const std::vector<Settlement> twice = {done(lease, "a"), done(lease, "b")};
  const WorkResult result = must(store().work(twice, {}, {}, now));
  EXPECT_THAT(result.settled.at(0), IsOkAndHolds(Settled{SettleStatus::applied}));
  EXPECT_THAT(result.settled.at(1), IsOkAndHolds(Settled{SettleStatus::already}));
  EXPECT_EQ(find(lease.id).result, "a");
}

// ---- A cancel request meanwhile ----------------------------------------------------------------

TEST_P(StoreConformance, after_a_cancel_request_every_end_but_done_and_cancel_is_held_up) {
  const TaskId id = put(task("q")).id;
  const Lease lease = take_one("q");
  cancel(id);
  for (const Settlement& settlement :
       {retry_at(lease, now), failed(lease), exhausted(lease), snoozed(lease, now + 1s),
        given_back(lease), with(failed(lease), {task("q")})}) {
    expect_unchanged([&] {
      EXPECT_THAT(try_settle(settlement),
                  IsOkAndHolds(Settled{SettleStatus::cancel_requested, TaskState::processing}));
    });
  }
  EXPECT_EQ(settle(cancelled(lease)), TaskState::cancelled);
}

TEST_P(StoreConformance, a_done_after_a_cancel_request_still_completes) {
  const TaskId id = put(task("q")).id;
  const Lease lease = take_one("q");
  cancel(id);
  EXPECT_EQ(settle(done(lease)), TaskState::completed);
}

TEST_P(StoreConformance, a_lease_lost_after_a_cancel_request_ends_as_cancelled) {
  const TaskId id = put(task("q")).id;
  take_one("q");
  cancel(id);
  pass(60s);
  const Overdue overdue = due_one();
  EXPECT_THAT(try_settle(lost(overdue, now)),
              IsOkAndHolds(Settled{SettleStatus::cancel_requested, TaskState::processing}));
  Settlement settlement = cancelled(overdue.lease);
  settlement.expect = overdue.expect;
  EXPECT_EQ(settle(settlement), TaskState::cancelled);
}

// ---- One call: settlements, extensions, takes --------------------------------------------------

TEST_P(StoreConformance, a_bad_settlement_of_a_batch_changes_nothing_and_the_others_go_on) {
  for (int i = 0; i < 3; ++i) put(task("q"));
  const auto leases = take("q");
  ASSERT_THAT(leases, SizeIs(3));
  Lease wrong = leases.at(1);
  wrong.token.value += 1000;
  const std::vector<Settlement> batch = {done(leases.at(0)), done(wrong), done(leases.at(2))};
  const WorkResult result = must(store().work(batch, {}, {}, now));
  ASSERT_THAT(result.settled, SizeIs(3));
  EXPECT_THAT(result.settled.at(0), IsOk());
  EXPECT_THAT(result.settled.at(1), FailsWith(ErrorCode::lease_lost));
  EXPECT_THAT(result.settled.at(2), IsOk());
  EXPECT_EQ(state_of(wrong.id), TaskState::processing);
}

TEST_P(StoreConformance, a_settlement_frees_its_place_for_a_take_of_the_same_call) {
  make_queue(queue("one", {.max_concurrent = 1}));
  put(task("one"));
  const TaskId next = put(task("one")).id;
  const std::vector<Settlement> settlements = {done(take_one("one"))};
  const std::vector<TakeRequest> takes = {{.worker = "w", .queues = {{.queue = "one"}}}};
  const WorkResult result = must(store().work(settlements, {}, takes, now));
  EXPECT_THAT(ids_of(must(result.taken.at(0))), ElementsAre(next));
}

TEST_P(StoreConformance, an_extension_comes_after_the_settlement_of_the_same_call) {
  put(task("q"));
  const Lease lease = take_one("q");
  const std::vector<Settlement> settlements = {done(lease)};
  const std::vector<Extension> extensions = {{.id = lease.id, .token = lease.token}};
  const WorkResult result = must(store().work(settlements, extensions, {}, now));
  EXPECT_THAT(result.settled.at(0), IsOk());
  EXPECT_THAT(result.extended.at(0), FailsWith(ErrorCode::lease_lost));
}

TEST_P(StoreConformance, a_take_sees_what_the_settlements_of_the_same_call_made_ready) {
  put(task("q"));
  const Lease lease = take_one("q");
  const TaskId child = fresh_id();
  const std::vector<Settlement> settlements = {
      with(retry_at(lease, now), {task("q", {.id = child})})};
  const std::vector<TakeRequest> takes = {{.worker = "w", .queues = {{.queue = "q", .most = 10}}}};
  const WorkResult result = must(store().work(settlements, {}, takes, now));
  EXPECT_THAT(ids_of(must(result.taken.at(0))), ::testing::UnorderedElementsAre(lease.id, child));
}

}  // namespace
}  // namespace millrace::test
