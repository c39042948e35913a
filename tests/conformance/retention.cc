// How long finished tasks stay: by age, by count, by the task's own rule.
#include <gmock/gmock.h>
#include <algorithm>

#include "store/store.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Keep for_ever = {};

TEST_P(StoreConformance, finished_tasks_stay_for_a_day_and_dead_letters_for_30_by_default) {
  const TaskId completed = task_in(TaskState::completed, "q");
  const TaskId failed_task = task_in(TaskState::failed, "q");
  const TaskId dead = task_in(TaskState::dead, "q");
  now = t0 + 24h - 1ms;
  EXPECT_EQ(advance().removed, 0U);
  now = pruned_by(t0, 24h);
  EXPECT_EQ(advance().removed, 1U);
  EXPECT_FALSE(exists(completed));
  now = t0 + 30 * 24h - 1ms;
  EXPECT_EQ(advance().removed, 0U);
  now = pruned_by(t0, 30 * 24h);
  EXPECT_EQ(advance().removed, 2U);
  EXPECT_FALSE(exists(failed_task));
  EXPECT_FALSE(exists(dead));
}

TEST_P(StoreConformance, the_age_counts_from_the_end_and_not_from_the_put) {
  make_queue(queue("brief", {.keep_completed = {.for_time = 10s}}));
  const TaskId id = put(task("brief")).id;
  const Lease lease = take_one("brief");
  pass(1h);
  settle(done(lease));
  pass(10s - 1ms);
  advance();
  EXPECT_TRUE(exists(id));
  pass(1ms);
  advance();
  EXPECT_FALSE(exists(id));
}

TEST_P(StoreConformance, the_last_n_that_ended_stay) {
  make_queue(queue("short", {.keep_completed = {.last = 2}}));
  std::vector<TaskId> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(put(task("short")).id);
  auto leases = take("short");
  std::ranges::reverse(leases);  // the last one put ends first
  for (const Lease& lease : leases) {
    settle(done(lease));
    pass(1s);
  }
  advance();
  EXPECT_THAT(ids_of(list({.queue = "short"})), ElementsAre(ids.at(1), ids.at(0)));
}

TEST_P(StoreConformance, both_limits_hold_together) {
  make_queue(queue("both", {.keep_completed = {.for_time = 10s, .last = 2}}));
  for (int i = 0; i < 3; ++i) task_in(TaskState::completed, "both");
  advance();
  EXPECT_EQ(counts("both").total(), 2U) << "the count";
  now = t0 + 10s;
  advance();
  EXPECT_EQ(counts("both").total(), 0U) << "the age";
}

TEST_P(StoreConformance, without_limits_everything_stays_for_ever) {
  make_queue(queue("archive", {.keep_completed = for_ever, .keep_dead = for_ever}));
  for (const TaskState state : final_states) task_in(state, "archive");
  pass(24h * 3650);
  EXPECT_EQ(advance().removed, 0U);
  EXPECT_EQ(counts("archive").total(), 4U);
}

// S1-011, S2-009: done deletes the task where the queue keeps none.
TEST_P(StoreConformance, a_limit_of_zero_removes_the_task_at_once) {
  for (const Keep& keep : {Keep{.last = 0}, Keep{.for_time = Duration::zero()}}) {
    make_queue(queue("contract", {.keep_completed = keep}));
    const TaskId id = put(task("contract")).id;
    EXPECT_EQ(settle(done(take_one("contract"))), TaskState::completed);
    EXPECT_THAT(try_find(id), FailsWith(ErrorCode::not_found));
    EXPECT_EQ(counts("contract").total(), 0U);
    EXPECT_FALSE(put(task("contract", {.id = id})).existing) << "the id is free again";
    must(store().clear("contract", 10, now));
  }
}

TEST_P(StoreConformance, completed_tasks_and_dead_letters_are_counted_apart) {
  make_queue(queue("apart", {.keep_completed = {.last = 1}, .keep_dead = {.last = 2}}));
  for (int i = 0; i < 3; ++i) {
    task_in(TaskState::completed, "apart");
    task_in(TaskState::failed, "apart");
    task_in(TaskState::dead, "apart");
    pass(1s);
  }
  advance();
  const QueueCounts left = counts("apart");
  EXPECT_EQ(left.of(TaskState::completed), 1U);
  EXPECT_EQ(left.of(TaskState::failed) + left.of(TaskState::dead), 2U);
}

