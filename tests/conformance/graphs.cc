// Tasks that wait for others, and puts that are all or none.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "core/decide.h"
#include "core/limits.h"
#include "store/store.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/graphs.h"

namespace millrace::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// ---- Release -----------------------------------------------------------------------------------

TEST_P(StoreConformance, a_task_is_released_with_the_end_of_the_one_it_waits_for) {
  NEEDS_TRAIT(graphs);
  const TaskId parent = put(task("q")).id;
  const Put child = put(after({parent}));
  EXPECT_EQ(child.state, TaskState::created);
  EXPECT_THAT(find(child.id).waits_for, ElementsAre(parent));
  const Lease lease = only_ready(*this);
  EXPECT_EQ(lease.id, parent);
  pass(1s);
  const Settlement end = done(lease, "result");
  const auto result = must(store().work({&end, 1}, {}, {}, now));
  EXPECT_FALSE(result.more);
  const Task released = find(child.id);
  EXPECT_EQ(released.state, TaskState::queued);
  EXPECT_EQ(released.start, now);
  EXPECT_THAT(released.waits_for, IsEmpty());
  EXPECT_EQ(released.after->tasks, std::vector{parent});
  const Lease second = only_ready(*this);
  EXPECT_EQ(second.id, child.id);
  EXPECT_EQ(second.after->tasks, std::vector{parent});
}

TEST_P(StoreConformance, a_take_of_the_same_commit_gets_the_released_task) {
  NEEDS_TRAIT(graphs);
  const TaskId parent = put(task("q")).id;
  const TaskId child = put(after({parent})).id;
  const Settlement end = done(only_ready(*this));
  const TakeRequest take{.worker = "w", .queues = {{"q", 10}}};
  const auto result = must(store().work({&end, 1}, {}, {&take, 1}, now));
  ASSERT_THAT(*result.taken.front(), SizeIs(1));
  EXPECT_EQ(result.taken.front()->front().id, child);
}

TEST_P(StoreConformance, the_last_of_several_parents_releases) {
  NEEDS_TRAIT(graphs);
  const auto parents = ids_of(put_all({task("q"), task("q"), task("q")}));
  const TaskId child = put(after(parents)).id;
  auto leases = take("q");
  settle(done(leases[1]));
  EXPECT_THAT(find(child).waits_for, ElementsAre(parents[0], parents[2]));
  settle(done(leases[0]));
  EXPECT_EQ(state_of(child), TaskState::created);
  settle(done(leases[2]));
  EXPECT_EQ(state_of(child), TaskState::queued);
}

TEST_P(StoreConformance, a_released_task_waits_for_its_start) {
  NEEDS_TRAIT(graphs);
  const TaskId parent = put(task("q")).id;
  const TaskId child = put(after({parent}, {}, {.delay = 1h})).id;
  const TimePoint start = now + 1h;
  pass(1min);
  settle(done(only_ready(*this)));
  EXPECT_EQ(state_of(child), TaskState::delayed);
  EXPECT_EQ(find(child).start, start);
}

TEST_P(StoreConformance, parents_that_have_ended_count_at_once) {
  NEEDS_TRAIT(graphs);
  const TaskId parent = task_in(TaskState::completed, "q");
  const TaskId dead = task_in(TaskState::dead, "q");
  EXPECT_EQ(put(after({parent})).state, TaskState::queued);
  EXPECT_EQ(put(after({dead}, {.when = AfterWhen::ended})).state, TaskState::queued);
  EXPECT_EQ(put(after({dead}, {.otherwise = Otherwise::run})).state, TaskState::queued);
  EXPECT_EQ(put(after({dead}, {.otherwise = Otherwise::hold})).state, TaskState::created);
  const TaskId orphan = put(after({dead})).id;
  EXPECT_EQ(due_one().lease.id, orphan);
  EXPECT_EQ(due_one().parent, (EndedParent{dead, TaskState::dead}));
}

TEST_P(StoreConformance, a_parent_that_is_not_kept_releases_its_children) {
  NEEDS_TRAIT(graphs);
  const TaskId parent = put(task("q", {.keep_for = 0s})).id;
  const TaskId child = put(after({parent})).id;
  settle(done(only_ready(*this)));
  EXPECT_FALSE(exists(parent));
  EXPECT_EQ(state_of(child), TaskState::queued);
}

