// Restoring: tasks come in as they were in another store.
#include <gmock/gmock.h>

#include "core/transition.h"
#include "store/store.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A task with something in every field.
Task rich_task(TaskState state) {
  Task task{.type = "send", .payload = std::string("p\0q", 3), .content_type = "text/plain"};
  task.state = state;
  task.priority = 8;
  task.cancel_requested = !is_final(state);
  task.counters = {.deliveries = 4, .attempts = 3, .retries = 2, .lost = 1};
  task.previous_start = t0 - 50min;
  task.started_at = t0 - 40min;
  task.start_by = t0 + 2h;
  task.worker = "worker-7";
  task.timeout = 5s;
  task.max_lost = 9;
  task.retry = RetryRules{.base = 3s, .factor = 1.5};
  task.unique = UniqueKey{.key = "k"};
  task.callback = Callback{.url = "https://example.org/done", .events = 1, .max_attempts = 2};
  task.keep_for = 48h;
  task.client_id = "client";
  task.request_id = "request";
  task.group = "group";
  task.metadata = R"({"a":1})";
  task.tags = {"one", "two"};
  task.parent = fresh_id();
  task.result = "result";
  task.error = error("again", "code");
  task.error->details = "details";
  task.error->stack = "stack";
  task.error->failed_at = t0 - 35min;
  task.progress = 12.5;
  task.delivery = DeliveryNote{.attempts = 2, .last_status = "503"};
  task.log = {{t0 - 39min, "first"}, {t0 - 38min, "second"}};
  task.history = {{t0 - 45min, t0 - 44min, Event::retry, "worker-6", "code", "again"}};
  return old_task("q", task);
}

// The task as the store has it: its own number and version, nothing running.
Task as_restored(Task task, const Task& found) {
  task.number = found.number;
  task.version = found.version;
  task.lease_until.reset();
  if (task.state == TaskState::processing) {
    task.state = TaskState::queued;
    task.start_by.reset();  // it has started
  }
  return task;
}

TEST_P(StoreConformance, a_restored_task_is_as_it_was_in_every_field) {
  for (std::size_t i = 0; i < state_count; ++i) {
    Task task = rich_task(static_cast<TaskState>(i));
    task.unique->key = "k" + std::to_string(i);
    if (task.state == TaskState::processing) task.lease_until = t0 + 1h;
    const Put put = restore(task);
    const Task found = find(task.id);
    EXPECT_FALSE(put.existing);
    EXPECT_EQ(put.number, found.number);
    EXPECT_EQ(put.state, found.state);
    EXPECT_NE(found.number, TaskNumber{});
    EXPECT_EQ(found, as_restored(task, found));
  }
}

// Above all without a history: a store must not add an attempt that never was.
TEST_P(StoreConformance, a_restored_task_with_nothing_in_it_is_as_it_was) {
  for (std::size_t i = 0; i < state_count; ++i) {
    const Task task = old_task("q", {.state = static_cast<TaskState>(i)});
    restore(task);
    const Task found = find(task.id);
    EXPECT_EQ(found, as_restored(task, found));
  }
}

TEST_P(StoreConformance, restored_tasks_are_counted) {
  for (std::size_t i = 0; i < state_count; ++i) {
    restore(old_task("q", {.state = static_cast<TaskState>(i), .priority = 3}));
  }
  const QueueCounts found = counts("q");
  EXPECT_EQ(found.of(TaskState::processing), 0U);
  EXPECT_EQ(found.of(TaskState::queued), 2U);
  EXPECT_EQ(found.of(TaskState::dead), 1U);
  EXPECT_EQ(found.by[static_cast<std::size_t>(TaskState::queued)][3], 2U);
  EXPECT_EQ(found.total(), state_count);
}

// D-07
TEST_P(StoreConformance, a_task_that_ran_elsewhere_is_queued_and_can_be_taken_at_once) {
  Task task = old_task("q", {.state = TaskState::processing, .worker = "gone"});
  task.counters.deliveries = 2;
  task.started_at = t0 - 40min;
  task.lease_until = t0 + 12h;
  restore(task);
  EXPECT_THAT(due(), IsEmpty());
  const Lease lease = take_one("q");
  EXPECT_EQ(lease.id, task.id);
  EXPECT_EQ(lease.start, task.start);
  EXPECT_EQ(lease.counters.deliveries, 3U);
  EXPECT_EQ(settle(done(lease)), TaskState::completed);
}

