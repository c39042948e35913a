// Which task comes first: effective priority, then the ready moment, then the number.
#include <gmock/gmock.h>
#include <algorithm>
#include <array>

#include "store/store.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

// S0-006, S0-011, S0-019, S0-071, S2-006, S2-007
TEST_P(StoreConformance, priority_nine_comes_first_and_zero_last) {
  NEEDS_TRAIT(exact_order);
  std::vector<TaskId> expected(10);
  for (const std::uint8_t priority : std::to_array<std::uint8_t>({3, 9, 0, 5, 1, 8, 2, 7, 4, 6})) {
    expected[9U - priority] = put(task("q", {.priority = priority})).id;
  }
  EXPECT_THAT(ids_of(take("q")), ElementsAreArray(expected));
}

// S0-072
TEST_P(StoreConformance, the_default_priority_is_five) {
  EXPECT_EQ(find(put(task("q")).id).priority, 5);
}

TEST_P(StoreConformance, within_a_priority_the_earlier_ready_moment_comes_first) {
  NEEDS_TRAIT(exact_order);
  const TaskId later = put(task("q", {.start = now + 20s})).id;
  const TaskId sooner = put(task("q", {.start = now + 10s})).id;
  pass(15s);
  const TaskId between = put(task("q")).id;
  pass(15s);
  EXPECT_THAT(ids_of(take("q")), ElementsAre(sooner, between, later));
}

TEST_P(StoreConformance, a_clock_that_was_set_back_hides_no_task_that_falls_due_later) {
  put(task("q", {.start = now + 10s}));
  pass(10s);
  const Lease lease = take_one("q");
  now -= 5s;
  // The task is due in a second, but before the task taken last; a take does not find it yet.
  settle(retry_at(lease, now + 1s));
  EXPECT_THAT(take("q"), IsEmpty());
  pass(1s);
  EXPECT_THAT(ids_of(take("q")), ElementsAre(lease.id));
}

TEST_P(StoreConformance, what_was_ready_stays_ready_when_the_clock_is_set_back) {
  make_queue(queue("ageing", {.ageing = Duration(1s)}));
  for (const std::string name : {"q", "ageing"}) {
    const TimePoint before = now;
    const TaskId promoted = put(task(name, {.start = now + 5s})).id;
    pass(10s);
    advance();
    const TaskId put_last = put(task(name)).id;
    now = before - 1h;
    const TaskId waits = put(task(name, {.delay = 30min})).id;
    EXPECT_EQ(counts(name).ready(), 2U);
    EXPECT_EQ(counts(name).oldest, now) << "no task has been ready for less than no time";
    EXPECT_THAT(must(store().ready(now)), ::testing::Contains(name));
    EXPECT_THAT(ids_of(take(name)), ElementsAre(promoted, put_last)) << name;
    EXPECT_THAT(take(name), IsEmpty());
    pass(30min);
    EXPECT_THAT(ids_of(take(name)), ElementsAre(waits)) << name;
    now = before;
  }
}

TEST_P(StoreConformance, what_was_ready_stays_ready_when_the_clock_is_set_back_before_a_restart) {
  if (!can_reopen()) GTEST_SKIP() << "the store keeps nothing";
  make_queue(queue("ageing", {.ageing = Duration(1s)}));
  for (const std::string name : {"q", "ageing"}) {
    const TimePoint before = now;
    const TaskId ready = put(task(name)).id;
    const TaskId waits = put(task(name, {.delay = 10s})).id;
    must(store().flush());
    reopen();
    now = before - 1h;
    EXPECT_THAT(ids_of(take(name)), ElementsAre(ready)) << name;
    EXPECT_THAT(take(name), IsEmpty()) << name;
    now = before + 10s;
    EXPECT_THAT(ids_of(take(name)), ElementsAre(waits)) << name;
  }
}

TEST_P(StoreConformance, a_task_that_was_ready_before_the_clock_was_set_back_can_be_given_back) {
  const TaskId id = put(task("q")).id;
  now -= 1h;
  settle(given_back(take_one("q")));
  EXPECT_EQ(take_one("q").id, id);
  EXPECT_THAT(take("q"), IsEmpty());
}

