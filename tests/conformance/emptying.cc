// What empties a queue: drain, clear, removal.
#include <gmock/gmock.h>

#include "store/store.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// ---- Drain -------------------------------------------------------------------------------------

TEST_P(StoreConformance, a_draining_queue_refuses_puts_and_gives_out_what_it_has) {
  QueueSettings settings = queue("draining");
  make_queue(settings);
  put(task("draining"));
  settings.draining = true;
  make_queue(settings);
  EXPECT_THAT(try_put(task("draining")), FailsWith(ErrorCode::conflict));
  EXPECT_THAT(take("draining"), SizeIs(1));
}

TEST_P(StoreConformance, a_drain_ends_when_nothing_waits_or_runs_any_more) {
  QueueSettings settings = queue("draining");
  make_queue(settings);
  put(task("draining"));
  settings.draining = true;
  make_queue(settings);
  advance();
  EXPECT_THAT(try_put(task("draining")), FailsWith(ErrorCode::conflict)) << "one waits";
  const Lease lease = take_one("draining");
  advance();
  EXPECT_THAT(try_put(task("draining")), FailsWith(ErrorCode::conflict)) << "one runs";
  settle(done(lease));
  EXPECT_EQ(advance().lifted, 1U);
  EXPECT_FALSE(find_queue("draining").settings.draining);
  EXPECT_THAT(try_put(task("draining")), IsOk());
}

TEST_P(StoreConformance, a_drain_waits_for_tasks_that_come_back) {
  QueueSettings settings = queue("draining");
  make_queue(settings);
  put(task("draining"));
  settings.draining = true;
  make_queue(settings);
  settle(retry_at(take_one("draining"), now + 1h));
  advance();
  EXPECT_TRUE(find_queue("draining").settings.draining);
}

// ---- Clear -------------------------------------------------------------------------------------

TEST_P(StoreConformance, clear_removes_waiting_tasks_and_leaves_running_and_ended_ones) {
  const auto tasks = one_in_each_state("q");
  EXPECT_THAT(store().clear("q", 100, now), IsOkAndHolds(4U));
  for (const TaskState state : waiting_states) {
    EXPECT_FALSE(exists(tasks.at(state))) << ::testing::PrintToString(state);
  }
  for (const TaskState state : final_states) EXPECT_EQ(state_of(tasks.at(state)), state);
  EXPECT_EQ(state_of(tasks.at(TaskState::processing)), TaskState::processing);
}

TEST_P(StoreConformance, clear_goes_oldest_first_up_to_its_limit) {
  std::vector<NewTask> batch;
  for (int i = 0; i < 5; ++i) {
    batch.push_back(task("q", {.priority = static_cast<std::uint8_t>(i), .held = i % 2 == 0}));
  }
  const auto puts = put_all(batch);
  EXPECT_THAT(store().clear("q", 3, now), IsOkAndHolds(3U));
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(exists(puts.at(i).id), i >= 3) << i;
  EXPECT_THAT(store().clear("q", 3, now), IsOkAndHolds(2U));
  EXPECT_THAT(store().clear("q", 3, now), IsOkAndHolds(0U));
}

TEST_P(StoreConformance, clear_touches_no_other_queue) {
  make_queue("other");
  put(task("q"));
  const TaskId other = put(task("other")).id;
  must(store().clear("q", 100, now));
  EXPECT_TRUE(exists(other));
}

TEST_P(StoreConformance, clear_frees_unique_keys_and_ids) {
  const Put cleared = put(task("q", {.unique = UniqueKey{.key = "k"}}));
  must(store().clear("q", 100, now));
  EXPECT_FALSE(put(task("q", {.unique = UniqueKey{.key = "k"}})).existing);
  EXPECT_FALSE(put(task("q", {.id = cleared.id})).existing);
}

// ---- Removal -----------------------------------------------------------------------------------

TEST_P(StoreConformance, an_empty_queue_is_removed_at_once) {
  make_queue("gone");
  EXPECT_THAT(store().remove_queue("gone", false, now), IsOk());
  EXPECT_THAT(store().queues("gone"), FailsWith(ErrorCode::not_found));
  EXPECT_THAT(try_put(task("gone")), FailsWith(ErrorCode::not_found));
  EXPECT_THAT(must(store().counts(std::nullopt, now)), SizeIs(1));
}

