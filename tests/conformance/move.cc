// Moving tasks to another queue.
#include <gmock/gmock.h>

#include "core/transition.h"
#include "store/store.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Every field of a task except its queue and the time of its last change.
Task but_for_the_queue(Task task) {
  task.queue.clear();
  task.version = {};
  task.updated_at = {};
  return task;
}

bool can_move(TaskState state) {
  return state != TaskState::processing && state != TaskState::completed;
}

TEST_P(StoreConformance, a_move_changes_the_queue_of_a_task_and_nothing_else) {
  make_queue("other");
  for (const auto& [state, id] : one_in_each_state("q")) {
    if (!can_move(state)) continue;
    const Task before = find(id);
    pass(1ms);
    EXPECT_EQ(update({.id = id, .queue = "other"}), state);
    const Task after = find(id);
    EXPECT_EQ(after.queue, "other");
    EXPECT_GT(after.version, before.version);
    EXPECT_EQ(after.updated_at, now);
    EXPECT_EQ(but_for_the_queue(after), but_for_the_queue(before));
    EXPECT_EQ(find(before.number).id, id);
  }
}

TEST_P(StoreConformance, a_move_is_counted_in_both_queues) {
  make_queue("other");
  const auto tasks = one_in_each_state("q");
  for (const auto& [state, id] : tasks) {
    if (can_move(state)) update({.id = id, .queue = "other"});
  }
  EXPECT_EQ(counts("q").total(), 2U);
  EXPECT_EQ(counts("other").total(), 7U);
  for (const auto& [state, id] : tasks) {
    const auto& there = counts(can_move(state) ? "other" : "q");
    EXPECT_EQ(there.by[static_cast<std::size_t>(state)][default_priority], 1U);
  }
  EXPECT_THAT(list({.queue = "other"}), SizeIs(7));
  EXPECT_THAT(list({.queue = "q"}), SizeIs(2));
}

TEST_P(StoreConformance, running_and_completed_tasks_stay_in_their_queue) {
  make_queue("other");
  for (const TaskState state : {TaskState::processing, TaskState::completed}) {
    const TaskId id = task_in(state, "q");
    expect_unchanged([&] {
      EXPECT_THAT(try_update({.id = id, .queue = "other"}), FailsWith(ErrorCode::conflict));
      EXPECT_THAT(try_update({.id = id, .queue = "q"}), FailsWith(ErrorCode::conflict));
    });
  }
}

TEST_P(StoreConformance, a_moved_task_is_given_out_by_its_new_queue_only) {
  make_queue("other");
  const TaskId id = put(task("q", {.payload = "what was put"})).id;
  update({.id = id, .queue = "other"});
  EXPECT_THAT(take("q"), IsEmpty());
  const Lease lease = take_one("other");
  EXPECT_EQ(lease.id, id);
  EXPECT_EQ(lease.queue, "other");
  EXPECT_EQ(lease.payload, "what was put");
  EXPECT_EQ(settle(done(lease)), TaskState::completed);
  EXPECT_EQ(counts("other").taken(), 0U);
}

TEST_P(StoreConformance, a_moved_task_finds_its_place_by_the_usual_order) {
  NEEDS_TRAIT(exact_order);
  make_queue("other");
  const TaskId oldest = put(task("q")).id;
  const TaskId urgent = put(task("q", {.priority = 8})).id;
  pass(1s);
  const TaskId there = put(task("other")).id;
  pass(1s);
  const TaskId newest = put(task("q")).id;
  for (const TaskId& id : {newest, urgent, oldest}) update({.id = id, .queue = "other"});
  EXPECT_THAT(ids_of(take("other")), ElementsAre(urgent, oldest, there, newest));
}

TEST_P(StoreConformance, a_delayed_task_that_was_moved_becomes_due_in_its_new_queue) {
  make_queue("other");
  const TaskId id = put(task("q", {.start = now + 10s})).id;
  update({.id = id, .queue = "other"});
  EXPECT_THAT(take("other"), IsEmpty());
  pass(10s);
  EXPECT_EQ(advance().promoted, 1U);
  EXPECT_EQ(take_one("other").id, id);
}

