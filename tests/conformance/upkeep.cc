// advance(): what the passage of time brings about, in bounded steps.
#include <gmock/gmock.h>
#include <stop_token>
#include <thread>

#include "store/store.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {
namespace {

using ::testing::ElementsAre;

// S0-064, S1-029, S1-040
TEST_P(StoreConformance, advance_promotes_delayed_and_retrying_tasks_that_are_due) {
  const TaskId retrying = task_in(TaskState::retrying, "q");
  const TaskId delayed = task_in(TaskState::delayed, "q");
  pass(1h - 1ms);
  EXPECT_EQ(advance().promoted, 0U);
  EXPECT_EQ(state_of(delayed), TaskState::delayed);
  pass(1ms);
  EXPECT_EQ(advance().promoted, 2U);
  EXPECT_EQ(state_of(retrying), TaskState::queued);
  EXPECT_EQ(state_of(delayed), TaskState::queued);
}

TEST_P(StoreConformance, advance_promotes_at_most_the_limit_and_says_whether_there_is_more) {
  std::vector<NewTask> batch;
  for (int i = 0; i < 5; ++i) batch.push_back(task("q", {.start = now + 1s}));
  put_all(batch);
  pass(1s);
  std::vector<std::size_t> promoted;
  for (bool more = true; more;) {
    const Advanced step = advance(2);
    promoted.push_back(step.promoted);
    more = step.more;
  }
  EXPECT_THAT(promoted, ElementsAre(2, 2, 1));
  EXPECT_EQ(counts("q").ready(), 5U);
}

TEST_P(StoreConformance, advance_touches_neither_leases_nor_start_by) {
  const TaskId running = task_in(TaskState::processing, "q");
  const TaskId timed = put(task("q", {.start_by = now + 1s})).id;
  pass(1h);
  advance();
  EXPECT_EQ(state_of(running), TaskState::processing);
  EXPECT_EQ(state_of(timed), TaskState::queued);
  EXPECT_EQ(due().size(), 2U);
}

TEST_P(StoreConformance, a_second_advance_at_the_same_moment_finds_nothing_to_do) {
  one_in_each_state("q");
  make_queue(queue("paused", {.paused_until = now + 1h}));
  put(task("q", {.unique = UniqueKey{.key = "k", .scope = UniqueScope::window, .window = 1h}}));
  must(store().remember({.key = "m", .value = "v", .lifetime = 1h}, now));
  now = pruned_by(now, 48h);
  const Advanced first = advance();
  EXPECT_EQ(first.promoted, 2U);
  EXPECT_EQ(first.lifted, 1U);
  EXPECT_FALSE(first.more);
  const Advanced second = advance();
  EXPECT_EQ(second.promoted + second.removed + second.lifted, 0U);
  EXPECT_FALSE(second.more);
}

TEST_P(StoreConformance, nothing_falls_due_in_an_empty_store) {
  EXPECT_EQ(advance(), Advanced{});
}

TEST_P(StoreConformance, advance_says_when_the_next_task_falls_due) {
  put(task("q", {.start = now + 20s}));
  put(task("q", {.start = now + 10s}));
  EXPECT_EQ(advance().next, now + 10s);
  pass(10s);
  EXPECT_EQ(advance().next, t0 + 20s);
}

TEST_P(StoreConformance, advance_says_when_a_pause_a_window_a_memo_or_retention_ends) {
  make_queue(queue("brief", {.keep_completed = {.for_time = 40s}}));
  task_in(TaskState::completed, "brief");
  EXPECT_EQ(advance().next, now + 40s);
  must(store().remember({.key = "m", .value = "v", .lifetime = 30s}, now));
  EXPECT_EQ(advance().next, now + 30s);
  put(task("q", {.unique = UniqueKey{.key = "k", .scope = UniqueScope::window, .window = 20s}}));
  EXPECT_EQ(advance().next, now + 20s);
  make_queue(queue("paused", {.paused_until = now + 10s}));
  EXPECT_EQ(advance().next, now + 10s);
  for (const Duration after : {10s, 20s, 30s}) {
    now = t0 + after;
    EXPECT_EQ(advance().next, now + 10s);
  }
}

TEST_P(StoreConformance, advance_says_when_each_kind_of_retention_ends) {
  make_queue(queue("brief", {.keep_completed = {.for_time = 30s}, .keep_dead = {.for_time = 20s}}));
  task_in(TaskState::completed, "brief");
  EXPECT_EQ(advance().next, now + 30s);
  task_in(TaskState::dead, "brief");
  EXPECT_EQ(advance().next, now + 20s);
  task_in(TaskState::failed, "brief", {.keep_for = 10s});
  EXPECT_EQ(advance().next, now + 10s);
}

TEST_P(StoreConformance, advance_says_when_a_lease_or_a_start_by_passes) {
  put(task("q", {.start_by = now + 90s}));
  make_queue("running");
  task_in(TaskState::processing, "running");
  EXPECT_EQ(advance().next, now + 60s);
  pass(60s);
  settle(lost(due_one(), now));
  EXPECT_EQ(advance().next, t0 + 90s);
}

TEST_P(StoreConformance, flush_may_be_called_at_any_time) {
  EXPECT_THAT(store().flush(), IsOk());
  put(task("q"));
  EXPECT_THAT(store().flush(), IsOk());
  EXPECT_THAT(store().flush(), IsOk());
}

TEST_P(StoreConformance, flush_may_run_on_a_second_thread_while_the_next_calls_are_applied) {
  std::jthread flushing([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) EXPECT_THAT(store().flush(), IsOk());
  });
  for (int i = 0; i < 200; ++i) {
    put(task("q"));
    settle(done(take_one("q")));
  }
}

}  // namespace
}  // namespace millrace::test