TEST_P(StoreConformance, at_the_same_ready_moment_the_earlier_arrival_comes_first) {
  NEEDS_TRAIT(exact_order);
  std::vector<NewTask> batch;
  for (int i = 0; i < 100; ++i) batch.push_back(task("q"));
  const auto puts = put_all(batch);
  EXPECT_THAT(ids_of(take("q")), ElementsAreArray(ids_of(puts)));
}

TEST_P(StoreConformance, priority_weighs_more_than_the_ready_moment) {
  NEEDS_TRAIT(exact_order);
  const TaskId old_and_low = put(task("q", {.priority = 4})).id;
  pass(24h);
  const TaskId new_and_high = put(task("q", {.priority = 5})).id;
  EXPECT_THAT(ids_of(take("q")), ElementsAre(new_and_high, old_and_low));
}

TEST_P(StoreConformance, promotion_does_not_change_the_order) {
  NEEDS_TRAIT(exact_order);
  const TaskId second = put(task("q", {.start = now + 2s})).id;
  const TaskId first = put(task("q", {.start = now + 1s})).id;
  const TaskId urgent = put(task("q", {.priority = 8, .start = now + 3s})).id;
  pass(2s);
  advance();
  pass(1s);
  EXPECT_THAT(ids_of(take("q")), ElementsAre(urgent, first, second));
}

// Design 2.1: `take` hands out every due task whether promoted or not.
TEST_P(StoreConformance, due_tasks_are_given_out_whether_promoted_or_not) {
  const TaskId delayed = put(task("q", {.start = now + 1s})).id;
  const TaskId retrying = task_in(TaskState::retrying, "q");
  pass(1h);
  EXPECT_EQ(state_of(delayed), TaskState::delayed);
  EXPECT_EQ(state_of(retrying), TaskState::retrying);
  EXPECT_THAT(ids_of(take("q")), ::testing::UnorderedElementsAre(delayed, retrying));
}

// ---- The ready moment after each way back ------------------------------------------------------

TEST_P(StoreConformance, a_task_given_back_keeps_its_old_place) {
  NEEDS_TRAIT(exact_order);
  const TaskId first = put(task("q")).id;
  pass(1s);
  const TaskId second = put(task("q")).id;
  pass(1s);
  settle(given_back(take_one("q")));
  EXPECT_EQ(find(first).start, t0);
  EXPECT_THAT(ids_of(take("q")), ElementsAre(first, second));
}

TEST_P(StoreConformance, a_retried_task_is_ready_at_the_given_moment) {
  NEEDS_TRAIT(exact_order);
  const TaskId retried = put(task("q")).id;
  settle(retry_at(take_one("q"), now + 5s));
  pass(4s);
  const TaskId before = put(task("q")).id;
  pass(2s);
  const TaskId after = put(task("q")).id;
  EXPECT_THAT(ids_of(take("q")), ElementsAre(before, retried, after));
}

TEST_P(StoreConformance, a_snoozed_task_is_ready_at_the_given_moment) {
  NEEDS_TRAIT(exact_order);
  const TaskId snoozed_task = put(task("q")).id;
  settle(snoozed(take_one("q"), now + 5s));
  pass(4s);
  const TaskId before = put(task("q")).id;
  pass(2s);
  const TaskId after = put(task("q")).id;
  EXPECT_THAT(ids_of(take("q")), ElementsAre(before, snoozed_task, after));
}

TEST_P(StoreConformance, a_lost_task_is_ready_when_it_is_settled_as_lost) {
  NEEDS_TRAIT(exact_order);
  const TaskId lost_task = put(task("q")).id;
  take_one("q");
  pass(2min);
  const TaskId before = put(task("q")).id;
  pass(1s);
  settle(lost(due_one(), now));
  pass(1s);
  const TaskId after = put(task("q")).id;
  EXPECT_THAT(ids_of(take("q")), ElementsAre(before, lost_task, after));
}

TEST_P(StoreConformance, a_revived_task_is_ready_when_it_is_revived) {
  NEEDS_TRAIT(exact_order);
  const TaskId revived = task_in(TaskState::failed, "q");
  pass(1s);
  const TaskId before = put(task("q")).id;
  pass(1s);
  revive(revived);
  pass(1s);
  const TaskId after = put(task("q")).id;
  EXPECT_THAT(ids_of(take("q")), ElementsAre(before, revived, after));
}