TEST_P(StoreConformance, a_worker_that_runs_a_task_elsewhere_cannot_settle_it_here) {
  put(task("q"));
  const Lease old = take_one("q");
  const Task running = find(old.id);
  const auto elsewhere = GetParam().make();
  use(*elsewhere);
  make_queue("q");
  restore(running);
  const Lease lease = take_one("q");
  EXPECT_EQ(lease.id, old.id);
  EXPECT_THAT(try_settle(done(old)), FailsWith(ErrorCode::lease_lost));
  EXPECT_THAT(try_extend({.id = old.id, .token = old.token}), FailsWith(ErrorCode::lease_lost));
  EXPECT_EQ(settle(done(lease)), TaskState::completed);
}

TEST_P(StoreConformance, the_same_id_restored_again_changes_nothing) {
  const Task task = old_task("q", {.state = TaskState::queued});
  restore(task);
  Task again = task;
  again.state = TaskState::dead;
  again.finished_at = now;
  again.payload = "another";
  expect_unchanged([&] {
    const Put put = restore(again);
    EXPECT_TRUE(put.existing);
    EXPECT_EQ(put.number, find(task.id).number);
    EXPECT_EQ(put.state, TaskState::queued);
  });
}

TEST_P(StoreConformance, a_task_is_not_restored_into_an_unknown_queue_or_one_being_removed) {
  put(task("q"));
  must(store().remove_queue("q", true, now));
  expect_unchanged([&] {
    EXPECT_THAT(try_restore(old_task("nowhere")), FailsWith(ErrorCode::not_found));
    EXPECT_THAT(try_restore(old_task("q")), FailsWith(ErrorCode::conflict));
  });
}

TEST_P(StoreConformance, restoring_skips_depth_rate_active_and_draining) {
  make_queue(queue("full", {.max_depth = 1, .put_rate = Rate{1, 1h}}));
  make_queue(queue("closed", {.active = false}));
  make_queue(queue("draining", {.draining = true}));
  put(task("full"));
  for (const char* name : {"full", "full", "closed", "draining"}) {
    EXPECT_THAT(try_restore(old_task(name, {.state = TaskState::queued})), IsOk()) << name;
  }
  EXPECT_EQ(counts("full").waiting(), 3U);
}

TEST_P(StoreConformance, restored_tasks_are_taken_in_their_old_order) {
  NEEDS_TRAIT(exact_order);
  std::vector<Task> tasks;
  for (const int minutes : {3, 1, 2, 2, 2}) {
    tasks.push_back(old_task("q", {.state = TaskState::queued, .start = t0 - minutes * 1min}));
  }
  tasks[2].state = TaskState::processing;
  tasks[1].priority = 9;
  for (const auto& result : must(store().restore(tasks, now))) must(result);
  EXPECT_THAT(ids_of(take("q")),
              ElementsAre(tasks[1].id, tasks[0].id, tasks[2].id, tasks[3].id, tasks[4].id));
}

TEST_P(StoreConformance, a_restored_task_that_waits_for_its_time_or_release_goes_on_waiting) {
  const Task delayed = old_task("q", {.state = TaskState::delayed, .start = t0 + 1h});
  const Task retrying = old_task("q", {.state = TaskState::retrying, .start = t0 + 2h});
  const Task created = old_task("q", {.state = TaskState::created});
  for (const Task& task : {delayed, retrying, created}) restore(task);
  EXPECT_THAT(take("q"), IsEmpty());
  EXPECT_EQ(advance().next, t0 + 1h);
  pass(2h);
  EXPECT_EQ(advance().promoted, 2U);
  update({.id = created.id, .release = true});
  EXPECT_THAT(ids_of(take("q")), ElementsAre(delayed.id, retrying.id, created.id));
}

// ---- Unique keys -------------------------------------------------------------------------------

TEST_P(StoreConformance, a_restored_task_whose_key_is_held_gives_way_to_the_holder) {
  const TaskId holder = put(task("q", {.unique = UniqueKey{.key = "k"}})).id;
  expect_unchanged([&] {
    const Put put =
        restore(old_task("q", {.state = TaskState::queued, .unique = UniqueKey{.key = "k"}}));
    EXPECT_TRUE(put.existing);
    EXPECT_EQ(put.id, holder);
  });
}

