// A book over a server that is a map: rows go in, verbs decide, and what changed comes out.
#include "store/book/book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "store/embedded/verbs.h"
#include "tests/support/builders.h"
#include "tests/support/matchers.h"

namespace millrace::test {
namespace {

using embedded::QueueFinder;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class TheBook : public ::testing::Test {
 protected:
  TheBook() { the_book.state().put_queue_at(7, {.settings = {.name = "q"}}); }

  // What a store does with changes: its rows are up to date afterwards.
  book::Changes write() {
    book::Changes changes = the_book.changes();
    for (const book::TaskChange& change : changes.tasks) {
      if (change.now == nullptr) {
        rows.erase(change.before->id);
      } else {
        rows.insert_or_assign(change.now->id, the_book.row_of(*change.now, true));
      }
    }
    for (const book::KeyChange& change : changes.keys) {
      held.erase(change.key);
      if (change.now) held.insert({change.key, *change.now});
    }
    return changes;
  }
  // Everything that there is, for the next call.
  void read() {
    the_book.close();
    for (const auto& [id, row] : rows) the_book.enter(row);
    for (const auto& [key, holder] : held) the_book.enter(key, holder);
    the_book.use_number(++number);
  }
  Result<Put> put(const NewTask& task) {
    QueueFinder queues(the_book.state());
    return embedded::put(the_book.state(), queues, task, t0);
  }
  static std::map<std::pair<int, int>, std::int64_t> counts(const book::Tally& tally) {
    std::map<std::pair<int, int>, std::int64_t> all;
    for (const auto& [key, change] : tally.changes()) {
      if (change != 0) all[{key.state, key.priority}] = change;
    }
    return all;
  }

  book::Book the_book;
  std::map<TaskId, book::Row> rows;
  std::map<book::Key, embedded::Holder> held;
  std::uint64_t number = 0;
};

using Counts = std::map<std::pair<int, int>, std::int64_t>;

TEST_F(TheBook, a_new_task_has_no_before) {
  read();
  ASSERT_THAT(put(task("q", {.payload = "p", .unique = UniqueKey{.key = "k"}})), IsOk());
  const book::Changes changes = write();
  ASSERT_THAT(changes.tasks, SizeIs(1));
  EXPECT_FALSE(changes.tasks[0].before.has_value());
  ASSERT_THAT(changes.keys, SizeIs(1));
  EXPECT_EQ(changes.keys[0].key, book::Key(7, "k"));
  EXPECT_FALSE(changes.keys[0].was_held);
  EXPECT_EQ(counts(changes.tally), (Counts{{{1, 5}, 1}}));
  EXPECT_EQ(rows.begin()->second.given.payload, "p");
}

TEST_F(TheBook, a_changed_task_comes_with_what_it_was_before) {
  read();
  const Put first = *put(task("q", {.unique = UniqueKey{.key = "k"}}));
  write();
  read();
  ASSERT_EQ(embedded::cancel(the_book.state(), {.id = first.id}, t0), TaskState::cancelled);
  const book::Changes changes = write();
  ASSERT_THAT(changes.tasks, SizeIs(1));
  EXPECT_EQ(changes.tasks[0].before->state, TaskState::queued);
  EXPECT_EQ(changes.tasks[0].now->state, TaskState::cancelled);
  EXPECT_EQ(counts(changes.tally), (Counts{{{1, 5}, -1}, {{8, 5}, 1}}));
  ASSERT_THAT(changes.keys, SizeIs(1));
  EXPECT_TRUE(changes.keys[0].was_held);
  EXPECT_FALSE(changes.keys[0].now.has_value());
}

TEST_F(TheBook, final_tasks_with_a_rule_of_their_own_are_counted_beside_their_state) {
  read();
  const Put first = *put(task("q", {.keep_for = std::chrono::hours(1)}));
  write();
  read();
  ASSERT_EQ(embedded::cancel(the_book.state(), {.id = first.id}, t0), TaskState::cancelled);
  EXPECT_EQ(counts(write().tally),
            (Counts{{{1, 5}, -1}, {{8, 5}, 1}, {{book::own_finished, 0}, 1}}));
}

TEST_F(TheBook, a_task_that_is_only_read_changes_nothing) {
  read();
  const Put first = *put(task("q", {.unique = UniqueKey{.key = "k"}}));
  write();
  read();
  EXPECT_TRUE(put(task("q", {.unique = UniqueKey{.key = "k"}}))->existing);
  const book::Changes changes = the_book.changes();
  EXPECT_THAT(changes.tasks, IsEmpty());
  EXPECT_THAT(changes.keys, IsEmpty());
  EXPECT_TRUE(the_book.has(first.id));
}

TEST_F(TheBook, a_removed_task_is_gone_with_its_key) {
  read();
  const Put first = *put(task("q", {.unique = UniqueKey{.key = "k"}}));
  write();
  read();
  ASSERT_THAT(embedded::remove(the_book.state(), first.id, t0), IsOk());
  const book::Changes changes = write();
  ASSERT_THAT(changes.tasks, SizeIs(1));
  EXPECT_EQ(changes.tasks[0].now, nullptr);
  EXPECT_THAT(rows, IsEmpty());
  EXPECT_THAT(held, IsEmpty());
}

// What a store does with edges: they are up to date afterwards.
class TheGraph : public TheBook {
 protected:
  book::Changes write_all() {
    book::Changes changes = write();
    for (const auto& edge : changes.old_edges) EXPECT_EQ(edges.erase(edge), 1U);
    for (const auto& [edge, child] : changes.new_edges) edges.insert({edge, child});
    for (const auto& [id, next] : changes.untold) {
      if (next) untold[id] = *next;
      if (!next) untold.erase(id);
    }
    return changes;
  }
  // Only these tasks, as they are known by now.
  void read_only(const std::vector<TaskId>& tasks) {
    the_book.close();
    for (const TaskId& id : tasks) the_book.enter(rows.at(id));
  }
  NewTask after(std::vector<TaskId> parents) {
    NewTask child = task("q");
    child.after = After{.tasks = std::move(parents)};
    return child;
  }
  Put add(const NewTask& task) {
    read();
    const Put added = *put(task);
    write_all();
    return added;
  }

