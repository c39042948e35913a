// Tasks that wait for others, from the put to the end of the last one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "broker/local_broker.h"
#include "broker/task_graph.h"
#include "core/limits.h"
#include "store/forwarding.h"
#include "store/store.h"
#include "tests/support/broker_driver.h"
#include "tests/support/matchers.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class LocalGraphsTest : public ::testing::Test {
 protected:
  static NewTask after(std::vector<TaskId> parents, After how = {}, NewTask fields = {}) {
    how.tasks = std::move(parents);
    fields.after = std::move(how);
    if (fields.queue == QueueRef{}) fields.queue = "q";
    return fields;
  }
  Result<std::vector<Put>> try_put_all(std::vector<NewTask> tasks, Ask by = {.caller = {1}}) {
    return d.wait<std::vector<Put>>(
        [&](auto done) { d.broker->put_all(by, std::move(tasks), std::move(done)); });
  }
  Result<Parents> parents(TaskId id, ParentsRequest request = {}, Ask by = {.caller = {1}}) {
    return d.wait<Parents>([&](auto done) { d.broker->parents(by, id, request, std::move(done)); });
  }
  Result<TaskGraph> graph(TaskId id, std::uint32_t limit = 60, Ask by = {.caller = {1}}) {
    return d.wait<TaskGraph>([&](auto done) { d.broker->graph(by, id, limit, std::move(done)); });
  }
  static std::vector<TaskId> ids(const TaskGraph& graph) {
    std::vector<TaskId> ids;
    for (const GraphTask& task : graph.tasks) ids.push_back(task.id);
    return ids;
  }
  Ask only_sees(const std::string& queue) {
    return {.caller = {1}, .may_see = [queue](std::string_view name) { return name == queue; }};
  }

  BrokerDriver d;
};

TEST_F(LocalGraphsTest, a_chain_that_fails_is_cancelled_in_one_run_of_upkeep) {
  const Callback callback{.url = "https://example.org/hook"};
  const TaskId a = d.put({.queue = "q"}).id;
  TaskId last = a;
  for (int i = 0; i < 20; ++i) last = d.put(after({last}, {}, {.callback = callback})).id;
  d.settle(d.take_one("q"), Failed{error("no"), false});
  for (int i = 0; i < 25; ++i) d.broker->run_services();
  const Task task = d.find(last);
  EXPECT_EQ(task.state, TaskState::cancelled);
  EXPECT_EQ(task.error->code, "parent_ended");
  EXPECT_THAT(task.error->message, HasSubstr("which it waited for, is cancelled"));
  // Each end is told to its webhook, as every other end is.
  EXPECT_THAT(d.webhooks(), SizeIs(20));
  EXPECT_EQ(d.queue("q").stats.cancelled, 20U);
}

TEST_F(LocalGraphsTest, upkeep_goes_on_at_once_while_there_are_children_to_tell) {
  const TaskId parent = d.put({.queue = "q"}).id;
  for (int i = 0; i < 4; ++i) {
    std::vector<NewTask> tasks(1000, after({parent}));
    must(d.try_put(std::move(tasks)));
  }
  d.settle(d.take_one("q"), Done{});
  EXPECT_EQ(d.queue("q").counts.of(TaskState::queued), limits::max_told);
  // Time stands still.
  for (int i = 0; i < 5; ++i) d.broker->run_services();
  EXPECT_EQ(d.queue("q").counts.of(TaskState::queued), 4000U);
}

TEST_F(LocalGraphsTest, a_cancelled_and_a_removed_parent_tell_at_once) {
  const TaskId first = d.put({.queue = "q"}).id;
  const TaskId second = d.put({.queue = "q"}).id;
  const TaskId orphan = d.put(after({first})).id;
  const TaskId released = d.put(after({second}, {.when = AfterWhen::ended})).id;
  must(d.try_cancel(first));
  d.broker->run_services();
  EXPECT_EQ(d.find(orphan).state, TaskState::cancelled);
  must(d.wait<Broker::States>(
      [&](auto done) { d.broker->remove(d.ask(), {second}, std::move(done)); }));
  EXPECT_EQ(d.find(released).state, TaskState::queued);
}