TEST_P(StoreConformance, a_dead_letter_that_was_moved_is_retried_in_its_new_queue) {
  make_queue("other");
  for (const TaskState state : {TaskState::failed, TaskState::dead, TaskState::cancelled}) {
    const TaskId id = task_in(state, "q");
    update({.id = id, .queue = "other"});
    EXPECT_EQ(state_of(id), state);
    EXPECT_EQ(revive(id), TaskState::queued);
    EXPECT_EQ(take_one("other").id, id);
  }
}

TEST_P(StoreConformance, a_move_to_where_the_task_is_already_is_no_error) {
  make_queue(queue("closed"));
  const TaskId id = put(task("closed")).id;
  make_queue(queue("closed", {.active = false}));
  EXPECT_EQ(update({.id = id, .queue = "closed"}), TaskState::queued);
  EXPECT_EQ(find(id).queue, "closed");
}

TEST_P(StoreConformance, a_queue_to_move_to_may_be_named_by_number_and_by_id) {
  const Queue target = make_queue(queue("other", {.number = QueueNumber{7}}));
  const TaskId first = put(task("q")).id;
  const TaskId second = put(task("q")).id;
  update({.id = first, .queue = QueueNumber{7}});
  update({.id = second, .queue = target.settings.id});
  EXPECT_THAT(list({.queue = "other"}), SizeIs(2));
}

TEST_P(StoreConformance, a_queue_that_accepts_no_puts_accepts_no_moves) {
  const TaskId id = put(task("q")).id;
  make_queue(queue("inactive", {.active = false}));
  make_queue(queue("draining", {.draining = true}));
  make_queue("removing");
  put(task("removing"));
  must(store().remove_queue("removing", true, now));
  expect_unchanged([&] {
    EXPECT_THAT(try_update({.id = id, .queue = "inactive"}), FailsWith(ErrorCode::conflict));
    EXPECT_THAT(try_update({.id = id, .queue = "draining"}), FailsWith(ErrorCode::conflict));
    EXPECT_THAT(try_update({.id = id, .queue = "removing"}), FailsWith(ErrorCode::conflict));
    EXPECT_THAT(try_update({.id = id, .queue = "nowhere"}), FailsWith(ErrorCode::not_found));
  });
}

TEST_P(StoreConformance, a_move_skips_depth_and_rate) {
  make_queue(queue("small", {.max_depth = 1, .put_rate = Rate{1, 1min}}));
  put(task("small"));
  const TaskId id = put(task("q")).id;
  update({.id = id, .queue = "small"});
  EXPECT_EQ(counts("small").waiting(), 2U);
  EXPECT_THAT(try_put(task("small")), FailsWith(ErrorCode::limited));
}

TEST_P(StoreConformance, a_move_makes_room_where_the_task_was) {
  make_queue("other");
  make_queue(queue("small", {.max_depth = 1}));
  const TaskId id = put(task("small")).id;
  EXPECT_THAT(try_put(task("small")), FailsWith(ErrorCode::limited));
  update({.id = id, .queue = "other"});
  put(task("small"));
}

TEST_P(StoreConformance, a_move_and_other_changes_are_one) {
  make_queue("other");
  const TaskId id = put(task("q", {.held = true})).id;
  EXPECT_EQ(update({.id = id,
                    .priority = 9,
                    .start = now + 10s,
                    .release = true,
                    .delivery_attempt = "HTTP 503",
                    .queue = "other"}),
            TaskState::delayed);
  const Task moved = find(id);
  EXPECT_EQ(moved.queue, "other");
  EXPECT_EQ(moved.priority, 9);
  EXPECT_EQ(moved.start, now + 10s);
  EXPECT_EQ(moved.delivery, (DeliveryNote{.attempts = 1, .last_status = "HTTP 503"}));
}