TEST_P(StoreConformance, a_parent_that_is_not_there_is_refused_with_its_place) {
  NEEDS_TRAIT(graphs);
  const TaskId parent = put(task("q")).id;
  expect_unchanged([&] {
    const auto refused = try_put(after({parent, fresh_id()}));
    EXPECT_THAT(refused, FailsWith(ErrorCode::not_found, HasSubstr("Keep such tasks for longer")));
    EXPECT_EQ(refused.error().field, "after.tasks[1]");
  });
}

TEST_P(StoreConformance, what_cannot_be_waited_for_is_refused) {
  NEEDS_TRAIT(graphs);
  const TaskId parent = put(task("q")).id;
  const auto refused = [&](const NewTask& bad, const std::string& says, const std::string& field) {
    expect_unchanged([&] {
      const auto put = try_put(bad);
      EXPECT_THAT(put, FailsWith(ErrorCode::invalid, HasSubstr(says)));
      EXPECT_EQ(put.error().field, field);
    });
  };
  refused(after({}), "names no task", "after.tasks");
  refused(after({parent, TaskId{}}), "nil", "after.tasks[1]");
  refused(after({parent, fresh_id(), parent}), "twice", "after.tasks[2]");
  refused(after({parent}, {}, {.held = true}), "held", "held");
  refused(after({parent}, {.when = static_cast<AfterWhen>(2)}), "when", "after.when");
  refused(after({parent}, {.otherwise = static_cast<Otherwise>(3)}), "otherwise",
          "after.otherwise");
  NewTask own = after({parent});
  own.after->tasks.front() = own.id;
  refused(own, "wait for itself", "after.tasks[0]");
  expect_unchanged([&] {
    EXPECT_THAT(try_put(after(std::vector<TaskId>(1001, parent))),
                FailsWith(ErrorCode::too_large, HasSubstr("1000")));
  });
}

TEST_P(StoreConformance, a_follow_up_and_a_schedule_cannot_wait) {
  NEEDS_TRAIT(graphs);
  const TaskId parent = put(task("q")).id;
  const Lease lease = only_ready(*this);
  expect_unchanged([&] {
    EXPECT_THAT(try_settle(with(done(lease), {after({parent})})),
                FailsWith(ErrorCode::invalid, HasSubstr("follow-up")));
    EXPECT_THAT(store().put_schedule({.name = "s", .rule = {.every = 1h}, .task = after({parent})},
                                     PutSchedule::create, now),
                FailsWith(ErrorCode::invalid, HasSubstr("after")));
  });
}

// ---- Ends that are otherwise -------------------------------------------------------------------

TEST_P(StoreConformance, cancel_is_the_rule_and_goes_down_the_chain) {
  NEEDS_TRAIT(graphs);
  const TaskId a = put(task("q")).id;
  const TaskId b = put(after({a})).id;
  const TaskId c = put(after({b})).id;
  settle(failed(only_ready(*this)));
  EXPECT_EQ(state_of(b), TaskState::created);
  EXPECT_EQ(cancel_orphans(*this), 1U);
  EXPECT_EQ(state_of(b), TaskState::cancelled);
  EXPECT_EQ(find(b).error->code, "parent_ended");
  EXPECT_THAT(find(b).error->message, HasSubstr("is failed"));
  EXPECT_THAT(find(b).waits_for, IsEmpty());
  EXPECT_EQ(cancel_orphans(*this), 1U);
  EXPECT_EQ(state_of(c), TaskState::cancelled);
  EXPECT_EQ(cancel_orphans(*this), 0U);
}

TEST_P(StoreConformance, a_settlement_says_that_there_is_more_to_do) {
  NEEDS_TRAIT(graphs);
  const TaskId a = put(task("q")).id;
  put(after({a}));
  const Settlement end = failed(only_ready(*this));
  EXPECT_TRUE(must(store().work({&end, 1}, {}, {}, now)).more);
}

TEST_P(StoreConformance, only_a_task_with_such_a_parent_is_cancelled_as_a_wait) {
  NEEDS_TRAIT(graphs);
  const TaskId a = put(task("q")).id;
  const TaskId b = put(after({a})).id;
  expect_unchanged([&] {
    EXPECT_THAT(try_settle(decide_orphaned(b, find(b).version, {a, TaskState::failed}, now)),
                FailsWith(ErrorCode::conflict));
  });
  settle(failed(only_ready(*this)));
  const Version old = {find(b).version.value - 1};
  expect_unchanged([&] {
    EXPECT_THAT(try_settle(decide_orphaned(b, old, {a, TaskState::failed}, now)),
                FailsWith(ErrorCode::conflict));
  });
}