TEST_P(StoreConformance, cancelled_tasks_are_kept_as_completed_ones_are) {
  make_queue(queue("apart", {.keep_completed = {.for_time = 10s, .last = 2}, .keep_dead = {}}));
  const TaskId oldest = task_in(TaskState::cancelled, "apart");
  pass(1s);
  task_in(TaskState::completed, "apart");
  task_in(TaskState::cancelled, "apart");
  advance();
  EXPECT_FALSE(exists(oldest)) << "the count";
  EXPECT_EQ(counts("apart").total(), 2U);
  now = t0 + 11s;
  advance();
  EXPECT_EQ(counts("apart").total(), 0U) << "the age";
}

TEST_P(StoreConformance, retention_counts_each_queue_apart) {
  make_queue(queue("a", {.keep_completed = {.last = 1}}));
  make_queue(queue("b", {.keep_completed = {.last = 1}}));
  for (const std::string name : {"a", "b", "a", "b"}) task_in(TaskState::completed, name);
  advance();
  EXPECT_EQ(counts("a").total(), 1U);
  EXPECT_EQ(counts("b").total(), 1U);
}

TEST_P(StoreConformance, a_task_may_have_its_own_retention) {
  make_queue(queue("brief", {.keep_completed = {.for_time = 10s}, .keep_dead = {.last = 0}}));
  const TaskId longer = task_in(TaskState::completed, "brief", {.keep_for = 1h});
  const TaskId shorter = task_in(TaskState::completed, "brief", {.keep_for = 5s});
  const TaskId dead = task_in(TaskState::dead, "brief", {.keep_for = 1h});
  now = t0 + 5s;
  advance();
  EXPECT_FALSE(exists(shorter));
  now = t0 + 1h - 1ms;
  advance();
  EXPECT_TRUE(exists(longer));
  EXPECT_TRUE(exists(dead));
  now = t0 + 1h;
  advance();
  EXPECT_THAT(list({.queue = "brief"}), IsEmpty());
}

TEST_P(StoreConformance, a_task_that_keeps_itself_for_no_time_is_removed_when_it_ends) {
  for (const TaskState state : final_states) {
    const TaskId id = task_in(state, "q", {.keep_for = Duration::zero()});
    EXPECT_FALSE(exists(id)) << ::testing::PrintToString(state);
  }
}

TEST_P(StoreConformance, the_own_retention_of_a_task_is_not_cut_by_the_count_of_the_queue) {
  make_queue(queue("short", {.keep_completed = {.last = 1}}));
  const TaskId own = task_in(TaskState::completed, "short", {.keep_for = 1h});
  for (int i = 0; i < 3; ++i) task_in(TaskState::completed, "short");
  advance();
  EXPECT_TRUE(exists(own));
  EXPECT_EQ(counts("short").total(), 2U);
}

TEST_P(StoreConformance, retention_removes_only_final_tasks) {
  make_queue(queue("brief", {.keep_completed = {.last = 0}, .keep_dead = {.last = 0}}));
  make_queue(queue("quick", {.keep_completed = {.for_time = 1ms}, .keep_dead = {.for_time = 1ms}}));
  for (const std::string name : {"brief", "quick"}) {
    task_in(TaskState::processing, name);
    task_in(TaskState::retrying, name);
    task_in(TaskState::delayed, name);
    task_in(TaskState::created, name);
    task_in(TaskState::queued, name);
  }
  pass(24h * 3650);
  EXPECT_EQ(advance().removed, 0U);
  EXPECT_THAT(list(), SizeIs(10));
}

TEST_P(StoreConformance, a_revived_task_is_not_pruned_for_its_old_end) {
  make_queue(queue("brief", {.keep_dead = {.for_time = 10s}}));
  const TaskId id = task_in(TaskState::dead, "brief");
  revive(id);
  pass(1h);
  advance();
  EXPECT_EQ(state_of(id), TaskState::queued);
}

TEST_P(StoreConformance, pruning_is_bounded_and_says_whether_there_is_more) {
  make_queue(queue("brief", {.keep_completed = {.for_time = 10s}}));
  for (int i = 0; i < 7; ++i) task_in(TaskState::completed, "brief");
  pass(10s);
  std::vector<std::size_t> removed;
  for (bool more = true; more;) {
    const Advanced step = advance(3);
    removed.push_back(step.removed);
    more = step.more;
  }
  EXPECT_THAT(removed, ElementsAre(3, 3, 1));
  EXPECT_EQ(counts("brief").total(), 0U);
}

TEST_P(StoreConformance, new_retention_holds_for_tasks_that_ended_before) {
  QueueSettings settings = queue("changing", {.keep_completed = for_ever});
  make_queue(settings);
  for (int i = 0; i < 3; ++i) task_in(TaskState::completed, "changing");
  settings.keep_completed = {.last = 1};
  make_queue(settings);
  advance();
  EXPECT_EQ(counts("changing").total(), 1U);
}

}  // namespace
}  // namespace millrace::test
