// Leases past their end and tasks past their start_by: found by due(), settled by the broker.
#include <gmock/gmock.h>

#include "core/decide.h"
#include "core/transition.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// ---- What due() shows --------------------------------------------------------------------------

TEST_P(StoreConformance, a_lease_is_due_from_the_moment_it_ends) {
  put(task("q"));
  const Lease lease = take_one("q");
  pass(60s - 1ms);
  EXPECT_THAT(due(), IsEmpty());
  pass(1ms);
  const Overdue overdue = due_one();
  EXPECT_EQ(overdue.lease, lease);
  EXPECT_EQ(overdue.expect, Expectation(Lost{.token = lease.token, .until = lease.until}));
  EXPECT_FALSE(overdue.cancel_requested);
}

TEST_P(StoreConformance, an_extended_lease_is_due_at_its_new_end) {
  put(task("q"));
  const Lease lease = take_one("q");
  extend(lease, 5min);
  pass(60s);
  EXPECT_THAT(due(), IsEmpty());
  pass(4min);
  const Overdue overdue = due_one();
  EXPECT_EQ(overdue.expect, Expectation(Lost{.token = lease.token, .until = t0 + 5min}));
  EXPECT_EQ(overdue.lease.until, t0 + 5min);
}

TEST_P(StoreConformance, an_overdue_lease_says_whether_a_cancel_was_requested) {
  put(task("q"));
  cancel(take_one("q").id);
  pass(60s);
  EXPECT_TRUE(due_one().cancel_requested);
}

TEST_P(StoreConformance, a_waiting_task_is_due_from_its_start_by) {
  const TaskId id = put(task("q", {.start_by = now + 10s})).id;
  pass(10s - 1ms);
  EXPECT_THAT(due(), IsEmpty());
  pass(1ms);
  const Overdue overdue = due_one();
  EXPECT_EQ(overdue.lease.id, id);
  EXPECT_EQ(overdue.lease.token, Token{0});
  EXPECT_EQ(overdue.lease.start_by, t0 + 10s);
  EXPECT_EQ(overdue.expect, Expectation(Unchanged{find(id).version}));
}

TEST_P(StoreConformance, a_waiting_task_that_was_given_back_is_due_without_its_old_token) {
  put(task("q", {.start_by = now + 10s}));
  settle(given_back_unseen(take_one("q")));
  pass(10s);
  EXPECT_EQ(due_one().lease.token, Token{0});
  EXPECT_EQ(due_one().lease.counters.deliveries, 1U);
}

TEST_P(StoreConformance, leases_that_are_not_asked_for_take_no_place) {
  for (int i = 0; i < 3; ++i) put(task("q"));
  const auto leases = ids_of(take("q"));
  pass(60s);
  const TaskId waits = put(task("q", {.start_by = now})).id;
  const auto without = must(store().due(now, {.limit = 1, .leases = false}));
  EXPECT_THAT(ids_of(without), ElementsAre(waits));
  EXPECT_THAT(ids_of(due(3)), ::testing::UnorderedElementsAreArray(leases));
}

TEST_P(StoreConformance, start_by_holds_in_every_waiting_state_before_the_first_run) {
  std::vector<TaskId> waiting;
  for (std::size_t i = 0; i < state_count; ++i) {
    const auto state = static_cast<TaskState>(i);
    const std::string own_queue(name_of(state));
    make_queue(own_queue);
    const TaskId id = task_in(state, own_queue, {.start_by = now + 2h});
    if (is_waiting(state) && state != TaskState::retrying) waiting.push_back(id);
  }
  pass(2h);
  std::vector<TaskId> expiring;
  for (const Overdue& overdue : due()) {
    if (std::holds_alternative<Unchanged>(overdue.expect)) expiring.push_back(overdue.lease.id);
  }
  EXPECT_THAT(expiring, ::testing::UnorderedElementsAreArray(waiting));
}

TEST_P(StoreConformance, due_shows_the_earliest_first_and_at_most_the_limit) {
  const TaskId third = put(task("q", {.start_by = now + 3s})).id;
  const TaskId first = put(task("q", {.start_by = now + 1s})).id;
  make_queue("short");
  const TaskId second = put(task("short")).id;
  must(try_take({.worker = "w", .queues = {{.queue = "short"}}, .lease = Duration(2s)}));
  pass(1h);
  EXPECT_THAT(ids_of(due()), ElementsAre(first, second, third));
  EXPECT_THAT(ids_of(due(2)), ElementsAre(first, second));
}

TEST_P(StoreConformance, due_changes_nothing) {
  put(task("q"));
  put(task("q", {.start_by = now + 1s}));
  take("q", 1);
  pass(1h);
  expect_unchanged([&] { EXPECT_THAT(due(), SizeIs(2)); });
}

// ---- Lost leases -------------------------------------------------------------------------------