TEST_P(StoreConformance, hold_waits_for_a_release_by_hand) {
  NEEDS_TRAIT(graphs);
  const TaskId a = put(task("q")).id;
  const TaskId b = put(after({a}, {.otherwise = Otherwise::hold})).id;
  settle(failed(only_ready(*this)));
  EXPECT_THAT(due(), IsEmpty());
  EXPECT_EQ(state_of(b), TaskState::created);
  EXPECT_THAT(find(b).waits_for, ElementsAre(a));
  EXPECT_EQ(update({.id = b, .release = true}), TaskState::queued);
  EXPECT_THAT(find(b).waits_for, IsEmpty());
  EXPECT_EQ(only_ready(*this).id, b);
}

TEST_P(StoreConformance, hold_is_over_when_a_retry_completes_the_parent) {
  NEEDS_TRAIT(graphs);
  const TaskId a = put(task("q")).id;
  const TaskId b = put(after({a}, {.otherwise = Otherwise::hold})).id;
  settle(failed(only_ready(*this)));
  revive(a);
  settle(done(only_ready(*this)));
  EXPECT_EQ(state_of(b), TaskState::queued);
}

TEST_P(StoreConformance, run_goes_on_when_the_others_have_ended) {
  NEEDS_TRAIT(graphs);
  const auto parents = ids_of(put_all({task("q"), task("q")}));
  const TaskId child = put(after(parents, {.otherwise = Otherwise::run})).id;
  auto leases = take("q");
  settle(failed(leases[0]));
  EXPECT_EQ(state_of(child), TaskState::created);
  revive(parents[0]);  // it has counted, and counts no second time
  settle(done(leases[1]));
  EXPECT_EQ(state_of(child), TaskState::queued);
}

TEST_P(StoreConformance, every_kind_of_end_counts_where_any_does) {
  NEEDS_TRAIT(graphs);
  const auto with = [&](auto end) {
    const TaskId parent = put(task("q", {.start_by = now + 1min})).id;
    const TaskId child = put(after({parent}, {.when = AfterWhen::ended})).id;
    end(parent);
    EXPECT_EQ(state_of(child), TaskState::queued);
    settle(done(only_ready(*this)));
  };
  with([&](TaskId) { settle(done(only_ready(*this))); });
  with([&](TaskId) { settle(failed(only_ready(*this))); });
  with([&](TaskId) { settle(exhausted(only_ready(*this))); });
  with([&](TaskId id) { cancel(id); });
  with([&](TaskId id) { remove(id); });
  with([&](TaskId) {
    pass(2min);
    settle(expired(due_one(), now));
  });
  with([&](TaskId id) {
    const Lease lease = only_ready(*this);
    cancel(id);
    settle(cancelled(lease));
  });
}

TEST_P(StoreConformance, a_snooze_and_a_retry_are_no_ends) {
  NEEDS_TRAIT(graphs);
  const TaskId a = put(task("q")).id;
  const TaskId b = put(after({a}, {.when = AfterWhen::ended})).id;
  settle(snoozed(only_ready(*this), now));
  settle(retry_at(only_ready(*this), now));
  settle(given_back(only_ready(*this)));
  settle(parked(only_ready(*this)));
  EXPECT_EQ(state_of(b), TaskState::created);
  cancel(a);
  EXPECT_EQ(state_of(b), TaskState::queued);
}

// ---- What operators do -------------------------------------------------------------------------

TEST_P(StoreConformance, a_task_that_waits_may_be_released_cancelled_expired_moved_and_removed) {
  NEEDS_TRAIT(graphs);
  make_queue("other");
  const TaskId a = put(task("other")).id;
  const TaskId released = put(after({a})).id;
  const TaskId cancelled = put(after({a})).id;
  const TaskId expiring = put(after({a}, {}, {.start_by = now + 1s})).id;
  const TaskId moved = put(after({a})).id;
  const TaskId removed = put(after({a})).id;
  update({.id = released, .release = true});
  cancel(cancelled);
  update({.id = moved, .queue = "other"});
  remove(removed);
  pass(1s);
  settle(expired(due_one(), now));
  EXPECT_EQ(state_of(expiring), TaskState::cancelled);
  EXPECT_THAT(find(moved).waits_for, ElementsAre(a));
  settle(done(take_one("other")));
  EXPECT_EQ(state_of(moved), TaskState::queued);
  EXPECT_EQ(only_ready(*this).id, released);
}