TEST_P(StoreConformance, a_queue_with_tasks_in_any_state_is_not_removed_unless_forced) {
  for (const auto state : {TaskState::queued, TaskState::processing, TaskState::completed}) {
    const std::string name = "full-" + ::testing::PrintToString(state);
    make_queue(name);
    task_in(state, name);
    expect_unchanged([&] {
      EXPECT_THAT(store().remove_queue(name, false, now), FailsWith(ErrorCode::conflict));
    });
  }
}

TEST_P(StoreConformance, a_queue_being_removed_refuses_puts_and_takes) {
  make_queue("doomed");
  put(task("doomed"));
  must(store().remove_queue("doomed", true, now));
  if (must(store().queues(std::nullopt)).size() == 1) return;  // gone already, which is allowed
  EXPECT_TRUE(find_queue("doomed").removing);
  EXPECT_THAT(try_put(task("doomed")), FailsWith(ErrorCode::conflict));
  EXPECT_THAT(take("doomed"), IsEmpty());
}

// S4-030
TEST_P(StoreConformance, a_forced_removal_empties_the_queue_in_bounded_rounds) {
  make_queue("doomed");
  std::vector<NewTask> batch;
  for (int i = 0; i < 25; ++i) batch.push_back(task("doomed"));
  const auto puts = put_all(batch);
  task_in(TaskState::completed, "q");
  settle(done(take_one("doomed")));
  must(store().remove_queue("doomed", true, now));
  std::size_t removed = 0;
  for (int round = 0; round < 3; ++round) {
    const Advanced step = advance(10);
    EXPECT_LE(step.removed, 10U);
    EXPECT_EQ(step.more, round < 2) << "round " << round;
    removed += step.removed;
  }
  EXPECT_EQ(removed, 25U);
  EXPECT_THAT(store().queues("doomed"), FailsWith(ErrorCode::not_found));
  for (const Put& put : puts) EXPECT_FALSE(exists(put.id));
  EXPECT_THAT(list(), SizeIs(1));
}

TEST_P(StoreConformance, a_forced_removal_ends_once_the_running_tasks_have) {
  make_queue("doomed");
  put(task("doomed"));
  const Lease lease = take_one("doomed");
  must(store().remove_queue("doomed", true, now));
  advance();
  static_cast<void>(try_settle(retry_at(lease, now + 1h)));  // it may be gone by now
  advance();
  EXPECT_THAT(store().queues("doomed"), FailsWith(ErrorCode::not_found));
  EXPECT_FALSE(exists(lease.id));
}

TEST_P(StoreConformance, a_removed_queue_frees_its_name_number_uuid_and_unique_keys) {
  const Queue old = make_queue(queue("again", {.number = QueueNumber{7}}));
  const Put kept = put(task("again", {.unique = UniqueKey{.key = "k"}}));
  must(store().remove_queue("again", true, now));
  advance();
  make_queue(queue("again", {.number = QueueNumber{7}, .id = old.settings.id}));
  EXPECT_EQ(counts("again").total(), 0U);
  EXPECT_FALSE(put(task("again", {.unique = UniqueKey{.key = "k"}})).existing);
  EXPECT_FALSE(put(task("again", {.id = kept.id})).existing);
}

TEST_P(StoreConformance, a_removed_queue_leaves_nothing_behind_that_falls_due) {
  make_queue(queue("gone", {.paused_until = now + 1h}));
  put(task("gone", {.start = now + 1h,
                    .unique = UniqueKey{.key = "k", .scope = UniqueScope::window, .window = 2h}}));
  must(store().remove_queue("gone", true, now));
  advance();
  EXPECT_EQ(advance(), Advanced{});
}

TEST_P(StoreConformance, a_queue_made_again_has_forgotten_its_rates_and_windows) {
  const QueueSettings settings = queue("again", {.put_rate = Rate{1, 1h}});
  make_queue(settings);
  const UniqueKey key{.key = "k", .scope = UniqueScope::window, .window = 1h};
  put(task("again", {.unique = key}));
  must(store().remove_queue("again", true, now));
  advance();
  make_queue(settings);
  EXPECT_FALSE(put(task("again", {.unique = key})).existing);
}

}  // namespace
}  // namespace millrace::test
