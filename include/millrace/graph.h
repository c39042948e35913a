// Tasks that wait for each other, and what those that wait learn of the others.
//
//   millrace::Graph graph;
//   const auto orders = graph.add(load_orders);
//   const auto users = graph.add(load_users);
//   const auto join = graph.add(join_both, {orders, users});
//   graph.add(report, {join}, {.otherwise = Otherwise::hold});
//   auto puts = client.put(graph);  // all of them or none
#pragma once

#include <millrace/ids.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace millrace {

// One of the tasks that a task waits or waited for.
struct Parent {
  TaskId id = {};
  std::optional<TaskState> state = std::nullopt;  // nullopt: it is not there, or not to be seen
  bool waits = false;                             // the task still waits for it
  std::string queue = {};
  std::string type = {};
  std::optional<TimePoint> finished_at = std::nullopt;
  std::string content_type = {};
  std::string result = {};
  std::optional<TaskError> error = std::nullopt;

  friend bool operator==(const Parent&, const Parent&) = default;
};

// How a task of a graph waits; see After.
struct Waiting {
  AfterWhen when = AfterWhen::completed;
  Otherwise otherwise = Otherwise::cancel;
};

// Up to 10,000 tasks. What is wrong with one is said by the put.
class Graph {
 public:
  // A task of the graph, by its place.
  struct Node {
    std::size_t place = 0;
  };

  Node add(NewTask task) { return add(std::move(task), {}); }
  // Waits for the others, in addition to what the task names itself.
  Node add(NewTask task, const std::vector<Node>& after, Waiting how = {}) {
    std::vector<std::size_t> places;
    for (const Node& node : after) places.push_back(node.place);
    if (!after.empty()) {
      if (!task.after) task.after.emplace();
      task.after->when = how.when;
      task.after->otherwise = how.otherwise;
    }
    tasks_.push_back(std::move(task));
    waits_for_.push_back(std::move(places));
    return {tasks_.size() - 1};
  }

  // Each waits for the one before, the first for `after`. The last; `after` if there are no tasks.
  std::vector<Node> chain(std::vector<NewTask> tasks, std::vector<Node> after = {},
                          Waiting how = {}) {
    for (NewTask& task : tasks) after = {add(std::move(task), after, how)};
    return after;
  }

  // All at once, and `callback` when they have ended, whatever became of them: up to 1,000 tasks.
  Node batch(std::vector<NewTask> tasks, NewTask callback,
             Waiting how = {.when = AfterWhen::ended}) {
    std::vector<Node> all;
    for (NewTask& task : tasks) all.push_back(add(std::move(task)));
    return add(std::move(callback), all, how);
  }

  std::size_t size() const { return tasks_.size(); }

  // The tasks as they are put, in the order of add(). Tasks without an id get one from `new_id`.
  std::vector<NewTask> tasks(const std::function<TaskId()>& new_id) const {
    std::vector<NewTask> all = tasks_;
    for (NewTask& task : all) {
      if (task.id == TaskId{}) task.id = new_id();
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (const std::size_t place : waits_for_[i]) all[i].after->tasks.push_back(all[place].id);
    }
    return all;
  }

 private:
  std::vector<NewTask> tasks_;
  std::vector<std::vector<std::size_t>> waits_for_;  // by task: places
};

}  // namespace millrace
