// Tasks that wait for others, where several servers work on one database, and where SQL does.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/limits.h"
#include "core/uuid.h"
#include "postgres/connection.h"
#include "store/postgres/tables.h"
#include "store/store.h"
#include "tests/support/matchers.h"
#include "tests/support/sql_session.h"

namespace millrace::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;

// Two servers on one database.
class GraphsOfTwo : public SqlSession {
 protected:
  GraphsOfTwo() { other.now = now; }

  static NewTask after(std::vector<TaskId> parents, After how = {}, NewTask fields = {}) {
    how.tasks = std::move(parents);
    fields.after = std::move(how);
    return task("q", std::move(fields));
  }
  // A task with so many that wait for it, which has ended and told the first thousand of them.
  TaskId ended_with(std::size_t children, NewTask fields = {}) {
    fields.priority = 9;  // before children of others
    const TaskId parent = put(task("q", std::move(fields))).id;
    const Lease lease = take_one("q");
    for (std::size_t left = children; left != 0;) {
      std::vector<NewTask> some(std::min(left, limits::max_batch));
      for (NewTask& each : some) each = after({parent});
      put_all(some);
      left -= some.size();
    }
    settle(done(lease));
    return parent;
  }
  // No edge is left behind, and all counters are right.
  static void expect_sound() {
    EXPECT_EQ(miscounted(), "");
    const auto report = verify_postgres({.url = shared_postgres().url()});
    ASSERT_THAT(report, IsOk());
    EXPECT_THAT(report->damage, IsEmpty());
  }
  // Until so many sessions wait for a lock.
  static void wait_for_waiters(int count) {
    SystemClock clock;
    for (const auto until = clock.steady() + 20s; clock.steady() < until;) {
      if (std::stoi(sql("select count(*) from pg_locks where not granted")) >= count) return;
    }
    ADD_FAILURE() << "no " << count << " sessions wait for a lock";
  }

  std::unique_ptr<Store> second = open_postgres_again();
  StoreDriver other{*second};
};

// ---- What one server does not know of the other -------------------------------------------------

TEST_F(GraphsOfTwo, a_child_that_another_server_puts_is_released_with_its_parent) {
  put(task("q"));
  const Lease lease = take_one("q");
  const TaskId child = other.put(after({lease.id})).id;
  const Settlement end = done(lease);
  const TakeRequest take{.worker = "w", .queues = {{"q", 10}}};
  const auto result = must(store().work({&end, 1}, {}, {&take, 1}, now));
  EXPECT_EQ(must(result.settled.front()).status, SettleStatus::applied);
  ASSERT_THAT(must(result.taken.front()), SizeIs(1));
  EXPECT_EQ(result.taken.front()->front().id, child);
  expect_sound();
}

TEST_F(GraphsOfTwo, a_task_that_others_wait_for_is_settled_beside_plain_ones) {
  put_all({task("q"), task("q"), task("q")});
  const auto leases = take("q");
  const TaskId child = other.put(after({leases[1].id})).id;
  std::vector<Settlement> ends;
  for (const Lease& lease : leases) ends.push_back(done(lease));
  ends.push_back({.id = fresh_id(), .expect = Held{{5}}, .event = Event::done});
  const auto result = must(store().work(ends, {}, {}, now));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(must(result.settled[i]).status, SettleStatus::applied);
  EXPECT_THAT(result.settled[3], FailsWith(ErrorCode::not_found));
  EXPECT_EQ(state_of(child), TaskState::queued);
  expect_sound();
}

TEST_F(GraphsOfTwo, a_lease_says_that_others_wait_and_spares_a_second_attempt) {
  const TaskId parent = put(task("q")).id;
  other.put(after({parent}));
  const Lease lease = take_one("q");
  sql("alter function millrace.not_held rename to away");  // which the second one comes from
  settle(done(lease));
  sql("alter function millrace.away rename to not_held");
}

// ---- At the same moment -------------------------------------------------------------------------

TEST_F(GraphsOfTwo, a_child_that_is_put_while_its_parent_ends_is_not_forgotten) {
  for (int round = 0; round < 10; ++round) {
    const TaskId parent = put(task("q", {.keep_for = 1h})).id;
    const Lease lease = take_one("q");
    const auto held = connect();
    held->begin();
    ASSERT_TRUE(held->run_script(fmt::format(
        "select from millrace.tasks where id = '{}' for update", to_text(parent.value))));
    const NewTask child = after({parent});
    auto putting = std::async(std::launch::async, [&] { return other.try_put(child); });
    if (round % 2 == 0) wait_for_waiters(1);
    auto ending = std::async(std::launch::async, [&] { return try_settle(done(lease)); });
    wait_for_waiters(2);
    held->rollback();
    EXPECT_THAT(putting.get(), IsOk());
    ASSERT_THAT(ending.get(), IsOk());
    EXPECT_EQ(state_of(child.id), TaskState::queued);
    EXPECT_THAT(find(child.id).waits_for, IsEmpty());
    settle(done(take_one("q")));
  }
  expect_sound();
}