  std::map<embedded::Edge, TaskId> edges;
  std::map<TaskId, std::uint64_t> untold;
};

TEST_F(TheGraph, an_edge_comes_with_the_task_that_waits_and_goes_with_the_end_of_its_parent) {
  const Put parent = add(task("q"));
  const Put child = add(after({parent.id}));
  ASSERT_THAT(edges, SizeIs(1));
  EXPECT_EQ(edges.begin()->first, embedded::Edge(parent.id, child.number.value, 0));
  EXPECT_EQ(edges.begin()->second, child.id);
  read_only({parent.id, child.id});
  ASSERT_EQ(embedded::cancel(the_book.state(), {.id = parent.id}, t0), TaskState::cancelled);
  write_all();
  EXPECT_THAT(edges, IsEmpty());
  EXPECT_TRUE(rows.at(child.id).notes.waits->ended.has_value());
}

TEST_F(TheGraph, a_task_that_is_to_be_cancelled_has_no_edges) {
  const Put one = add(task("q"));
  const Put two = add(task("q"));
  const Put child = add(after({one.id, two.id}));
  ASSERT_THAT(edges, SizeIs(2));
  read_only({one.id, child.id});
  ASSERT_EQ(embedded::remove(the_book.state(), one.id, t0), TaskState::queued);
  write_all();
  EXPECT_THAT(edges, IsEmpty()) << "no other end matters any more";
}

TEST_F(TheGraph, what_was_not_read_is_told_later) {
  const Put parent = add(task("q", {.keep_for = Duration::zero()}));
  const Put first = add(after({parent.id}));
  const Put second = add(after({parent.id}));
  const embedded::Edge later(parent.id, second.number.value, 0);
  read_only({parent.id, first.id});
  the_book.cut(later);
  ASSERT_EQ(embedded::cancel(the_book.state(), {.id = parent.id}, t0), TaskState::cancelled);
  write_all();
  EXPECT_THAT(untold, ElementsAre(std::pair(parent.id, later.child)));
  ASSERT_TRUE(rows.contains(parent.id)) << "it has not told all";
  read_only({parent.id, second.id});
  the_book.enter_untold(parent.id, later.child);
  EXPECT_EQ(embedded::tell_untold(the_book.state(), t0, 10), 1U);
  write_all();
  EXPECT_THAT(untold, IsEmpty());
  EXPECT_FALSE(rows.contains(parent.id));
  EXPECT_THAT(edges, IsEmpty());
}

TEST_F(TheGraph, an_edge_to_a_task_that_no_longer_waits_is_forgotten) {
  const Put parent = add(task("q"));
  const embedded::Edge stray(parent.id, 99, 0);
  read_only({parent.id});
  the_book.enter(stray);
  EXPECT_THAT(the_book.changes().old_edges, ElementsAre(stray));
}

}  // namespace
}  // namespace millrace::test