TEST_P(StoreConformance, a_released_task_is_ready_when_it_is_released) {
  NEEDS_TRAIT(exact_order);
  const TaskId held = put(task("q", {.held = true})).id;
  pass(1s);
  const TaskId before = put(task("q")).id;
  pass(1s);
  update({.id = held, .release = true});
  pass(1s);
  const TaskId after = put(task("q")).id;
  EXPECT_THAT(ids_of(take("q")), ElementsAre(before, held, after));
}

TEST_P(StoreConformance, a_new_priority_keeps_the_ready_moment) {
  NEEDS_TRAIT(exact_order);
  const TaskId raised = put(task("q", {.priority = 2})).id;
  pass(1s);
  const TaskId later = put(task("q", {.priority = 6})).id;
  update({.id = raised, .priority = 6});
  EXPECT_EQ(find(raised).start, t0);
  EXPECT_THAT(ids_of(take("q")), ElementsAre(raised, later));
}

// ---- Ageing ------------------------------------------------------------------------------------

TEST_P(StoreConformance, without_ageing_a_low_priority_waits_for_ever) {
  NEEDS_TRAIT(exact_order);
  const TaskId low = put(task("q", {.priority = 0})).id;
  pass(24h * 365);
  const TaskId high = put(task("q", {.priority = 1})).id;
  EXPECT_THAT(ids_of(take("q")), ElementsAre(high, low));
}

TEST_P(StoreConformance, ageing_raises_the_priority_by_one_for_each_interval_waited) {
  NEEDS_TRAIT(exact_order);
  make_queue(queue("ageing", {.ageing = 10s}));
  const TaskId old = put(task("ageing", {.priority = 2})).id;
  pass(30s - 1ms);  // counts as 4
  const TaskId young = put(task("ageing", {.priority = 5})).id;
  EXPECT_EQ(take_one("ageing").id, young);
  const TaskId younger = put(task("ageing", {.priority = 5})).id;
  pass(1ms);  // counts as 5 and is ready before the other
  EXPECT_EQ(take_one("ageing").id, old);
  EXPECT_EQ(take_one("ageing").id, younger);
}

TEST_P(StoreConformance, ageing_ends_at_nine) {
  NEEDS_TRAIT(exact_order);
  make_queue(queue("ageing", {.ageing = 1s}));
  const TaskId zero = put(task("ageing", {.priority = 0})).id;
  pass(5s);
  const TaskId nine = put(task("ageing", {.priority = 9})).id;
  pass(1h);  // both count as 9, and the older one is ready before the other
  EXPECT_THAT(ids_of(take("ageing")), ElementsAre(zero, nine));
}

TEST_P(StoreConformance, ageing_counts_from_the_ready_moment_and_not_from_the_put) {
  NEEDS_TRAIT(exact_order);
  make_queue(queue("ageing", {.ageing = 10s}));
  const TaskId delayed = put(task("ageing", {.priority = 2, .start = now + 1h})).id;
  pass(1h + 5s);
  const TaskId other = put(task("ageing", {.priority = 3})).id;
  EXPECT_THAT(ids_of(take("ageing")), ElementsAre(other, delayed));
}

TEST_P(StoreConformance, ageing_holds_for_tasks_that_were_not_promoted) {
  NEEDS_TRAIT(exact_order);
  make_queue(queue("ageing", {.ageing = 10s}));
  const TaskId delayed = put(task("ageing", {.priority = 2, .start = now + 1s})).id;
  pass(1s + 20s);
  const TaskId other = put(task("ageing", {.priority = 3})).id;
  EXPECT_THAT(ids_of(take("ageing")), ElementsAre(delayed, other));
}

TEST_P(StoreConformance, ageing_changes_neither_the_task_nor_the_counters) {
  make_queue(queue("ageing", {.ageing = 1s}));
  const TaskId id = put(task("ageing", {.priority = 2})).id;
  pass(1h);
  advance();
  EXPECT_EQ(find(id).priority, 2);
  EXPECT_EQ(counts("ageing").by[static_cast<std::size_t>(TaskState::queued)][2], 1U);
  EXPECT_EQ(take_one("ageing").priority, 2);
}