TEST_P(StoreConformance, a_move_with_a_change_that_is_refused_moves_nothing) {
  make_queue("other");
  const TaskId dead = task_in(TaskState::dead, "q");
  const TaskId waiting = put(task("q")).id;
  expect_unchanged([&] {
    EXPECT_THAT(try_update({.id = dead, .priority = 9, .queue = "other"}),
                FailsWith(ErrorCode::conflict));
    EXPECT_THAT(try_update({.id = waiting, .priority = 10, .queue = "other"}),
                FailsWith(ErrorCode::invalid));
    EXPECT_THAT(try_update({.id = waiting, .priority = 9, .queue = "nowhere"}),
                FailsWith(ErrorCode::not_found));
  });
}

TEST_P(StoreConformance, a_task_may_be_moved_and_changed_again_in_one_batch) {
  make_queue("other");
  const TaskId id = put(task("q")).id;
  const std::vector<TaskUpdate> batch = {{.id = id, .priority = 7},
                                         {.id = id, .queue = "other"},
                                         {.id = id, .priority = 8},
                                         {.id = id, .queue = "q"},
                                         {.id = id, .queue = "other"}};
  for (const auto& result : must(store().update(batch, now))) must(result);
  EXPECT_EQ(find(id).queue, "other");
  EXPECT_EQ(find(id).priority, 8);
  EXPECT_THAT(list({.queue = "q"}), IsEmpty());
}

// ---- Unique keys -------------------------------------------------------------------------------

TEST_P(StoreConformance, a_unique_key_goes_along_with_its_holder) {
  make_queue("other");
  const UniqueKey key{.key = "k"};
  const TaskId id = put(task("q", {.unique = key})).id;
  update({.id = id, .queue = "other"});
  EXPECT_EQ(put(task("other", {.unique = key})).id, id);
  EXPECT_FALSE(put(task("q", {.unique = key})).existing);
}

TEST_P(StoreConformance, a_unique_window_goes_along_to_its_old_end) {
  make_queue("other");
  const UniqueKey key{.key = "k", .scope = UniqueScope::window, .window = 10s};
  const TaskId waiting = put(task("q", {.unique = key})).id;
  pass(4s);
  update({.id = waiting, .queue = "other"});
  EXPECT_EQ(put(task("other", {.unique = key})).id, waiting);
  EXPECT_FALSE(put(task("q", {.unique = key})).existing);
  // The window lasts whatever becomes of the task.
  remove(waiting);
  pass(5s);
  EXPECT_TRUE(put(task("other", {.unique = key})).existing);
  pass(1s);
  EXPECT_FALSE(put(task("other", {.unique = key})).existing);
}

TEST_P(StoreConformance, a_key_that_is_held_in_the_other_queue_refuses_a_move) {
  make_queue("other");
  for (const UniqueKey& key : {UniqueKey{.key = "k"}, UniqueKey{"s", UniqueScope::until_started},
                               UniqueKey{"w", UniqueScope::window, 1h}}) {
    const TaskId id = put(task("q", {.unique = key})).id;
    put(task("other", {.unique = key}));
    expect_unchanged([&] {
      EXPECT_THAT(try_update({.id = id, .queue = "other"}), FailsWith(ErrorCode::conflict));
    });
  }
}

TEST_P(StoreConformance, a_dead_letter_holds_no_key_and_may_be_moved_to_where_one_is_held) {
  make_queue("other");
  const UniqueKey key{.key = "k"};
  const TaskId dead = task_in(TaskState::dead, "q", {.unique = key});
  const TaskId holder = put(task("other", {.unique = key})).id;
  update({.id = dead, .queue = "other"});
  EXPECT_EQ(put(task("other", {.unique = key})).id, holder);
  EXPECT_THAT(try_revive(dead), FailsWith(ErrorCode::conflict));
}

// ---- Upkeep ------------------------------------------------------------------------------------

