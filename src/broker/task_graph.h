// A task with those that it waits or waited for, theirs, and those that wait for it, as far as a
// limit goes: what a drawing needs.
#pragma once

#include <millrace/ids.h>
#include <millrace/result.h>
#include <millrace/task.h>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "broker/broker.h"
#include "core/values.h"
#include "store/fwd.h"

namespace millrace {

struct GraphTask {
  TaskId id = {};
  std::optional<TaskState> state = std::nullopt;  // nullopt: removed, or not for the caller
  std::string queue = {};
  std::string type = {};
  bool parked = false;
  std::uint32_t waits_for = 0;      // of its parents, in the graph or not
  std::uint32_t more_parents = 0;   // that are not in the graph
  std::uint32_t more_children = 0;  // the same, at least
};

struct GraphEdge {
  TaskId from = {};
  TaskId to = {};
  bool waits = false;

  friend bool operator==(const GraphEdge&, const GraphEdge&) = default;
};

struct TaskGraph {
  std::vector<GraphTask> tasks = {};  // the task itself, then the nearest
  std::vector<GraphEdge> edges = {};
};

// Those below a task that has ended do not wait for it any more, and no index leads to them: they
// are found if they were put next to it, as the tasks of an atomic put are.
Result<TaskGraph> find_graph(Reader& reader, const TaskRef& task, const Ask& ask,
                             std::uint32_t limit);

}  // namespace millrace