TEST_P(StoreConformance, a_retry_of_a_task_that_its_parent_cancelled_runs) {
  NEEDS_TRAIT(graphs);
  const TaskId a = put(task("q")).id;
  const TaskId b = put(after({a})).id;
  settle(failed(only_ready(*this)));
  cancel_orphans(*this);
  revive(b);
  EXPECT_EQ(only_ready(*this).id, b);
}

TEST_P(StoreConformance, a_release_by_hand_comes_before_the_cancel) {
  NEEDS_TRAIT(graphs);
  const TaskId a = put(task("q")).id;
  const TaskId b = put(after({a})).id;
  settle(failed(only_ready(*this)));
  const Overdue overdue = due_one();
  update({.id = b, .release = true});
  EXPECT_THAT(due(), IsEmpty());
  const Version version = std::get<Unchanged>(overdue.expect).version;
  EXPECT_THAT(try_settle(decide_orphaned(b, version, *overdue.parent, now)),
              FailsWith(ErrorCode::conflict));
  EXPECT_EQ(only_ready(*this).id, b);
}

TEST_P(StoreConformance, a_cleared_queue_and_a_removed_one_end_what_others_wait_for) {
  NEEDS_TRAIT(graphs);
  make_queue("other");
  const TaskId waiting = put(task("other")).id;
  const TaskId first = put(after({waiting}, {.when = AfterWhen::ended})).id;
  EXPECT_EQ(must(store().clear("other", 100, now)), 1U);
  EXPECT_FALSE(exists(waiting));
  EXPECT_EQ(state_of(first), TaskState::queued);
  const TaskId running = put(task("other")).id;
  const Lease lease = take_one("other");
  const TaskId second = put(after({running})).id;
  must(store().remove_queue("other", true, now));
  advance();
  EXPECT_EQ(due_one().lease.id, second);
  EXPECT_EQ(due_one().parent, (EndedParent{running, TaskState::cancelled}));
  EXPECT_THAT(try_settle(done(lease)), FailsWith(ErrorCode::not_found));
}

TEST_P(StoreConformance, depth_counts_tasks_that_wait_for_others) {
  NEEDS_TRAIT(graphs);
  const TaskId a = put(task("q")).id;
  make_queue(queue("q", {.max_depth = 2}));
  put(after({a}));
  EXPECT_THAT(try_put(after({a})), IsLimited());
}

// ---- Many --------------------------------------------------------------------------------------

TEST_P(StoreConformance, many_children_are_released_in_slices_each_once) {
  NEEDS_TRAIT(graphs);
  const TaskId parent = put(task("q", {.keep_for = 0s})).id;
  std::set<TaskId> children;
  for (int batch = 0; batch < 5; ++batch) {
    std::vector<NewTask> tasks;
    for (int i = 0; i < 500; ++i) tasks.push_back(after({parent}));
    for (const Put& put : put_all(tasks)) children.insert(put.id);
  }
  const Settlement end = done(only_ready(*this));
  EXPECT_TRUE(must(store().work({&end, 1}, {}, {}, now)).more);
  EXPECT_EQ(counts("q").of(TaskState::queued), limits::max_told);
  if (can_reopen()) reopen();
  EXPECT_TRUE(exists(parent));  // it has not told all
  EXPECT_THAT(try_remove(parent), FailsWith(ErrorCode::conflict));
  const Advanced first = advance(700);
  EXPECT_EQ(first.promoted, 700U);
  EXPECT_TRUE(first.more);
  if (can_reopen()) reopen();
  EXPECT_EQ(advance().promoted, 800U);
  EXPECT_FALSE(exists(parent));
  EXPECT_EQ(counts("q").of(TaskState::created), 0U);
  for (int round = 0; round < 3; ++round) {
    for (const Lease& lease : take("q")) EXPECT_EQ(children.erase(lease.id), 1U);
  }
  EXPECT_THAT(children, IsEmpty());
}