// S1-027, S1-039, S1-040, S2-010
TEST_P(StoreConformance, a_task_whose_lease_was_lost_is_queued_and_taken_again) {
  const TaskId id = put(task("q")).id;
  const Lease first = take_one("q");
  pass(60s);
  EXPECT_EQ(settle(lost(due_one(), now)), TaskState::queued);
  const Task found = find(id);
  EXPECT_EQ(found.start, now);
  EXPECT_EQ(found.lease_until, std::nullopt);
  const Lease second = take_one("q");
  EXPECT_EQ(second.id, id);
  EXPECT_NE(second.token, first.token);
}

TEST_P(StoreConformance, after_the_loss_its_holder_can_neither_settle_nor_extend) {
  put(task("q"));
  const Lease lease = take_one("q");
  pass(60s);
  settle(lost(due_one(), now));
  expect_unchanged([&] {
    EXPECT_THAT(try_settle(done(lease)), FailsWith(ErrorCode::lease_lost));
    EXPECT_THAT(try_extend({.id = lease.id, .token = lease.token}),
                FailsWith(ErrorCode::lease_lost));
  });
}

TEST_P(StoreConformance, an_extend_in_between_wins_over_the_loss) {
  put(task("q"));
  const Lease lease = take_one("q");
  pass(60s);
  const Overdue overdue = due_one();
  extend(lease);
  pass(24h);  // overdue again, but changed since the timer looked
  expect_unchanged(
      [&] { EXPECT_THAT(try_settle(lost(overdue, now)), FailsWith(ErrorCode::lease_lost)); });
}

TEST_P(StoreConformance, a_lease_that_has_not_ended_cannot_be_settled_as_lost) {
  put(task("q"));
  take_one("q");
  pass(60s);
  const Overdue overdue = due_one();
  pass(-1ms);
  expect_unchanged(
      [&] { EXPECT_THAT(try_settle(lost(overdue, now)), FailsWith(ErrorCode::lease_lost)); });
}

TEST_P(StoreConformance, a_settle_in_between_wins_over_the_loss) {
  put(task("q"));
  const Lease lease = take_one("q");
  pass(60s);
  const Overdue overdue = due_one();
  settle(done(lease));
  expect_unchanged(
      [&] { EXPECT_THAT(try_settle(lost(overdue, now)), FailsWith(ErrorCode::lease_lost)); });
}

TEST_P(StoreConformance, a_loss_is_settled_once) {
  put(task("q"));
  take_one("q");
  pass(60s);
  const Overdue overdue = due_one();
  settle(lost(overdue, now));
  expect_unchanged(
      [&] { EXPECT_THAT(try_settle(lost(overdue, now)), FailsWith(ErrorCode::lease_lost)); });
}

TEST_P(StoreConformance, a_new_lease_wins_over_the_loss_of_the_old_one) {
  put(task("q"));
  const Lease old = take_one("q");
  pass(60s);
  const Overdue overdue = due_one();
  settle(given_back(old));
  take_one("q");
  pass(24h);
  expect_unchanged(
      [&] { EXPECT_THAT(try_settle(lost(overdue, now)), FailsWith(ErrorCode::lease_lost)); });
}

// Design 2.1: max_lost, by default 3 per task.
TEST_P(StoreConformance, a_task_lost_more_often_than_max_lost_is_dead) {
  const TaskId id = put(task("q")).id;
  const QueueSettings settings = find_queue("q").settings;
  for (int loss = 1; loss <= 4; ++loss) {
    ASSERT_EQ(state_of(id), TaskState::queued) << "before loss " << loss;
    const Lease lease = take_one("q");
    pass(60s);
    const Overdue overdue = due_one();
    settle(decide_lost(overdue.lease, overdue.lease.until, false, settings, RetryPolicy{}, now));
  }
  EXPECT_EQ(state_of(id), TaskState::dead);
  EXPECT_EQ(find(id).error.value().code, "worker_lost");
  EXPECT_EQ(find(id).counters.lost, 4U);
}

// S1-028, S1-041
TEST_P(StoreConformance, without_a_limit_a_task_is_given_out_until_it_is_done) {
  make_queue(queue("contract", {.retry = RetryRules{.max_retries = unlimited}}));
  const QueueSettings settings = find_queue("contract").settings;
  const TaskId id = put(task("contract")).id;
  for (int round = 0; round < 40; ++round) {
    const Lease lease = take_one("contract");
    if (round % 2 == 0) {
      settle(decide(lease, Failed{error("again")}, settings, RetryPolicy{}, now, 0.5));
      pass(24h);
    } else {
      pass(60s);
      const Overdue overdue = due_one();
      settle(decide_lost(overdue.lease, overdue.lease.until, false, settings, RetryPolicy{}, now));
    }
  }
  EXPECT_EQ(find(id).counters.attempts, 40U);
  EXPECT_EQ(settle(done(take_one("contract"))), TaskState::completed);
}

// ---- start_by ----------------------------------------------------------------------------------

TEST_P(StoreConformance, a_task_past_its_start_by_is_cancelled_as_expired) {
  const TaskId id = put(task("q", {.start_by = now + 10s})).id;
  pass(10s);
  const Version version = std::get<Unchanged>(due_one().expect).version;
  EXPECT_EQ(settle(decide_expired(id, version, now)), TaskState::cancelled);
  const Task found = find(id);
  EXPECT_EQ(found.error.value().code, "expired");
  EXPECT_EQ(found.finished_at, now);
  EXPECT_THAT(due(), IsEmpty());
}

