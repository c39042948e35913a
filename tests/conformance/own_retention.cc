// How long tasks stay by rules of their own and of their type, for either end.
#include <gmock/gmock.h>

#include "core/limits.h"
#include "store/store.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {
namespace {

using ::testing::HasSubstr;

constexpr Keep for_time(Duration duration) {
  return {.for_time = duration};
}

// Ends the only task of "q" that is ready.
TaskId end_one(StoreDriver& driver, TaskState state) {
  const Lease lease = driver.take_one("q");
  driver.settle(state == TaskState::completed ? done(lease) : failed(lease));
  return lease.id;
}

// S3-035
TEST_P(StoreConformance, a_task_is_kept_by_its_own_rule_for_its_end) {
  for (const TaskState state : {TaskState::completed, TaskState::failed}) {
    put(task("q", {.keep_completed = for_time(10s), .keep_dead = for_time(1h)}));
    const TaskId id = end_one(*this, state);
    EXPECT_EQ(find(id).keep_completed, for_time(10s));
    const Duration kept = state == TaskState::completed ? 10s : 3600s;
    pass(kept - 1ms);
    advance();
    EXPECT_TRUE(exists(id)) << ::testing::PrintToString(state);
    pass(1ms);
    advance();
    EXPECT_FALSE(exists(id)) << ::testing::PrintToString(state);
  }
}

TEST_P(StoreConformance, a_rule_of_zero_removes_a_task_at_that_end_and_not_at_the_other) {
  put(task("q", {.keep_completed = for_time(0s)}));
  EXPECT_FALSE(exists(end_one(*this, TaskState::completed)));
  put(task("q", {.keep_completed = for_time(0s)}));
  const TaskId failed_one = end_one(*this, TaskState::failed);
  pass(1h);
  advance();
  EXPECT_TRUE(exists(failed_one)) << "the queue's rule for dead letters";
  put(task("q", {.keep_dead = for_time(0s)}));
  EXPECT_FALSE(exists(end_one(*this, TaskState::failed)));
}

TEST_P(StoreConformance, a_cancelled_task_is_kept_as_a_completed_one_is) {
  const Put first = put(task("q", {.keep_completed = for_time(0s)}));
  cancel(first.id);
  EXPECT_FALSE(exists(first.id));
  const Put second = put(task("q", {.keep_dead = for_time(0s)}));
  cancel(second.id);
  EXPECT_TRUE(exists(second.id));
}

TEST_P(StoreConformance, a_rule_for_one_end_leaves_the_other_to_the_queue) {
  make_queue(queue("q", {.keep_completed = {.last = 1}}));
  put(task("q", {.keep_dead = for_time(1h)}));
  const TaskId first = end_one(*this, TaskState::completed);
  put(task("q", {.keep_dead = for_time(1h)}));
  pass(1s);
  const TaskId second = end_one(*this, TaskState::completed);
  advance();
  EXPECT_FALSE(exists(first)) << "the queue keeps one";
  EXPECT_TRUE(exists(second));
}

TEST_P(StoreConformance, tasks_with_a_rule_for_their_end_do_not_count_for_the_queues) {
  make_queue(queue("q", {.keep_dead = {.last = 1}}));
  put(task("q"));
  const TaskId plain = end_one(*this, TaskState::failed);
  for (int i = 0; i < 3; ++i) {
    pass(1s);
    put(task("q", {.keep_dead = for_time(1h)}));
    end_one(*this, TaskState::failed);
  }
  advance();
  EXPECT_TRUE(exists(plain));
  EXPECT_EQ(counts("q").of(TaskState::failed), 4U);
  pass(1h);
  advance();
  EXPECT_EQ(counts("q").of(TaskState::failed), 1U);
}

TEST_P(StoreConformance, a_revived_task_is_kept_by_the_rule_for_its_next_end) {
  put(task("q", {.keep_completed = for_time(0s), .keep_dead = for_time(1h)}));
  const TaskId id = end_one(*this, TaskState::failed);
  revive(id);
  EXPECT_EQ(find(id).keep_dead, for_time(1h));
  end_one(*this, TaskState::completed);
  EXPECT_FALSE(exists(id));
}

TEST_P(StoreConformance, a_task_is_put_with_the_rules_of_its_type) {
  make_queue(queue(
      "q",
      {.types = {{.type = "brief", .keep_completed = for_time(0s), .keep_dead = for_time(10s)}}}));
  const Put brief = put(task("q", {.type = "brief"}));
  EXPECT_EQ(find(brief.id).keep_dead, for_time(10s));
  EXPECT_FALSE(exists(end_one(*this, TaskState::completed)));
  put(task("q", {.type = "other"}));
  EXPECT_TRUE(exists(end_one(*this, TaskState::completed)));
  put(task("q", {.type = "brief"}));
  const TaskId id = end_one(*this, TaskState::failed);
  pass(10s);
  advance();
  EXPECT_FALSE(exists(id));
}

TEST_P(StoreConformance, the_rule_of_a_task_comes_before_that_of_its_type) {
  make_queue(queue(
      "q", {.types = {{.type = "t", .keep_completed = for_time(0s), .keep_dead = for_time(0s)}}}));
  put(task("q", {.type = "t", .keep_for = 1h}));
  EXPECT_TRUE(exists(end_one(*this, TaskState::completed)));
  put(task("q", {.type = "t", .keep_dead = for_time(1h)}));
  EXPECT_TRUE(exists(end_one(*this, TaskState::failed)));
  put(task("q", {.type = "t", .keep_dead = for_time(1h)}));
  EXPECT_FALSE(exists(end_one(*this, TaskState::completed))) << "the type's, for this end";
}

TEST_P(StoreConformance, a_changed_rule_of_a_type_counts_for_tasks_that_are_put_from_then_on) {
  make_queue(queue("q", {.types = {{.type = "t", .keep_completed = for_time(1h)}}}));
  const Put before = put(task("q", {.type = "t"}));
  make_queue(queue("q", {.types = {{.type = "t", .keep_completed = for_time(0s)}}}));
  end_one(*this, TaskState::completed);
  EXPECT_TRUE(exists(before.id));
  put(task("q", {.type = "t"}));
  EXPECT_FALSE(exists(end_one(*this, TaskState::completed)));
}

TEST_P(StoreConformance, a_follow_up_gets_the_rules_of_its_type_too) {
  make_queue(queue("q", {.types = {{.type = "t", .keep_completed = for_time(0s)}}}));
  put(task("q"));
  Settlement settlement = done(take_one("q"));
  settlement.follow_ups = {task("q", {.type = "t"})};
  settle(settlement);
  EXPECT_FALSE(exists(end_one(*this, TaskState::completed)));
}

TEST_P(StoreConformance, a_restored_task_is_kept_by_the_rule_that_it_comes_with) {
  put(task("q", {.keep_dead = for_time(1h)}));
  Task gone = find(end_one(*this, TaskState::failed));
  remove(gone.id);
  restore(gone);
  EXPECT_EQ(find(gone.id).keep_dead, for_time(1h));
  pass(1h);
  advance();
  EXPECT_FALSE(exists(gone.id));
}

TEST_P(StoreConformance, own_rules_survive_a_restart) {
  if (!can_reopen()) GTEST_SKIP() << "the store keeps nothing";
  put(task("q", {.keep_completed = for_time(10s), .keep_dead = for_time(1h)}));
  const TaskId ended = end_one(*this, TaskState::failed);
  put(task("q", {.keep_completed = for_time(0s)}));
  must(store().flush());
  reopen();
  const TaskId later = take_one("q").id;
  EXPECT_EQ(find(later).keep_completed, for_time(0s));
  pass(1h);
  advance();
  EXPECT_FALSE(exists(ended));
}

TEST_P(StoreConformance, bad_rules_of_tasks_and_types_are_refused_with_their_field) {
  const auto refused = [&](const NewTask& fields, const std::string& field, const char* says) {
    expect_unchanged([&] {
      const auto answer = try_put(task("q", fields));
      ASSERT_THAT(answer, FailsWith(ErrorCode::invalid, HasSubstr(says)));
      EXPECT_EQ(answer.error().field, field);
    });
  };
  refused({.keep_completed = Keep{.for_time = 1s, .last = 5}}, "keep_completed.last", "a queue");
  refused({.keep_dead = Keep{}}, "keep_dead.for_ms", "no for_ms");
  refused({.keep_dead = for_time(-1ms)}, "keep_dead.for_ms", "10 years");
  refused({.keep_completed = for_time(limits::max_delay + 1ms)}, "keep_completed.for_ms",
          "10 years");
  refused({.keep_for = 1s, .keep_dead = for_time(1s)}, "keep_for_ms", "keep_dead");
  expect_unchanged([&] {
    const auto answer =
        store().put_queue(queue("q", {.types = {{.type = "t", .keep_dead = Keep{.last = 100}}}}),
                          PutQueue::replace, now);
    ASSERT_THAT(answer, FailsWith(ErrorCode::invalid, HasSubstr("a queue")));
    EXPECT_EQ(answer.error().field, "types[0].keep_dead.last");
  });
}

}  // namespace
}  // namespace millrace::test