TEST_P(StoreConformance, aged_tasks_come_in_the_order_of_a_plain_sort) {
  NEEDS_TRAIT(exact_order);
  make_queue(queue("ageing", {.ageing = 7s}));
  std::vector<Task> tasks;
  for (int i = 0; i < 60; ++i) {
    const auto priority = static_cast<std::uint8_t>(i * 7 % 10);
    tasks.push_back(find(put(task("ageing", {.priority = priority})).id));
    pass(1s + 1ms * (i % 3));
  }
  const auto effective = [&](const Task& task) {
    return std::min<Duration::rep>(9, task.priority + (now - task.start) / 7s);
  };
  std::ranges::sort(tasks, [&](const Task& a, const Task& b) {
    if (effective(a) != effective(b)) return effective(a) > effective(b);
    return a.start != b.start ? a.start < b.start : a.number < b.number;
  });
  EXPECT_THAT(ids_of(take("ageing")), ElementsAreArray(ids_of(tasks)));
}

// ---- Across queues -----------------------------------------------------------------------------

TEST_P(StoreConformance, a_take_fills_its_queues_in_the_order_it_names_them) {
  make_queue("a");
  make_queue("b");
  const TaskId in_a = put(task("a", {.priority = 9})).id;
  const TaskId in_b = put(task("b", {.priority = 0})).id;
  const auto leases =
      must(try_take({.worker = "w", .queues = {{.queue = "b", .most = 5}, {.queue = "a"}}}));
  EXPECT_THAT(ids_of(leases), ElementsAre(in_b, in_a));
}

TEST_P(StoreConformance, no_queue_gets_the_share_of_an_empty_one) {
  make_queue("a");
  make_queue("b");
  for (int i = 0; i < 5; ++i) put(task("b"));
  const auto leases = must(
      try_take({.worker = "w", .queues = {{.queue = "a", .most = 3}, {.queue = "b", .most = 2}}}));
  EXPECT_EQ(leases.size(), 2U);
}

TEST_P(StoreConformance, several_takes_of_one_call_are_served_in_order) {
  NEEDS_TRAIT(exact_order);
  const TaskId first = put(task("q")).id;
  const TaskId second = put(task("q")).id;
  const std::vector<TakeRequest> takes = {{.worker = "w1", .queues = {{.queue = "q"}}},
                                          {.worker = "w2", .queues = {{.queue = "q", .most = 9}}},
                                          {.worker = "w3", .queues = {{.queue = "q"}}}};
  const WorkResult result = must(store().work({}, {}, takes, now));
  ASSERT_EQ(result.taken.size(), 3U);
  EXPECT_THAT(ids_of(must(result.taken.at(0))), ElementsAre(first));
  EXPECT_THAT(ids_of(must(result.taken.at(1))), ElementsAre(second));
  EXPECT_THAT(ids_of(must(result.taken.at(2))), ElementsAre());
  EXPECT_EQ(find(second).worker, "w2");
}

TEST_P(StoreConformance, a_take_from_an_unknown_queue_is_not_found_and_the_other_takes_go_on) {
  const TaskId id = put(task("q")).id;
  const std::vector<TakeRequest> takes = {{.worker = "w1", .queues = {{.queue = "nowhere"}}},
                                          {.worker = "w2", .queues = {{.queue = "q"}}}};
  const WorkResult result = must(store().work({}, {}, takes, now));
  ASSERT_EQ(result.taken.size(), 2U);
  EXPECT_THAT(result.taken.at(0), FailsWith(ErrorCode::not_found));
  EXPECT_THAT(ids_of(must(result.taken.at(1))), ElementsAre(id));
}

TEST_P(StoreConformance, a_take_that_names_one_unknown_queue_takes_nothing_at_all) {
  put(task("q"));
  expect_unchanged([&] {
    EXPECT_THAT(try_take({.worker = "w", .queues = {{.queue = "q"}, {.queue = "nowhere"}}}),
                FailsWith(ErrorCode::not_found));
  });
}

}  // namespace
}  // namespace millrace::test