TEST_P(StoreConformance, a_restored_task_holds_its_key_as_its_state_says) {
  const auto key = [](std::string name, UniqueScope scope) {
    return UniqueKey{.key = std::move(name), .scope = scope};
  };
  Task waiting = old_task(
      "q", {.state = TaskState::queued, .unique = key("waiting", UniqueScope::until_finished)});
  Task fresh = old_task(
      "q", {.state = TaskState::queued, .unique = key("fresh", UniqueScope::until_started)});
  Task ran = old_task(
      "q", {.state = TaskState::processing, .unique = key("ran", UniqueScope::until_started)});
  ran.counters.deliveries = 1;
  Task over = old_task(
      "q", {.state = TaskState::completed, .unique = key("over", UniqueScope::until_finished)});
  for (const Task& task : {waiting, fresh, ran, over}) restore(task);
  const auto conflict = [&](const char* name) {
    return put(task("q", {.unique = UniqueKey{.key = name}})).existing;
  };
  EXPECT_TRUE(conflict("waiting"));
  EXPECT_TRUE(conflict("fresh"));
  EXPECT_FALSE(conflict("ran"));
  EXPECT_FALSE(conflict("over"));
}

TEST_P(StoreConformance, a_finished_task_is_restored_though_another_task_holds_its_key) {
  put(task("q", {.unique = UniqueKey{.key = "k"}}));
  EXPECT_FALSE(
      restore(old_task("q", {.state = TaskState::dead, .unique = UniqueKey{.key = "k"}})).existing);
}

TEST_P(StoreConformance, a_restored_window_counts_from_when_the_task_was_made) {
  const UniqueKey key{.key = "k", .scope = UniqueScope::window, .window = 2h};
  const Task first = old_task("q", {.state = TaskState::completed, .unique = key});
  restore(first);  // put an hour ago: an hour of the window is left
  pass(1h - 1ms);
  EXPECT_EQ(put(task("q", {.unique = key})).id, first.id);
  pass(1ms);
  EXPECT_FALSE(put(task("q", {.unique = key})).existing);
  // A window that has already ended is no conflict.
  EXPECT_FALSE(restore(old_task("q", {.state = TaskState::dead, .unique = key})).existing);
}

// ---- What comes after --------------------------------------------------------------------------

TEST_P(StoreConformance, restored_tasks_are_pruned_by_the_retention_that_counts_from_their_end) {
  make_queue(queue("brief", {.keep_completed = {.for_time = 1h}, .keep_dead = {.for_time = 1min}}));
  const Task kept = old_task("brief", {.state = TaskState::completed});
  const Task late = old_task("brief", {.state = TaskState::dead});
  restore(kept);
  restore(late);
  EXPECT_TRUE(exists(late.id)) << "a restored task goes no earlier than the next advance()";
  advance();
  EXPECT_FALSE(exists(late.id));
  EXPECT_TRUE(exists(kept.id));
  now = t0 + 30min;
  advance();
  EXPECT_FALSE(exists(kept.id));
}

TEST_P(StoreConformance, a_restored_dead_letter_can_be_retried) {
  const Task dead = old_task("q", {.state = TaskState::dead, .error = error("hopeless")});
  restore(dead);
  EXPECT_EQ(revive(dead.id), TaskState::queued);
  EXPECT_EQ(take_one("q").id, dead.id);
}

TEST_P(StoreConformance, a_cancel_request_survives_and_the_next_holder_learns_of_it) {
  restore(old_task("q", {.state = TaskState::processing, .cancel_requested = true}));
  const Lease lease = take_one("q");
  EXPECT_TRUE(extend(lease).cancel_requested);
  EXPECT_EQ(must(try_settle(retry_at(lease, now + 1s))).status, SettleStatus::cancel_requested);
  EXPECT_EQ(settle(cancelled(lease)), TaskState::cancelled);
  EXPECT_FALSE(find(lease.id).cancel_requested);
}

TEST_P(StoreConformance, a_restored_task_with_a_cancel_request_can_expire_and_be_cancelled) {
  Task task = old_task("q", {.state = TaskState::queued, .cancel_requested = true});
  task.start_by = t0 - 1min;
  restore(task);
  const Overdue overdue = due_one();
  EXPECT_TRUE(overdue.cancel_requested);
  EXPECT_EQ(settle(expired(overdue, now)), TaskState::cancelled);
  const Task other = old_task("q", {.state = TaskState::queued, .cancel_requested = true});
  restore(other);
  EXPECT_EQ(cancel(other.id), TaskState::cancelled);
  EXPECT_FALSE(find(other.id).cancel_requested);
}

TEST_P(StoreConformance, restored_tasks_are_there_after_reopening) {
  if (!can_reopen()) GTEST_SKIP() << "everything is lost with the process, and the traits say so";
  for (std::size_t i = 0; i < state_count; ++i) {
    Task task = rich_task(static_cast<TaskState>(i));
    task.unique->key = "k" + std::to_string(i);
    restore(task);
  }
  must(store().flush());
  expect_unchanged([&] { reopen(); });
}

}  // namespace
}  // namespace millrace::test
