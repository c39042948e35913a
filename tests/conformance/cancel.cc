// Cancelling: at once where a task waits, by request where it runs.
#include <gmock/gmock.h>

#include "store/store.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {
namespace {

using ::testing::IsEmpty;

// S0-063, S0-068
TEST_P(StoreConformance, a_waiting_task_is_cancelled_at_once) {
  const auto tasks = one_in_each_state("q");
  pass(1s);
  for (const TaskState state : waiting_states) {
    const TaskId id = tasks.at(state);
    EXPECT_EQ(cancel(id), TaskState::cancelled);
    const Task found = find(id);
    EXPECT_EQ(found.state, TaskState::cancelled);
    EXPECT_EQ(found.finished_at, now);
    EXPECT_EQ(found.updated_at, now);
  }
  pass(24h);
  EXPECT_THAT(take("q"), IsEmpty());
}

TEST_P(StoreConformance, a_cancelled_task_says_why) {
  const TaskId id = put(task("q")).id;
  must(try_cancel({.id = id, .reason = "not wanted any more"}));
  EXPECT_EQ(find(id).error.value().message, "not wanted any more");
}

TEST_P(StoreConformance, cancelling_a_running_task_is_noted_and_its_holder_learns_of_it) {
  const TaskId id = put(task("q")).id;
  const Lease lease = take_one("q");
  EXPECT_FALSE(extend(lease).cancel_requested);
  EXPECT_EQ(cancel(id), TaskState::processing);
  EXPECT_TRUE(find(id).cancel_requested);
  EXPECT_EQ(find(id).state, TaskState::processing);
  EXPECT_TRUE(extend(lease).cancel_requested);
}

TEST_P(StoreConformance, a_cancel_request_does_not_end_the_lease) {
  put(task("q"));
  const Lease lease = take_one("q");
  cancel(lease.id);
  EXPECT_EQ(find(lease.id).lease_until, lease.until);
  pass(30s);
  EXPECT_EQ(extend(lease).until, now + 60s);
  EXPECT_THAT(take("q"), IsEmpty());
}

TEST_P(StoreConformance, cancelling_a_running_task_again_is_no_error) {
  const TaskId id = put(task("q")).id;
  take_one("q");
  cancel(id);
  expect_unchanged([&] { EXPECT_EQ(cancel(id), TaskState::processing); });
}

TEST_P(StoreConformance, a_final_task_cannot_be_cancelled) {
  for (const TaskState state : final_states) {
    const TaskId id = task_in(state, "q");
    expect_unchanged([&] {
      EXPECT_THAT(try_cancel({.id = id, .follow_ups = {task("q")}}),
                  FailsWith(ErrorCode::conflict));
    });
  }
}

TEST_P(StoreConformance, cancelling_an_unknown_task_is_not_found) {
  expect_unchanged(
      [&] { EXPECT_THAT(try_cancel({.id = fresh_id()}), FailsWith(ErrorCode::not_found)); });
}

TEST_P(StoreConformance, each_cancel_of_a_batch_has_its_own_result) {
  const TaskId running = task_in(TaskState::processing, "q");
  const TaskId waiting = put(task("q")).id;
  const std::vector<CancelRequest> batch = {
      {.id = waiting}, {.id = fresh_id()}, {.id = running}, {.id = waiting}};
  const auto results = must(store().cancel(batch, now));
  ASSERT_EQ(results.size(), 4U);
  EXPECT_THAT(results.at(0), IsOkAndHolds(TaskState::cancelled));
  EXPECT_THAT(results.at(1), FailsWith(ErrorCode::not_found));
  EXPECT_THAT(results.at(2), IsOkAndHolds(TaskState::processing));
  EXPECT_THAT(results.at(3), FailsWith(ErrorCode::conflict));
}

// ---- Follow-ups --------------------------------------------------------------------------------

TEST_P(StoreConformance, follow_ups_are_stored_if_the_task_becomes_final_now) {
  make_queue(queue("webhooks", {.active = false, .max_depth = 1}));
  const TaskId id = put(task("q")).id;
  const NewTask first = task("webhooks");
  const NewTask second = task("webhooks");
  must(try_cancel({.id = id, .follow_ups = {first, second}}));
  EXPECT_EQ(state_of(first.id), TaskState::queued);
  EXPECT_EQ(state_of(second.id), TaskState::queued);
}

TEST_P(StoreConformance, follow_ups_are_not_stored_if_the_task_runs) {
  put(task("q"));
  const Lease lease = take_one("q");
  const NewTask child = task("q");
  must(try_cancel({.id = lease.id, .follow_ups = {child}}));
  EXPECT_FALSE(exists(child.id));
}

TEST_P(StoreConformance, a_bad_follow_up_refuses_the_cancel) {
  const TaskId id = put(task("q")).id;
  expect_unchanged([&] {
    EXPECT_THAT(try_cancel({.id = id, .follow_ups = {task("q"), task("nowhere")}}),
                FailsWith(ErrorCode::not_found));
    EXPECT_THAT(try_cancel({.id = id, .follow_ups = {task("q"), task("q", {.priority = 10})}}),
                FailsWith(ErrorCode::invalid));
  });
  EXPECT_EQ(cancel(id), TaskState::cancelled);
}

TEST_P(StoreConformance, a_bad_follow_up_refuses_the_cancel_of_a_running_task_too) {
  const TaskId id = task_in(TaskState::processing, "q");
  expect_unchanged([&] {
    EXPECT_THAT(try_cancel({.id = id, .follow_ups = {task("q", {.priority = 10})}}),
                FailsWith(ErrorCode::invalid));
  });
}

}  // namespace
}  // namespace millrace::test