TEST_F(GraphsOfTwo, two_parents_that_end_at_once_release_their_child_once) {
  for (int round = 0; round < 10; ++round) {
    const auto parents = ids_of(put_all({task("q"), task("q")}));
    const TaskId child = put(after(parents)).id;
    const auto leases = take("q");
    const auto held = connect();
    held->begin();
    ASSERT_TRUE(held->run_script(fmt::format(
        "select from millrace.tasks where id = '{}' for update", to_text(child.value))));
    auto one = std::async(std::launch::async, [&] { return try_settle(done(leases[0])); });
    auto two = std::async(std::launch::async, [&] { return other.try_settle(done(leases[1])); });
    wait_for_waiters(2);
    held->rollback();
    ASSERT_THAT(one.get(), IsOk());
    ASSERT_THAT(two.get(), IsOk());
    EXPECT_EQ(state_of(child), TaskState::queued);
    EXPECT_EQ(find(child).version, Version{3}) << "put, and told twice";
    settle(done(take_one("q")));
  }
  expect_sound();
}

TEST_F(GraphsOfTwo, a_child_that_is_cancelled_while_its_parent_ends_stays_cancelled) {
  const TaskId parent = put(task("q")).id;
  const TaskId child = put(after({parent})).id;
  const Lease lease = take_one("q");
  const auto held = connect();
  held->begin();
  ASSERT_TRUE(held->run_script(
      fmt::format("select from millrace.tasks where id = '{}' for update", to_text(child.value))));
  auto cancelling = std::async(std::launch::async, [&] { return other.try_cancel({.id = child}); });
  wait_for_waiters(1);
  auto ending = std::async(std::launch::async, [&] { return try_settle(done(lease)); });
  wait_for_waiters(2);
  held->rollback();
  EXPECT_THAT(cancelling.get(), IsOk());
  EXPECT_THAT(ending.get(), IsOk());
  EXPECT_EQ(state_of(child), TaskState::cancelled);
  expect_sound();
}

// Deadlocks would be noticed by the server after a second, and the calls repeated.
TEST_F(GraphsOfTwo, ends_of_many_parents_of_the_same_children_do_not_block_each_other) {
  std::vector<NewTask> tasks;
  for (int i = 0; i < 40; ++i) tasks.push_back(task("q"));
  const auto parents = ids_of(put_all(tasks));
  tasks.clear();
  for (int i = 0; i < 40; ++i) tasks.push_back(after(parents));
  const auto children = put_all(tasks);
  const auto leases = take("q");
  const auto work = [&](StoreDriver& driver, std::size_t from) {
    for (std::size_t i = from; i < leases.size(); i += 2) {
      EXPECT_THAT(driver.try_settle(done(leases[i])), IsOk());
    }
  };
  auto ending = std::async(std::launch::async, [&] { work(other, 1); });
  work(*this, 0);
  ending.get();
  for (const Put& child : children) EXPECT_EQ(state_of(child.id), TaskState::queued);
  EXPECT_EQ(sql("select deadlocks from pg_stat_database where datname = 'postgres'"), "0");
  expect_sound();
}

// ---- Ends that have not been told ---------------------------------------------------------------

TEST_F(GraphsOfTwo, two_servers_tell_different_tasks) {
  ended_with(1500);
  const TaskId later = ended_with(1500);
  const auto held = connect();
  held->begin();
  ASSERT_TRUE(held->run_script(fmt::format(
      "select from millrace.untold where parent = '{}' for update", to_text(later.value))));
  EXPECT_EQ(other.advance().promoted, 500U) << "it waited for the other server";
  held->rollback();
  EXPECT_EQ(other.advance().promoted, 500U);
  EXPECT_EQ(counts("q").of(TaskState::created), 0U);
  expect_sound();
}

TEST_F(GraphsOfTwo, what_has_not_told_all_is_neither_pruned_nor_dropped_nor_deleted) {
  const TaskId parent = ended_with(1100, {.keep_for = 0s});
  const std::string delete_it =
      fmt::format("delete from millrace.queue_tasks where id = '{}'", to_text(parent.value));
  EXPECT_THAT(refused(delete_it), AllOf(HasSubstr("55006"), HasSubstr("others wait for it")));
  pass(1h);
  // As if another server were about to tell it.
  const auto held = connect();
  held->begin();
  ASSERT_TRUE(held->run_script("select from millrace.untold for update"));
  EXPECT_EQ(advance().promoted, 0U);
  held->rollback();
  EXPECT_TRUE(exists(parent));
  EXPECT_EQ(advance().promoted, 100U);
  EXPECT_FALSE(exists(parent));
  expect_sound();
}

TEST_F(GraphsOfTwo, what_has_not_told_all_outlives_the_table_of_its_day) {
  make_queue(queue("q", {.keep_completed = {.for_time = 24h}}));
  const TaskId parent = ended_with(1100);
  EXPECT_THAT(sql("select tableoid::regclass from millrace.finished"), HasSubstr("finished_1_"));
  const std::string day =
      sql("select (finished_at at time zone 'UTC')::date from millrace.finished");
  sql(fmt::format("select millrace.drop_partition(1, '{}')", day));
  ASSERT_TRUE(exists(parent));
  EXPECT_EQ(advance().promoted, 100U);
  EXPECT_FALSE(exists(parent)) << "its time was over";
  expect_sound();
}

