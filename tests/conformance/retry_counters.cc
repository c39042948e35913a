// What a task remembers of its runs: deliveries, attempts, retries, lost, and the previous start.
#include <gmock/gmock.h>

#include "core/decide.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {
namespace {

using ::testing::IsEmpty;

// S2-015, S1-032, S1-018, S1-021
TEST_P(StoreConformance, a_new_task_has_all_counters_at_zero_and_no_previous_start) {
  const TaskId id = put(task("q")).id;
  EXPECT_EQ(find(id).counters, Counters{});
  EXPECT_EQ(find(id).previous_start, std::nullopt);
  const Lease first = take_one("q");
  EXPECT_EQ(first.counters, Counters{.deliveries = 1});
  EXPECT_EQ(first.previous_start, std::nullopt);
}

// S2-017, S1-012, S1-022, S1-031, S1-033, S1-037, S1-040, S0-017
TEST_P(StoreConformance, a_retry_counts_as_attempt_and_as_retry_and_moves_the_start) {
  const TaskId id = put(task("q")).id;
  pass(1s);
  const Lease lease = take_one("q");
  pass(1s);
  settle(retry_at(lease, now + 30s));
  const Task found = find(id);
  EXPECT_EQ(found.counters, (Counters{.deliveries = 1, .attempts = 1, .retries = 1}));
  EXPECT_EQ(found.previous_start, t0);
  EXPECT_EQ(found.start, now + 30s);
  pass(30s - 1ms);
  EXPECT_THAT(take("q"), IsEmpty());
  pass(1ms);
  EXPECT_EQ(take_one("q").id, id);
}

// S1-034, S1-020
TEST_P(StoreConformance, the_second_take_shows_the_first_attempt_and_the_previous_start) {
  put(task("q"));
  settle(retry_at(take_one("q"), now + 30s));
  pass(45s);
  const Lease second = take_one("q");
  EXPECT_EQ(second.counters, (Counters{.deliveries = 2, .attempts = 1, .retries = 1}));
  EXPECT_EQ(second.previous_start, t0);
  EXPECT_EQ(second.start, t0 + 30s);
}

// S1-030, S1-031, S1-033, S1-039
TEST_P(StoreConformance, a_lost_lease_counts_as_attempt_and_as_loss_and_starts_now) {
  const TaskId id = put(task("q")).id;
  take_one("q");
  pass(75s);
  settle(lost(due_one(), now));
  const Task found = find(id);
  EXPECT_EQ(found.counters, (Counters{.deliveries = 1, .attempts = 1, .lost = 1}));
  EXPECT_EQ(found.previous_start, t0);
  EXPECT_EQ(found.start, now);
}

TEST_P(StoreConformance, a_snooze_counts_as_attempt_and_charges_nothing) {
  const TaskId id = put(task("q")).id;
  settle(snoozed(take_one("q"), now + 5s));
  EXPECT_EQ(find(id).counters, (Counters{.deliveries = 1, .attempts = 1}));
  EXPECT_EQ(find(id).previous_start, t0);
  EXPECT_EQ(find(id).start, now + 5s);
}

TEST_P(StoreConformance, giving_back_charges_nothing_and_moves_nothing) {
  const TaskId id = put(task("q")).id;
  settle(retry_at(take_one("q"), now + 5s));
  pass(10s);
  settle(given_back(take_one("q")));
  EXPECT_EQ(find(id).counters, (Counters{.deliveries = 2, .attempts = 1, .retries = 1}));
  EXPECT_EQ(find(id).previous_start, t0);
  EXPECT_EQ(find(id).start, t0 + 5s);
}

TEST_P(StoreConformance, the_previous_start_is_always_the_one_of_the_activation_before) {
  put(task("q"));
  settle(retry_at(take_one("q"), now + 1s));
  pass(1s);
  settle(snoozed(take_one("q"), now + 2s));
  pass(2s);
  const Lease third = take_one("q");
  EXPECT_EQ(third.previous_start, t0 + 1s);
  EXPECT_EQ(third.start, t0 + 3s);
}

TEST_P(StoreConformance, promotion_moves_no_counter_and_no_start) {
  const TaskId id = put(task("q")).id;
  settle(retry_at(take_one("q"), now + 1s));
  const Task before = find(id);
  pass(5s);
  EXPECT_EQ(advance().promoted, 1U);
  const Task after = find(id);
  EXPECT_EQ(after.counters, before.counters);
  EXPECT_EQ(after.start, before.start);
  EXPECT_EQ(after.previous_start, before.previous_start);
}

TEST_P(StoreConformance, a_final_end_keeps_the_counters_that_were_decided) {
  const TaskId id = put(task("q")).id;
  settle(retry_at(take_one("q"), now));
  settle(exhausted(take_one("q")));
  EXPECT_EQ(find(id).counters, (Counters{.deliveries = 2, .attempts = 1, .retries = 1}));
}

TEST_P(StoreConformance, an_end_that_charges_takes_over_the_counters_but_not_the_deliveries) {
  for (int end = 0; end < 3; ++end) {
    const TaskId id = put(task("q")).id;
    const Lease lease = take_one("q");
    const std::vector<Settlement> ends = {retry_at(lease, now + 1h), snoozed(lease, now + 1h),
                                          exhausted(lease)};
    Settlement settlement = ends[static_cast<std::size_t>(end)];
    settlement.counters = {.deliveries = 99, .attempts = 7, .retries = 5, .lost = 3};
    settle(settlement);
    EXPECT_EQ(find(id).counters,
              (Counters{.deliveries = 1, .attempts = 7, .retries = 5, .lost = 3}))
        << "after " << ::testing::PrintToString(settlement.event);
  }
}

TEST_P(StoreConformance, an_end_that_charges_nothing_leaves_the_counters_as_they_are) {
  for (int end = 0; end < 4; ++end) {
    const TaskId id = put(task("q")).id;
    const Lease lease = take_one("q");
    const std::vector<Settlement> ends = {done(lease), failed(lease), cancelled(lease),
                                          given_back(lease)};
    Settlement settlement = ends[static_cast<std::size_t>(end)];
    settlement.counters = {.attempts = 7, .retries = 5, .lost = 3};
    settle(settlement);
    EXPECT_EQ(find(id).counters, Counters{.deliveries = 1})
        << "after " << ::testing::PrintToString(settlement.event);
  }
}

// S0-067: processing, retrying, queued, and so on until dead.
TEST_P(StoreConformance, a_task_fails_until_its_budget_is_used_up) {
  make_queue(queue("brittle", {.retry = RetryRules{.base = 10s, .max_retries = 2}}));
  const QueueSettings settings = find_queue("brittle").settings;
  const TaskId id = put(task("brittle")).id;
  std::vector<TaskState> seen;
  for (int run = 0; run < 3; ++run) {
    const Lease lease = take_one("brittle");
    seen.push_back(settle(decide(lease, Failed{error("no")}, settings, RetryPolicy{}, now, 0.5)));
    pass(1h);
    advance();
  }
  EXPECT_THAT(seen,
              ::testing::ElementsAre(TaskState::retrying, TaskState::retrying, TaskState::dead));
  EXPECT_EQ(find(id).counters.retries, 2U);
  EXPECT_EQ(find(id).counters.deliveries, 3U);
}

// S1-036: a handler that names the next start itself, 2^attempts seconds later.
TEST_P(StoreConformance, a_handler_may_back_off_by_its_attempts) {
  const TaskId id = put(task("q", {.retry = RetryRules{.max_retries = unlimited}})).id;
  const QueueSettings settings = find_queue("q").settings;
  for (const Duration expected : {1s, 2s, 4s, 8s, 16s}) {
    const Lease lease = take_one("q");
    const TimePoint next = now + 1s * (1 << lease.counters.attempts);
    settle(decide(lease, RetryAt{.at = next}, settings, RetryPolicy{}, now, 0.5));
    EXPECT_EQ(find(id).start, now + expected);
    pass(expected);
  }
}

// S1-042: the handler of a contract queue gives up by itself.
TEST_P(StoreConformance, a_handler_may_give_up_by_its_attempts_and_end_the_task_as_done) {
  put(task("q"));
  std::uint32_t runs = 0;
  for (bool over = false; !over; ++runs) {
    const Lease lease = take_one("q");
    over = lease.counters.attempts > 10;
    settle(over ? done(lease) : retry_at(lease, now));
  }
  EXPECT_EQ(runs, 12U);
}

}  // namespace
}  // namespace millrace::test