// Counts the tasks that are looked up.
class CountingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  std::size_t found = 0;

  Result<std::vector<Result<Task>>> find(std::span<const TaskRef> tasks, Parts parts) override {
    found += tasks.size();
    return ForwardingStore::find(tasks, parts);
  }
};

TEST_F(LocalGraphsTest, whether_a_caller_sees_a_parent_is_looked_up_once) {
  std::vector<TaskId> parents;
  for (int i = 0; i < 3; ++i) parents.push_back(d.put({.queue = "q"}).id);
  const auto store = std::make_shared<CountingStore>(*d.store);
  BrokerDriver counting({}, store);
  const std::vector<NewTask> tasks(100, after(parents));
  must(counting.wait<std::vector<Result<Put>>>(
      [&](auto done) { counting.broker->put(only_sees("q"), tasks, std::move(done)); }));
  EXPECT_EQ(store->found, 3U);
  store->found = 0;
  must(counting.wait<std::vector<Put>>(
      [&](auto done) { counting.broker->put_all(only_sees("q"), tasks, std::move(done)); }));
  EXPECT_EQ(store->found, 103U) << "and their own ids";
}

// ---- All or none -------------------------------------------------------------------------------

TEST_F(LocalGraphsTest, tasks_get_ids_and_queues_are_created) {
  const auto puts = must(try_put_all({{.queue = "new"}, {.queue = "newer"}}));
  ASSERT_THAT(puts, SizeIs(2));
  EXPECT_EQ(d.find(puts[1].id).queue, "newer");
  EXPECT_EQ(d.queue("new").stats.put, 1U);
}

TEST_F(LocalGraphsTest, nothing_is_created_for_a_graph_that_is_refused) {
  const auto refused = try_put_all({{.queue = "new"}, {.queue = "newer", .priority = 10}});
  EXPECT_THAT(refused, FailsWith(ErrorCode::invalid));
  EXPECT_EQ(refused.error().field, "tasks[1].priority");
  EXPECT_THAT(try_put_all({{.queue = "new"}, {.queue = "$no"}}), FailsWith(ErrorCode::invalid));
  EXPECT_THAT(must(d.store->queues(std::nullopt)), SizeIs(3));  // internal ones
}

TEST_F(LocalGraphsTest, a_queue_that_cannot_be_had_is_named_with_its_task) {
  d.put_queue({.name = "a"});
  const auto refused = try_put_all({{.queue = "a"}, {.queue = QueueNumber{77}}});
  EXPECT_THAT(refused, FailsWith(ErrorCode::not_found));
  EXPECT_EQ(refused.error().field, "tasks[1]");
  EXPECT_EQ(d.queue("a").counts.total(), 0U);
}

TEST_F(LocalGraphsTest, a_store_without_graphs_says_so) {
  struct Without final : ForwardingStore {
    using ForwardingStore::ForwardingStore;
    Traits traits() const override {
      Traits traits = ForwardingStore::traits();
      traits.graphs = false;
      return traits;
    }
  };
  BrokerDriver other({}, std::make_shared<Without>(*d.store));
  const TaskId parent = other.put({.queue = "q"}).id;
  const auto refused = must(other.try_put({after({parent})})).front();
  EXPECT_THAT(refused, FailsWith(ErrorCode::invalid, HasSubstr("cannot keep tasks that wait")));
  EXPECT_EQ(refused.error().field, "after");
  const auto all = other.wait<std::vector<Put>>(
      [&](auto done) { other.broker->put_all({.caller = {1}}, {}, std::move(done)); });
  EXPECT_THAT(all, FailsWith(ErrorCode::invalid));
  EXPECT_EQ(all.error().field, "atomic");
}

// ---- What callers may not see ------------------------------------------------------------------

