// Unique keys: one holder per key and queue; a second put returns the holder.
#include <gmock/gmock.h>

#include "store/store.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {
namespace {

using ::testing::SizeIs;

NewTask keyed(UniqueScope scope, Duration window = {}) {
  return task("q", {.unique = UniqueKey{.key = "k", .scope = scope, .window = window}});
}

TEST_P(StoreConformance, a_second_put_of_a_key_returns_the_holder) {
  const Put holder = put(keyed(UniqueScope::until_finished));
  pass(1s);
  const NewTask second = keyed(UniqueScope::until_finished);
  EXPECT_EQ(
      put(second),
      (Put{
          .id = holder.id, .number = holder.number, .state = TaskState::queued, .existing = true}));
  EXPECT_FALSE(exists(second.id));
  EXPECT_THAT(list(), SizeIs(1));
}

TEST_P(StoreConformance, a_conflict_says_in_which_state_the_holder_is) {
  put(keyed(UniqueScope::until_finished));
  take_one("q");
  EXPECT_EQ(put(keyed(UniqueScope::until_finished)).state, TaskState::processing);
}

TEST_P(StoreConformance, a_key_is_held_once_inside_a_batch_too) {
  const auto puts =
      put_all({keyed(UniqueScope::until_finished), keyed(UniqueScope::until_finished)});
  EXPECT_FALSE(puts.at(0).existing);
  EXPECT_TRUE(puts.at(1).existing);
  EXPECT_EQ(puts.at(1).id, puts.at(0).id);
}

TEST_P(StoreConformance, keys_of_different_queues_have_nothing_to_do_with_each_other) {
  make_queue("other");
  put(task("q", {.unique = UniqueKey{.key = "k"}}));
  EXPECT_FALSE(put(task("other", {.unique = UniqueKey{.key = "k"}})).existing);
}

TEST_P(StoreConformance, different_keys_have_nothing_to_do_with_each_other) {
  put(task("q", {.unique = UniqueKey{.key = "k"}}));
  EXPECT_FALSE(put(task("q", {.unique = UniqueKey{.key = "K"}})).existing);
  EXPECT_FALSE(put(task("q", {.unique = UniqueKey{.key = "k2"}})).existing);
  EXPECT_FALSE(put(task("q")).existing);
}

TEST_P(StoreConformance, the_holder_keeps_its_key_in_every_waiting_state) {
  for (const TaskState state : waiting_states) {
    const std::string name = "unique-" + ::testing::PrintToString(state);
    make_queue(name);
    const UniqueKey key{.key = "k"};
    const TaskId holder = task_in(state, name, {.unique = key});
    EXPECT_EQ(put(task(name, {.unique = key})).id, holder) << name;
  }
}

// ---- until_finished ----------------------------------------------------------------------------

TEST_P(StoreConformance, until_finished_is_held_while_running_and_retrying) {
  const Put holder = put(keyed(UniqueScope::until_finished));
  const Lease lease = take_one("q");
  EXPECT_EQ(put(keyed(UniqueScope::until_finished)).id, holder.id);
  settle(retry_at(lease, now + 1h));
  EXPECT_EQ(put(keyed(UniqueScope::until_finished)).id, holder.id);
}

TEST_P(StoreConformance, until_finished_is_freed_in_every_final_state) {
  for (const TaskState state : final_states) {
    const std::string name = "unique-" + ::testing::PrintToString(state);
    make_queue(name);
    task_in(state, name, {.unique = UniqueKey{.key = "k"}});
    EXPECT_FALSE(put(task(name, {.unique = UniqueKey{.key = "k"}})).existing) << name;
  }
}

TEST_P(StoreConformance, until_finished_is_freed_by_the_end_of_a_run_that_was_to_be_cancelled) {
  put(keyed(UniqueScope::until_finished));
  const Lease lease = take_one("q");
  cancel(lease.id);
  EXPECT_TRUE(put(keyed(UniqueScope::until_finished)).existing);
  settle(cancelled(lease));
  EXPECT_FALSE(put(keyed(UniqueScope::until_finished)).existing);
}

TEST_P(StoreConformance, a_removed_task_frees_its_key) {
  remove(put(keyed(UniqueScope::until_finished)).id);
  const Put second = put(keyed(UniqueScope::until_started));
  EXPECT_FALSE(second.existing);
  remove(second.id);
  EXPECT_FALSE(put(keyed(UniqueScope::until_finished)).existing);
}

// ---- until_started -----------------------------------------------------------------------------

TEST_P(StoreConformance, until_started_is_freed_at_the_first_take) {
  put(keyed(UniqueScope::until_started));
  EXPECT_TRUE(put(keyed(UniqueScope::until_started)).existing);
  take_one("q");
  EXPECT_FALSE(put(keyed(UniqueScope::until_started)).existing);
}

TEST_P(StoreConformance, until_started_is_not_held_again_by_a_task_that_comes_back) {
  const Put first = put(keyed(UniqueScope::until_started));
  const Lease lease = take_one("q");
  const Put second = put(keyed(UniqueScope::until_started));
  settle(retry_at(lease, now));
  EXPECT_EQ(put(keyed(UniqueScope::until_started)).id, second.id);
  EXPECT_NE(first.id, second.id);
  EXPECT_THAT(take("q"), SizeIs(2));
}

TEST_P(StoreConformance, until_started_is_freed_when_the_task_ends_without_a_start) {
  const Put first = put(keyed(UniqueScope::until_started));
  cancel(first.id);
  EXPECT_FALSE(put(keyed(UniqueScope::until_started)).existing);
}

// ---- window ------------------------------------------------------------------------------------

TEST_P(StoreConformance, a_window_holds_its_key_from_the_put_for_its_length) {
  const Put holder = put(keyed(UniqueScope::window, 10s));
  pass(10s - 1ms);
  EXPECT_EQ(put(keyed(UniqueScope::window, 10s)).id, holder.id);
  pass(1ms);
  EXPECT_FALSE(put(keyed(UniqueScope::window, 10s)).existing);
}

TEST_P(StoreConformance, a_window_counts_from_the_put_and_not_from_the_start) {
  put(task("q", {.start = now + 1h,
                 .unique = UniqueKey{.key = "k", .scope = UniqueScope::window, .window = 10s}}));
  pass(10s);
  EXPECT_FALSE(put(keyed(UniqueScope::window, 10s)).existing);
}

TEST_P(StoreConformance, a_window_survives_whatever_becomes_of_the_task) {
  const Put holder = put(keyed(UniqueScope::window, 10s));
  settle(done(take_one("q")));
  EXPECT_EQ(put(keyed(UniqueScope::window, 10s)).id, holder.id);
  remove(holder.id);
  const Put conflict = put(keyed(UniqueScope::window, 10s));
  EXPECT_TRUE(conflict.existing);
  EXPECT_EQ(conflict.id, holder.id);
  EXPECT_EQ(conflict.state, std::nullopt) << "it is gone";
  pass(10s);
  EXPECT_FALSE(put(keyed(UniqueScope::window, 10s)).existing);
}

TEST_P(StoreConformance, a_window_survives_retention_and_clear) {
  make_queue(queue("brief", {.keep_completed = {.last = 0}}));
  const UniqueKey key{.key = "k", .scope = UniqueScope::window, .window = 10s};
  const Put pruned = put(task("brief", {.unique = key}));
  settle(done(take_one("brief")));
  advance();
  EXPECT_FALSE(exists(pruned.id));
  EXPECT_EQ(put(task("brief", {.unique = key})).id, pruned.id);

  const Put cleared = put(task("q", {.unique = key}));
  must(store().clear("q", 100, now));
  EXPECT_EQ(put(task("q", {.unique = key})).id, cleared.id);
}

TEST_P(StoreConformance, advance_ends_windows_that_are_over_and_no_others) {
  const Put holder = put(keyed(UniqueScope::window, 10s));
  pass(10s - 1ms);
  advance();
  EXPECT_EQ(put(keyed(UniqueScope::window, 10s)).id, holder.id);
  pass(1ms);
  advance();
  EXPECT_FALSE(put(keyed(UniqueScope::window, 10s)).existing);
}

TEST_P(StoreConformance, the_end_of_an_old_window_does_not_free_the_key_of_a_new_one) {
  put(keyed(UniqueScope::window, 10s));
  pass(10s);
  const Put second = put(keyed(UniqueScope::window, 10s));
  advance();
  EXPECT_EQ(put(keyed(UniqueScope::window, 10s)).id, second.id);
}

// ---- The holder's scope rules ------------------------------------------------------------------

TEST_P(StoreConformance, the_holders_scope_rules_and_not_the_newcomers) {
  const Put holder = put(keyed(UniqueScope::until_finished));
  pass(1h);
  EXPECT_EQ(put(keyed(UniqueScope::window, 1s)).id, holder.id);
  const Lease lease = take_one("q");
  EXPECT_EQ(put(keyed(UniqueScope::until_started)).id, holder.id);
  settle(done(lease));
  EXPECT_FALSE(put(keyed(UniqueScope::until_started)).existing);
}

TEST_P(StoreConformance, a_started_task_leaves_its_key_to_a_holder_of_another_scope) {
  const Put first = put(keyed(UniqueScope::until_started));
  const Lease lease = take_one("q");
  const Put second = put(keyed(UniqueScope::until_finished));
  EXPECT_FALSE(second.existing);
  settle(done(lease));
  EXPECT_EQ(put(keyed(UniqueScope::until_started)).id, second.id) << "the first one freed nothing";
  EXPECT_NE(first.id, second.id);
}

// ---- Revival -----------------------------------------------------------------------------------

TEST_P(StoreConformance, a_task_whose_key_another_task_holds_cannot_be_revived) {
  const Put first = put(keyed(UniqueScope::until_finished));
  settle(failed(take_one("q")));
  const Put second = put(keyed(UniqueScope::until_finished));
  expect_unchanged([&] { EXPECT_THAT(try_revive(first.id), FailsWith(ErrorCode::conflict)); });
  remove(second.id);
  EXPECT_EQ(revive(first.id), TaskState::queued);
}

TEST_P(StoreConformance, a_revived_task_holds_its_key_again) {
  const Put first = put(keyed(UniqueScope::until_finished));
  settle(failed(take_one("q")));
  revive(first.id);
  EXPECT_EQ(put(keyed(UniqueScope::until_finished)).id, first.id);
}

TEST_P(StoreConformance, a_revived_task_holds_until_started_again_until_it_is_taken) {
  const Put first = put(keyed(UniqueScope::until_started));
  settle(failed(take_one("q")));
  revive(first.id);
  EXPECT_EQ(put(keyed(UniqueScope::until_started)).id, first.id);
  take_one("q");
  EXPECT_FALSE(put(keyed(UniqueScope::until_started)).existing);
}

TEST_P(StoreConformance,
       a_task_whose_window_is_over_cannot_be_revived_while_another_holds_its_key) {
  const Put first = put(keyed(UniqueScope::window, 10s));
  settle(failed(take_one("q")));
  pass(10s);
  put(keyed(UniqueScope::until_finished));
  expect_unchanged([&] { EXPECT_THAT(try_revive(first.id), FailsWith(ErrorCode::conflict)); });
}

TEST_P(StoreConformance, a_task_inside_its_own_window_can_be_revived) {
  const Put first = put(keyed(UniqueScope::window, 1h));
  settle(failed(take_one("q")));
  EXPECT_EQ(revive(first.id), TaskState::queued);
  EXPECT_EQ(put(keyed(UniqueScope::window, 1h)).id, first.id);
}

}  // namespace
}  // namespace millrace::test