TEST_F(GraphsOfTwo, a_queue_may_keep_nothing_and_its_tasks_still_tell_all) {
  make_queue(queue("q", {.keep_completed = {.last = 0}}));
  const TaskId parent = ended_with(1100);
  EXPECT_TRUE(exists(parent));
  EXPECT_EQ(advance().promoted, 100U);
  EXPECT_FALSE(exists(parent));
  expect_sound();
}

// ---- SQL ----------------------------------------------------------------------------------------

TEST_F(GraphsOfTwo, tasks_of_graphs_are_not_deleted_with_sql) {
  const TaskId parent = put(task("q")).id;
  const TaskId child = put(after({parent})).id;
  for (const TaskId& id : {parent, child}) {
    const auto why =
        refused(fmt::format("delete from millrace.queue_tasks where id = '{}'", to_text(id.value)));
    EXPECT_THAT(why, AllOf(HasSubstr("55006"), HasSubstr("waits for others, or others wait for it"),
                           HasSubstr("millrace task remove " + to_text(id.value))));
  }
  remove(child);
  settle(done(take_one("q")));
  sql("delete from millrace.queue_tasks");
  EXPECT_FALSE(exists(parent));
  expect_sound();
}

TEST_F(GraphsOfTwo, a_task_that_was_waited_for_before_it_came_tells_its_end) {
  const auto waiting = [&](const TaskId& parent) {
    const Task child = old_task("q", {.state = TaskState::created,
                                      .start = now,
                                      .after = After{.tasks = {parent}},
                                      .waits_for = {parent}});
    restore(child);
    return child.id;
  };
  const auto expect_released = [&](const TaskId& child) {
    EXPECT_EQ(state_of(child), TaskState::created);
    settle(done(take_one("q")));
    EXPECT_EQ(state_of(child), TaskState::queued);
    settle(done(take_one("q")));
  };
  const TaskId plain = fresh_id();
  const TaskId first = waiting(plain);
  put(task("q", {.id = plain}));
  expect_released(first);
  const TaskId keyed = fresh_id();
  const TaskId second_child = waiting(keyed);
  put(task("q", {.id = keyed, .unique = UniqueKey{.key = "k"}}));
  expect_released(second_child);
  const TaskId by_sql = fresh_id();
  const TaskId third = waiting(by_sql);
  sql(fmt::format("select millrace.put('q', '1', id => '{}')", to_text(by_sql.value)));
  catch_up();
  expect_released(third);
  expect_sound();
}

// ---- What cannot be read, and what is damaged ---------------------------------------------------

TEST_F(GraphsOfTwo, a_task_whose_child_only_a_newer_server_can_read_is_left_to_it) {
  const TaskId parent = put(task("q")).id;
  const TaskId child = put(after({parent})).id;
  put(task("q"));
  const auto leases = take("q");
  sql("update millrace.tasks set waits = set_byte(waits, 0, 3) where waits is not null");
  const std::vector<Settlement> ends = {done(leases[0]), done(leases[1])};
  const auto result = must(store().work(ends, {}, {}, now));
  ASSERT_THAT(result.settled[0], FailsWith(ErrorCode::corrupt));
  EXPECT_THAT(result.settled[0].error().message,
              AllOf(HasSubstr("task " + to_text(child.value) + " waits for it"),
                    HasSubstr("upgrade this server")));
  EXPECT_THAT(result.settled[1], IsOk());
  sql("update millrace.tasks set waits = set_byte(waits, 0, 1) where waits is not null");
  settle(done(leases[0]));
  EXPECT_EQ(state_of(child), TaskState::queued);
  expect_sound();
}

TEST_F(GraphsOfTwo, a_verification_finds_edges_that_are_wrong) {
  const TaskId parent = put(task("q")).id;
  const TaskId child = put(after({parent})).id;
  const auto report = [] { return must(verify_postgres({.url = shared_postgres().url()})); };
  EXPECT_THAT(report().counts, Contains(std::pair<std::string, std::uint64_t>("edges", 1)));
  EXPECT_THAT(report().damage, IsEmpty());
  sql("update millrace.tasks set children = null");
  EXPECT_THAT(report().damage, ElementsAre(HasSubstr("1 tasks are not marked")));
  sql(
      fmt::format("update millrace.tasks set children = true where id = '{}';"
                  "update millrace.tasks set waits = null where id = '{}'",
                  to_text(parent.value), to_text(child.value)));
  EXPECT_THAT(report().damage, ElementsAre(HasSubstr("1 edges lead to tasks")));
  // It is forgotten with the end of the parent.
  settle(done(take_one("q")));
  EXPECT_EQ(sql("select count(*) from millrace.edges"), "0");
}

}  // namespace
}  // namespace millrace::test