TEST_F(LocalGraphsTest, a_task_of_another_queue_is_not_there_for_who_may_not_see_it) {
  const TaskId hidden = d.put({.queue = "other"}).id;
  const TaskId seen = d.put({.queue = "q"}).id;
  const auto puts =
      must(d.try_put({after({seen}), after({seen, hidden}), {.queue = "q"}}, only_sees("q")));
  EXPECT_THAT(puts[0], IsOk());
  EXPECT_THAT(puts[1], FailsWith(ErrorCode::not_found, HasSubstr("to wait for")));
  EXPECT_EQ(puts[1].error().field, "after.tasks[1]");
  EXPECT_THAT(puts[2], IsOk());
  const auto refused = try_put_all({{.queue = "q"}, after({hidden})}, only_sees("q"));
  EXPECT_THAT(refused, FailsWith(ErrorCode::not_found));
  EXPECT_EQ(refused.error().field, "tasks[1].after.tasks[0]");
  const auto taken = try_put_all({{.queue = "q"}, {.id = hidden, .queue = "q"}}, only_sees("q"));
  EXPECT_THAT(taken, FailsWith(ErrorCode::conflict));
  EXPECT_EQ(taken.error().field, "tasks[1]");
}

// ---- Parents -----------------------------------------------------------------------------------

TEST_F(LocalGraphsTest, parents_with_their_ends) {
  const TaskId done = d.put({.queue = "q", .type = "load"}).id;
  const TaskId failed = d.put({.queue = "other"}).id;
  const TaskId waits = d.put({.queue = "later"}).id;
  const TaskId gone = d.put({.queue = "q"}).id;
  const TaskId child = d.put(after({done, failed, waits, gone}, {.otherwise = Otherwise::run})).id;
  for (const Lease& lease : d.take("q")) d.settle(lease, Done{"[7]"});
  d.settle(d.take_one("other"), Failed{error("broken"), false});
  must(
      d.wait<Broker::States>([&](auto end) { d.broker->remove(d.ask(), {gone}, std::move(end)); }));
  const Parents all = must(parents(child));
  EXPECT_EQ(all.total, 4U);
  EXPECT_EQ(all.waits_for, 1U);
  EXPECT_EQ(all.next, std::nullopt);
  ASSERT_THAT(all.parents, SizeIs(4));
  EXPECT_EQ(all.parents[0].result, "[7]");
  EXPECT_EQ(all.parents[0].type, "load");
  EXPECT_EQ(all.parents[1].error->message, "broken");
  EXPECT_EQ(all.parents[1].state, TaskState::failed);
  EXPECT_TRUE(all.parents[2].waits);
  EXPECT_EQ(all.parents[3].state, std::nullopt);
  const Parents confined = must(parents(child, {}, only_sees("q")));
  EXPECT_EQ(confined.parents[0].state, TaskState::completed);
  EXPECT_EQ(confined.parents[1].state, std::nullopt);
  EXPECT_EQ(confined.parents[1].error, std::nullopt);
  EXPECT_THAT(parents(child, {}, only_sees("x")), FailsWith(ErrorCode::not_found));
}

TEST_F(LocalGraphsTest, parents_come_in_pages) {
  const auto puts = must(try_put_all(std::vector<NewTask>(50, {.queue = "q"})));
  std::vector<TaskId> ids;
  for (const Put& put : puts) ids.push_back(put.id);
  const TaskId child = d.put(after(ids)).id;
  const Parents page = must(parents(child, {.from = 10, .limit = 20}));
  EXPECT_EQ(page.parents.front().id, ids[10]);
  EXPECT_THAT(page.parents, SizeIs(20));
  EXPECT_EQ(page.next, 30U);
  EXPECT_EQ(must(parents(child, {.from = 30})).next, std::nullopt);
  EXPECT_THAT(must(parents(child, {.from = 50})).parents, IsEmpty());
  EXPECT_THAT(must(parents(ids[0])).parents, IsEmpty());
  EXPECT_THAT(parents(child, {.limit = 0}), FailsWith(ErrorCode::invalid));
}

TEST_F(LocalGraphsTest, a_page_of_parents_is_bounded_in_bytes) {
  const auto puts = must(try_put_all(std::vector<NewTask>(20, {.queue = "q"})));
  std::vector<TaskId> ids;
  for (const Put& put : puts) ids.push_back(put.id);
  const TaskId child = d.put(after(ids)).id;
  for (const Lease& lease : d.take("q")) {
    d.settle(lease, Done{'"' + std::string(limits::mib - 2, 'x') + '"'});
  }
  const Parents page = must(parents(child));
  EXPECT_THAT(page.parents, SizeIs(16));
  EXPECT_EQ(page.next, 16U);
}