TEST_P(StoreConformance, a_revived_parent_tells_the_rest_how_it_ends_then) {
  NEEDS_TRAIT(graphs);
  const TaskId parent = put(task("q")).id;
  for (int batch = 0; batch < 2; ++batch) {
    std::vector<NewTask> tasks;
    for (int i = 0; i < 750; ++i) tasks.push_back(after({parent}));
    put_all(tasks);
  }
  settle(failed(only_ready(*this)));
  revive(parent);
  advance();
  EXPECT_EQ(due(1000).size(), 1000U);
  settle(done(only_ready(*this)));
  EXPECT_EQ(counts("q").of(TaskState::queued), 500U);
}

TEST_P(StoreConformance, a_revived_parent_tells_all_anew_whom_it_has_not_released) {
  NEEDS_TRAIT(graphs);
  const TaskId parent = put(task("q")).id;
  for (int batch = 0; batch < 3; ++batch) {
    std::vector<NewTask> tasks;
    for (int i = 0; i < 1000; ++i) {
      tasks.push_back(after({parent}, {.otherwise = Otherwise::hold}));
    }
    put_all(tasks);
  }
  settle(failed(only_ready(*this)));
  EXPECT_TRUE(advance(500).more);  // 1,500 hold
  revive(parent);
  settle(done(only_ready(*this)));
  advance();
  EXPECT_EQ(counts("q").of(TaskState::queued), 3000U);
}

TEST_P(StoreConformance, a_thousand_parents_release_one_task) {
  NEEDS_TRAIT(graphs);
  std::vector<NewTask> tasks;
  for (std::size_t i = 0; i < limits::max_parents; ++i) tasks.push_back(task("q"));
  const auto parents = ids_of(put_all(tasks));
  const TaskId child = put(after(parents)).id;
  const auto leases = take("q");
  for (std::size_t i = 0; i + 1 < leases.size(); ++i) settle(done(leases[i]));
  EXPECT_THAT(find(child).waits_for, ElementsAre(leases.back().id));
  if (can_reopen()) {
    reopen();
    EXPECT_THAT(find(child).waits_for, ElementsAre(leases.back().id));
  }
  const bool again = can_reopen() && !store().traits().leases_survive;
  settle(done(again ? only_ready(*this) : leases.back()));
  EXPECT_EQ(state_of(child), TaskState::queued);
}

TEST_P(StoreConformance, a_long_chain_that_is_cancelled_takes_no_deep_stack) {
  NEEDS_TRAIT(graphs);
  std::vector<NewTask> chain = {task("q")};
  for (int i = 1; i < 5000; ++i) chain.push_back(after({chain.back().id}));
  put_graph(*this, chain);
  settle(failed(only_ready(*this)));
  for (int i = 1; i < 5000; ++i) ASSERT_EQ(cancel_orphans(*this), 1U);
  EXPECT_EQ(counts("q").of(TaskState::cancelled), 4999U);
}

TEST_P(StoreConformance, a_diamond_runs_in_order_over_restarts) {
  NEEDS_TRAIT(graphs);
  const TaskId top = fresh_id();
  std::vector<NewTask> tasks = {task("q", {.id = top}), after({top}), after({top})};
  tasks.push_back(after({tasks[1].id, tasks[2].id}));
  put_graph(*this, tasks);
  const auto run = [&](std::size_t count) {
    if (can_reopen()) reopen();
    const auto leases = take("q");
    EXPECT_THAT(leases, SizeIs(count));
    for (const Lease& lease : leases) settle(done(lease));
    return leases;
  };
  EXPECT_EQ(run(1).front().id, top);
  run(2);
  EXPECT_EQ(run(1).front().id, tasks[3].id);
}

TEST_P(StoreConformance, a_restart_keeps_what_is_to_be_cancelled) {
  NEEDS_TRAIT(graphs);
  const TaskId a = put(task("q")).id;
  const TaskId b = put(after({a})).id;
  settle(exhausted(only_ready(*this)));
  if (can_reopen()) reopen();
  EXPECT_EQ(due_one().lease.id, b);
  EXPECT_EQ(due_one().parent, (EndedParent{a, TaskState::dead}));
}

}  // namespace
}  // namespace millrace::test
