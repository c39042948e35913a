// Puts that are all or none, of tasks that wait for each other, and tasks that wait from elsewhere.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "core/limits.h"
#include "store/store.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/graphs.h"

namespace millrace::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// ---- All or none -------------------------------------------------------------------------------

TEST_P(StoreConformance, a_graph_may_name_its_tasks_in_any_order) {
  NEEDS_TRAIT(graphs);
  const NewTask last = task("q");
  NewTask middle = after({last.id});
  NewTask first = after({middle.id, last.id});
  const auto puts = put_graph(*this, {first, middle, last});
  EXPECT_EQ(puts[0].state, TaskState::created);
  EXPECT_EQ(puts[2].state, TaskState::queued);
  EXPECT_THAT(ids_of(puts), ElementsAre(first.id, middle.id, last.id));
  for (const TaskId& id : {last.id, middle.id, first.id}) {
    const Lease lease = only_ready(*this);
    EXPECT_EQ(lease.id, id);
    settle(done(lease));
  }
}

TEST_P(StoreConformance, one_bad_task_refuses_all) {
  NEEDS_TRAIT(graphs);
  make_queue(queue("small", {.max_depth = 1}));
  make_queue(queue("slow", {.put_rate = Rate{1, 1min}}));
  const auto refused = [&](std::vector<NewTask> tasks, ErrorCode code, const std::string& field,
                           Where where = Where::current()) {
    expect_unchanged(
        [&] {
          const auto result = store().put_all(tasks, now);
          ASSERT_THAT(result, FailsWith(code)) << where.line();
          EXPECT_EQ(result.error().field, field) << where.line();
        },
        where);
  };
  refused({task("q"), task("nowhere")}, ErrorCode::not_found, "tasks[1]");
  refused({task("q"), task("q", {.priority = 10})}, ErrorCode::invalid, "tasks[1].priority");
  refused({task("small"), task("q"), task("small")}, ErrorCode::limited, "tasks[2]");
  refused({task("slow"), task("slow")}, ErrorCode::limited, "tasks[1]");
  refused({task("q"), after({fresh_id()})}, ErrorCode::not_found, "tasks[1].after.tasks[0]");
  const NewTask twin = task("q");
  refused({twin, twin}, ErrorCode::invalid, "tasks[1].id");
}

TEST_P(StoreConformance, a_cycle_is_refused_with_its_path) {
  NEEDS_TRAIT(graphs);
  const TaskId a = fresh_id();
  const TaskId b = fresh_id();
  const NewTask first = after({b}, {}, {.id = a});
  const NewTask second = after({a}, {}, {.id = b});
  const std::vector<NewTask> tasks = {task("q"), first, second};
  expect_unchanged([&] {
    const auto result = store().put_all(tasks, now);
    ASSERT_THAT(result, FailsWith(ErrorCode::invalid, HasSubstr("tasks[1] → tasks[2] → tasks[1]")));
    EXPECT_EQ(result.error().field, "tasks[1].after");
  });
}

TEST_P(StoreConformance, a_graph_that_is_put_again_is_there_once) {
  NEEDS_TRAIT(graphs);
  std::vector<NewTask> tasks = {task("q")};
  tasks.push_back(after({tasks[0].id}));
  put_graph(*this, tasks);
  for (const Put& put : put_graph(*this, tasks)) EXPECT_TRUE(put.existing);
  EXPECT_EQ(counts("q").total(), 2U);
}

TEST_P(StoreConformance, what_another_holds_the_key_of_is_waited_for) {
  NEEDS_TRAIT(graphs);
  const UniqueKey key{.key = "k"};
  const TaskId holder = put(task("q", {.unique = key})).id;
  std::vector<NewTask> tasks = {task("q", {.unique = key})};
  tasks.push_back(after({tasks[0].id}));
  const auto puts = put_graph(*this, tasks);
  EXPECT_EQ(puts[0].id, holder);
  EXPECT_TRUE(puts[0].existing);
  EXPECT_THAT(find(puts[1].id).waits_for, ElementsAre(holder));
  settle(done(only_ready(*this)));
  EXPECT_EQ(state_of(puts[1].id), TaskState::queued);
}

TEST_P(StoreConformance, a_key_may_be_held_by_one_of_the_same_graph) {
  NEEDS_TRAIT(graphs);
  const UniqueKey key{.key = "k"};
  std::vector<NewTask> tasks = {task("q", {.unique = key}), task("q", {.unique = key})};
  tasks.push_back(after({tasks[0].id, tasks[1].id}));
  const auto puts = put_graph(*this, tasks);
  EXPECT_EQ(puts[1].id, puts[0].id);
  EXPECT_TRUE(puts[1].existing);
  EXPECT_THAT(find(puts[2].id).waits_for, ElementsAre(puts[0].id));
}