// ---- The graph of a task -----------------------------------------------------------------------

TEST_F(LocalGraphsTest, a_graph_has_what_is_above_and_below) {
  const TaskId load = d.put({.queue = "q", .type = "load"}).id;
  const TaskId clean = d.put(after({load})).id;
  const TaskId join = d.put(after({clean, load})).id;
  const TaskId report = d.put(after({join}, {}, {.queue = "reports"})).id;
  d.put(after({load}));  // beside it
  d.settle(d.take_one("q"), Done{});
  const TaskGraph graph = must(this->graph(join));
  EXPECT_THAT(ids(graph), ElementsAre(join, clean, load, report));
  EXPECT_EQ(graph.tasks[0].state, TaskState::created);
  EXPECT_EQ(graph.tasks[0].waits_for, 1U);
  EXPECT_EQ(graph.tasks[2].state, TaskState::completed);
  EXPECT_EQ(graph.tasks[2].type, "load");
  EXPECT_EQ(graph.tasks[3].queue, "reports");
  EXPECT_THAT(graph.edges,
              UnorderedElementsAre(GraphEdge{clean, join, true}, GraphEdge{load, join, false},
                                   GraphEdge{join, report, true}, GraphEdge{load, clean, false}));
  // It has told them all; those put near it are found nevertheless.
  EXPECT_THAT(must(this->graph(load)).tasks, SizeIs(5));
  const TaskGraph alone = must(this->graph(d.put({.queue = "q"}).id));
  EXPECT_THAT(alone.tasks, SizeIs(1));
  EXPECT_THAT(alone.edges, IsEmpty());
}

TEST_F(LocalGraphsTest, a_graph_is_bounded_and_begins_with_what_is_waited_for) {
  const auto puts = must(try_put_all(std::vector<NewTask>(50, {.queue = "q"})));
  std::vector<TaskId> parents;
  for (const Put& put : puts) parents.push_back(put.id);
  for (const Lease& lease : d.take("q", 47)) d.settle(lease, Done{});
  const TaskId child = d.put(after(parents)).id;
  std::vector<TaskId> below;
  for (int i = 0; i < 30; ++i) below.push_back(d.put(after({child})).id);
  TaskGraph graph = must(this->graph(child, 21));
  EXPECT_THAT(ids(graph), SizeIs(21));
  EXPECT_EQ(graph.tasks[0].more_parents, 40U);
  EXPECT_EQ(graph.tasks[0].more_children, 20U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(graph.tasks[i + 1].id, parents[i + 47]);
  EXPECT_EQ(graph.tasks[11].id, below[0]);
  // What one side does not need is the other's.
  graph = must(this->graph(child, 100));
  EXPECT_THAT(ids(graph), SizeIs(81));
  EXPECT_EQ(graph.tasks[0].more_parents, 0U);
  EXPECT_EQ(graph.tasks[0].more_children, 0U);
  graph = must(this->graph(parents[49], 2));
  EXPECT_EQ(graph.tasks[1].more_parents, 49U);
  EXPECT_GE(graph.tasks[1].more_children, 1U);
  EXPECT_THAT(this->graph(child, 0), FailsWith(ErrorCode::invalid));
  EXPECT_THAT(this->graph(child, limits::max_drawn + 1), FailsWith(ErrorCode::invalid));
}

TEST_F(LocalGraphsTest, a_graph_shows_no_task_that_its_caller_may_not_see) {
  const TaskId secret = d.put({.queue = "secret"}).id;
  const TaskId child = d.put(after({secret})).id;
  const TaskId below = d.put(after({child}, {}, {.queue = "secret"})).id;
  const TaskGraph graph = must(this->graph(child, 60, only_sees("q")));
  EXPECT_THAT(ids(graph), ElementsAre(child, secret));
  EXPECT_EQ(graph.tasks[1].state, std::nullopt);
  EXPECT_EQ(graph.tasks[1].queue, "");
  EXPECT_EQ(graph.tasks[0].more_children, 0U);
  EXPECT_THAT(this->graph(below, 60, only_sees("q")), FailsWith(ErrorCode::not_found));
}

}  // namespace
}  // namespace millrace