TEST_P(StoreConformance, a_task_past_its_start_by_is_never_taken) {
  make_queue(queue("ageing", {.ageing = Duration(1s)}));
  for (const std::string name : {"q", "ageing"}) {
    const TaskId late = put(task(name, {.priority = 9, .start_by = now + 10s})).id;
    const TaskId late_when_put = put(task(name, {.start_by = now - 1s})).id;
    const TaskId in_time = put(task(name, {.priority = 1, .start_by = now + 20s})).id;
    const TaskId any_time = put(task(name, {.priority = 0})).id;
    pass(10s + 1ms);
    EXPECT_THAT(ids_of(take(name, 1)), ElementsAre(in_time)) << name;
    EXPECT_THAT(ids_of(take(name)), ElementsAre(any_time)) << name;
    EXPECT_EQ(state_of(late), TaskState::queued) << name;
    EXPECT_EQ(state_of(late_when_put), TaskState::queued) << name;
  }
}

TEST_P(StoreConformance, a_task_is_taken_until_its_start_by) {
  const TaskId id = put(task("q", {.start_by = now + 10s})).id;
  pass(10s);
  EXPECT_EQ(take_one("q").id, id);
}

TEST_P(StoreConformance, a_task_that_started_in_time_does_not_expire_when_it_waits_again) {
  const auto wait_again = [&](const std::string& name, const auto& end) {
    make_queue(name);
    const TaskId id = put(task(name, {.start_by = now + 10s})).id;
    end(take_one(name));
    EXPECT_EQ(find(id).start_by, std::nullopt) << name;
    return id;
  };
  std::vector<TaskId> ids;
  ids.push_back(wait_again("retried", [&](auto lease) { settle(retry_at(lease, now + 1s)); }));
  ids.push_back(wait_again("snoozed", [&](auto lease) { settle(snoozed(lease, now + 1s)); }));
  ids.push_back(wait_again("given_back", [&](auto lease) { settle(given_back(lease)); }));
  ids.push_back(wait_again("lost", [&](auto) {
    pass(60s);
    settle(lost(due_one(), now));
  }));
  pass(1h);
  EXPECT_THAT(due(), IsEmpty());
  for (const std::string name : {"retried", "snoozed", "given_back", "lost"}) {
    EXPECT_THAT(take(name), SizeIs(1)) << name;
  }
}

TEST_P(StoreConformance, a_task_that_reached_no_worker_has_not_started) {
  const TaskId id = put(task("q", {.start_by = now + 10s})).id;
  settle(given_back_unseen(take_one("q")));
  EXPECT_EQ(find(id).start_by, t0 + 10s);
  pass(11s);
  EXPECT_THAT(take("q"), IsEmpty());
  EXPECT_EQ(due_one().lease.id, id);
}

TEST_P(StoreConformance, a_task_that_was_taken_meanwhile_does_not_expire) {
  put(task("q", {.start_by = now + 10s}));
  pass(10s);
  const Overdue overdue = due_one();
  pass(-1ms);
  take_one("q");
  pass(1ms);
  expect_unchanged(
      [&] { EXPECT_THAT(try_settle(expired(overdue, now)), FailsWith(ErrorCode::conflict)); });
}

TEST_P(StoreConformance, a_task_that_was_changed_meanwhile_does_not_expire) {
  const TaskId id = put(task("q", {.start_by = now + 10s})).id;
  pass(10s);
  const Overdue overdue = due_one();
  update({.id = id, .priority = 9});
  expect_unchanged(
      [&] { EXPECT_THAT(try_settle(expired(overdue, now)), FailsWith(ErrorCode::conflict)); });
  EXPECT_EQ(settle(expired(due_one(), now)), TaskState::cancelled);
}

TEST_P(StoreConformance, a_task_does_not_expire_before_its_start_by) {
  put(task("q", {.start_by = now + 10s}));
  pass(10s);
  const Overdue overdue = due_one();
  pass(-1ms);
  expect_unchanged(
      [&] { EXPECT_THAT(try_settle(expired(overdue, now)), FailsWith(ErrorCode::conflict)); });
}

TEST_P(StoreConformance, a_task_without_a_start_by_never_expires) {
  const TaskId id = put(task("q")).id;
  const Settlement settlement{
      .id = id, .expect = Unchanged{find(id).version}, .event = Event::expire};
  pass(24h * 365);
  expect_unchanged([&] { EXPECT_THAT(try_settle(settlement), FailsWith(ErrorCode::conflict)); });
}

TEST_P(StoreConformance, a_task_that_was_removed_meanwhile_does_not_expire) {
  const TaskId id = put(task("q", {.start_by = now + 10s})).id;
  pass(10s);
  const Overdue overdue = due_one();
  remove(id);
  EXPECT_THAT(try_settle(expired(overdue, now)), FailsWith(ErrorCode::not_found));
}

}  // namespace
}  // namespace millrace::test