TEST_P(StoreConformance, a_task_with_parents_neither_replaces_nor_is_replaced) {
  NEEDS_TRAIT(graphs);
  const TaskId parent = put(task("q")).id;
  const TaskId child = put(after({parent}, {}, {.unique = UniqueKey{.key = "k"}})).id;
  const UniqueKey replacing{.key = "k", .on_conflict = OnConflict::replace};
  expect_unchanged([&] {
    EXPECT_FALSE(put(task("q", {.unique = replacing})).replaced);
    EXPECT_THAT(try_put(after({parent}, {}, {.unique = replacing})), FailsWith(ErrorCode::invalid));
    const std::vector<NewTask> tasks = {task("q"), task("q", {.unique = replacing})};
    const auto refused = store().put_all(tasks, now);
    ASSERT_THAT(refused, FailsWith(ErrorCode::invalid));
    EXPECT_EQ(refused.error().field, "tasks[1].unique.on_conflict");
  });
  EXPECT_THAT(find(child).waits_for, ElementsAre(parent));
}

TEST_P(StoreConformance, ten_thousand_tasks_are_one_put_and_no_more) {
  NEEDS_TRAIT(graphs);
  std::vector<NewTask> tasks;
  for (std::size_t i = 0; i <= limits::max_put_all; ++i) tasks.push_back(task("q"));
  expect_unchanged([&] {
    EXPECT_THAT(store().put_all(tasks, now), FailsWith(ErrorCode::too_large, HasSubstr("10000")));
  });
  tasks.pop_back();
  put_graph(*this, tasks);
  if (can_reopen()) reopen();
  EXPECT_EQ(counts("q").total(), limits::max_put_all);
}

TEST_P(StoreConformance, sixty_four_mebibytes_are_one_put_and_no_more) {
  NEEDS_TRAIT(graphs);
  std::vector<NewTask> tasks;
  for (int i = 0; i < 64; ++i) {
    tasks.push_back(task("q", {.payload = std::string(limits::mib, 'x')}));
  }
  put_graph(*this, tasks);
  if (can_reopen()) reopen();
  EXPECT_EQ(counts("q").total(), 64U);
  for (NewTask& each : tasks) each.id = fresh_id();
  tasks.front().metadata = "{}";
  EXPECT_THAT(store().put_all(tasks, now), FailsWith(ErrorCode::too_large));
  EXPECT_EQ(counts("q").total(), 64U);
}

// ---- From elsewhere ----------------------------------------------------------------------------

TEST_P(StoreConformance, a_task_may_come_before_the_one_it_waits_for) {
  NEEDS_TRAIT(graphs);
  const Task parent = old_task("q", {.state = TaskState::queued});
  const Task ended = old_task("q", {.state = TaskState::completed});
  const Task child = old_task("q", {.state = TaskState::created,
                                    .after = After{.tasks = {parent.id, ended.id, fresh_id()}},
                                    .waits_for = {parent.id, ended.id}});
  restore(child);
  EXPECT_EQ(find(child.id).waits_for, child.waits_for);
  restore(ended);
  EXPECT_THAT(find(child.id).waits_for, ElementsAre(parent.id));
  restore(parent);
  EXPECT_EQ(state_of(child.id), TaskState::created);
  settle(done(only_ready(*this)));
  EXPECT_EQ(state_of(child.id), TaskState::queued);
}

TEST_P(StoreConformance, a_task_may_come_after_the_one_it_waits_for) {
  NEEDS_TRAIT(graphs);
  const Task parent = old_task("q", {.state = TaskState::completed});
  restore(parent);
  const Task child = old_task("q", {.state = TaskState::created,
                                    .after = After{.tasks = {parent.id}},
                                    .waits_for = {parent.id}});
  EXPECT_EQ(restore(child).state, TaskState::queued);
  EXPECT_THAT(find(child.id).waits_for, IsEmpty());
  EXPECT_EQ(only_ready(*this).id, child.id);
}

TEST_P(StoreConformance, what_a_task_from_elsewhere_waits_for_must_make_sense) {
  NEEDS_TRAIT(graphs);
  const TaskId id = fresh_id();
  const After after{.tasks = {id}};
  for (const Task& bad :
       {old_task("q", {.state = TaskState::created, .waits_for = {id}}),
        old_task("q", {.state = TaskState::created, .after = after, .waits_for = {fresh_id()}}),
        old_task("q", {.state = TaskState::created, .after = after, .waits_for = {id, id}}),
        old_task("q", {.state = TaskState::queued, .after = after, .waits_for = {id}}),
        old_task("q", {.state = TaskState::created,
                       .counters = {.deliveries = 1},
                       .after = after,
                       .waits_for = {id}})}) {
    expect_unchanged([&] {
      const auto refused = try_restore(bad);
      ASSERT_THAT(refused, FailsWith(ErrorCode::invalid));
      EXPECT_EQ(refused.error().field, "waits_for");
    });
  }
}

}  // namespace
}  // namespace millrace::test
