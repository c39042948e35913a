// Tasks that wait for each other, in a program.
#include <millrace/app.h>

#include <gmock/gmock.h>
#include <string>
#include <vector>

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using namespace std::chrono_literals;

const TimePoint monday = std::chrono::sys_days(std::chrono::year(2026) / 1 / 5);

template <class T>
T must(Result<T> result) {
  if (!result) throw Failure(result.error());
  return std::move(*result);
}

NewTask to(std::string type, std::string payload = "1") {
  return new_task("etl", std::move(payload), {.type = std::move(type)});
}

class AppGraphs : public ::testing::Test {
 protected:
  App app{"memory:", {.log = [](std::string_view) {}, .virtual_time = monday}};
};

TEST(Graph, a_chain_a_batch_and_what_the_tasks_name_themselves) {
  std::uint8_t last = 0;
  const auto new_id = [&] {
    TaskId id;
    id.value.bytes.back() = ++last;
    return id;
  };
  TaskId outside;
  outside.value.bytes.front() = 9;
  NewTask named = to("named");
  named.after = After{.tasks = {outside}};
  Graph graph;
  const auto chain = graph.chain({to("a"), to("b")});
  ASSERT_THAT(chain, SizeIs(1));
  const auto last_of_all = graph.batch({to("c"), to("d")}, to("end"));
  graph.add(named, {chain.front(), last_of_all}, {.otherwise = Otherwise::hold});
  EXPECT_EQ(graph.size(), 6U);
  const auto tasks = graph.tasks(new_id);
  EXPECT_EQ(tasks[0].after, std::nullopt);
  EXPECT_EQ(tasks[1].after, After{.tasks = {tasks[0].id}});
  EXPECT_EQ(tasks[4].after, (After{.tasks = {tasks[2].id, tasks[3].id}, .when = AfterWhen::ended}));
  EXPECT_EQ(tasks[5].after,
            (After{.tasks = {outside, tasks[1].id, tasks[4].id}, .otherwise = Otherwise::hold}));
  EXPECT_THAT(graph.chain({}, {chain.front()}), SizeIs(1));
}

TEST_F(AppGraphs, tasks_run_in_order_and_read_what_came_before) {
  std::vector<std::string> seen;
  app.handle_type<int>("etl", "load", [&](int number) {
    seen.push_back("load " + std::to_string(number));
    if (number == 3) throw TaskFailure({.message = "broken"}, false);
    return number * 10;
  });
  app.handle_type<int>("etl", "report", [&](int, Context& task) {
    int sum = 0;
    for (const Parent& parent : must(task.parents())) {
      if (parent.error) seen.push_back(parent.error->message);
      if (parent.state == TaskState::completed) sum += must(decode<int>(parent.result));
    }
    seen.push_back("report " + std::to_string(sum));
  });
  Graph graph;
  const auto report =
      graph.batch({to("load", "1"), to("load", "2"), to("load", "3")}, to("report"));
  const auto puts = must(app.client().put(graph));
  ASSERT_THAT(puts, SizeIs(4));
  EXPECT_EQ(puts[report.place].state, TaskState::created);
  must(app.step(monday + 1s));
  EXPECT_THAT(seen, ElementsAre("load 1", "load 2", "load 3", "broken", "report 30"));
  const auto parents = must(app.client().parents(puts[report.place].id));
  ASSERT_THAT(parents, SizeIs(3));
  EXPECT_EQ(parents[1].result, "20");
  EXPECT_FALSE(parents[1].waits);
}

TEST_F(AppGraphs, what_waits_for_a_failure_is_cancelled_at_once) {
  app.handle_type<int>("etl", "load", [](int) { throw TaskFailure({.message = "broken"}, false); });
  Graph graph;
  graph.chain(std::vector<NewTask>(50, to("load")));
  const auto puts = must(app.client().put(graph));
  must(app.step(monday + 1s));
  const Task last = must(app.client().find(puts.back().id));
  EXPECT_EQ(last.state, TaskState::cancelled);
  EXPECT_EQ(last.error->code, "parent_ended");
}

TEST_F(AppGraphs, a_graph_that_is_wrong_puts_nothing) {
  Graph graph;
  graph.add(to("load"));
  graph.add(new_task("etl", "1", {.priority = 10}));
  const auto refused = app.client().put(graph);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field, "tasks[1].priority");
  TaskId nowhere;
  nowhere.value.bytes.front() = 1;
  EXPECT_EQ(app.client().parents(nowhere).error().code, ErrorCode::not_found);
}

TEST_F(AppGraphs, a_follow_up_cannot_wait) {
  std::string message;
  app.handle_type<int>("etl", "load", [&](int, Context& task) {
    NewTask next = to("load");
    next.after = After{.tasks = {task.id()}};
    const auto put = task.put(next);
    message = put ? "" : put.error().message;
  });
  must(app.client().put(to("load")));
  must(app.step(monday + 1s));
  EXPECT_THAT(message, HasSubstr("a follow-up cannot wait"));
}

}  // namespace
}  // namespace millrace