TEST_P(StoreConformance, a_moved_dead_letter_is_kept_as_its_new_queue_keeps_them) {
  make_queue(queue("strict", {.keep_dead = {.for_time = 1min}}));
  make_queue(queue("stricter", {.keep_dead = {.last = 0}}));
  const TaskId first = task_in(TaskState::dead, "q");
  const TaskId second = task_in(TaskState::failed, "q");
  const TaskId third = task_in(TaskState::dead, "q");
  update({.id = first, .queue = "strict"});
  update({.id = second, .queue = "stricter"});
  advance();
  EXPECT_TRUE(exists(first));
  EXPECT_FALSE(exists(second));
  pass(1min);
  advance();
  EXPECT_FALSE(exists(first));
  EXPECT_TRUE(exists(third));
}

TEST_P(StoreConformance, a_queue_whose_last_task_was_moved_away_may_be_removed) {
  make_queue("other");
  make_queue("old");
  const TaskId id = put(task("old")).id;
  EXPECT_THAT(store().remove_queue("old", false, now), FailsWith(ErrorCode::conflict));
  update({.id = id, .queue = "other"});
  must(store().remove_queue("old", false, now));
  EXPECT_EQ(find(id).queue, "other");
}

TEST_P(StoreConformance, a_task_may_be_saved_from_a_queue_that_is_being_removed) {
  make_queue("other");
  make_queue("old");
  const TaskId saved = put(task("old")).id;
  const TaskId lost = put(task("old")).id;
  must(store().remove_queue("old", true, now));
  update({.id = saved, .queue = "other"});
  advance();
  EXPECT_EQ(find(saved).queue, "other");
  EXPECT_FALSE(exists(lost));
}

TEST_P(StoreConformance, a_moved_task_still_expires) {
  make_queue("other");
  const TaskId id = put(task("q", {.start_by = now + 1s})).id;
  update({.id = id, .queue = "other"});
  pass(1s);
  EXPECT_EQ(settle(expired(due_one(), now)), TaskState::cancelled);
  EXPECT_EQ(find(id).queue, "other");
}

// ---- Restart -----------------------------------------------------------------------------------

TEST_P(StoreConformance, a_move_survives_a_restart) {
  if (!can_reopen()) GTEST_SKIP() << "the store keeps nothing";
  make_queue("other");
  make_queue("old");
  const UniqueKey key{.key = "k", .scope = UniqueScope::window, .window = 1h};
  const TaskId waiting = put(task("old", {.payload = "payload", .unique = key})).id;
  const TaskId dead = task_in(TaskState::dead, "q", {.payload = "other payload"});
  const TaskId changed = put(task("q", {.start = now + 1h})).id;
  update({.id = changed, .priority = 7});
  update({.id = waiting, .queue = "other"});
  update({.id = dead, .queue = "other"});
  const std::vector<TaskUpdate> batch = {{.id = changed, .priority = 8},
                                         {.id = changed, .queue = "other"},
                                         {.id = changed, .priority = 9}};
  must(store().update(batch, now));
  must(store().remove_queue("old", false, now));
  const std::string before = dump(store(), now);
  must(store().flush());
  reopen();
  EXPECT_EQ(dump(store(), now), before);
  EXPECT_EQ(put(task("other", {.unique = key})).id, waiting);
  EXPECT_EQ(find(changed).priority, 9);
  EXPECT_EQ(find(changed).queue, "other");
  EXPECT_EQ(take_one("other").payload, "payload");
  EXPECT_EQ(find(dead).payload, "other payload");
}

// No change after a move may bring the task back to its old queue.
TEST_P(StoreConformance, a_task_changed_after_a_move_stays_there_after_a_restart) {
  if (!can_reopen()) GTEST_SKIP() << "the store keeps nothing";
  make_queue("other");
  const TaskId id = put(task("q")).id;
  update({.id = id, .queue = "other"});
  must(store().flush());
  reopen();
  update({.id = id, .priority = 9});
  settle(retry_at(take_one("other"), now + 1h));
  must(store().flush());
  reopen();
  EXPECT_EQ(find(id).queue, "other");
  EXPECT_EQ(find(id).priority, 9);
  EXPECT_EQ(state_of(id), TaskState::retrying);
}

}  // namespace
}  // namespace millrace::test
