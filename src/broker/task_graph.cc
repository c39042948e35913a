#include "broker/task_graph.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "broker/seen.h"
#include "core/limits.h"
#include "core/transition.h"
#include "store/store.h"

namespace millrace {
namespace {

constexpr Parts all_but_payload{.payload = false};
constexpr std::uint64_t neighbours = 1000;  // on each side

bool waits(const Task& task) {
  return task.state == TaskState::created && !is_parked(task) && task.after;
}

// Goes up and down from the task in rings, so that the nearest tasks come first.
class GraphSearch {
 public:
  GraphSearch(Reader& reader, const Ask& ask, std::size_t limit)
      : reader_(reader), ask_(ask), limit_(limit) {}

  Result<TaskGraph> run(const TaskRef& ref) {
    auto task = seen_by(ask_, ref, find_task(reader_, ref, head_only));
    if (!task) return std::unexpected(std::move(task.error()));
    const std::vector<TaskId> self{task->id};
    if (auto done = add(self); !done) return std::unexpected(std::move(done.error()));
    // Removed since?
    if (!nodes_.front().task) return std::unexpected(no_such_task(ref));
    if (auto done = look_around(*nodes_.front().task); !done) {
      return std::unexpected(std::move(done.error()));
    }
    Ring above{.end = 1};
    Ring below{.end = 1};
    while (above.any() || below.any()) {
      const std::vector<TaskId> up = parents_of(above);
      const auto down = children_of(below);
      if (!down) return std::unexpected(down.error());
      const std::size_t room = limit_ - nodes_.size();
      const std::size_t left = room - std::min(room, down->size());
      const std::size_t ups = std::min(up.size(), std::max(left, (room + 1) / 2));
      const std::size_t downs = std::min(down->size(), room - ups);
      auto done = add(std::span(up).first(ups));
      if (done) done = add(std::span(*down).first(downs));
      if (!done) return std::unexpected(std::move(done.error()));
      const std::size_t end = nodes_.size();
      above = {end - downs - ups, end - downs};
      below = {end - downs, end};
    }
    return graph();
  }

 private:
  struct Node {
    TaskId id = {};
    std::optional<Task> task = std::nullopt;  // nullopt: removed, or not for the caller
    std::set<TaskId> open = {};               // of its parents: those that still count
    std::vector<TaskId> children = {};        // as far as they were looked for
  };
  // The nodes that one step up or down has added.
  struct Ring {
    std::size_t from = 0;
    std::size_t end = 0;
    bool any() const { return from != end; }
  };

  Result<void> add(std::span<const TaskId> ids) {
    if (ids.empty()) return {};
    const std::size_t first = nodes_.size();
    auto found = reader_.find(std::vector<TaskRef>(ids.begin(), ids.end()), head_only);
    if (!found) return std::unexpected(std::move(found.error()));
    std::vector<TaskRef> waiting;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      auto& task = (*found)[i];
      if (!task && task.error().code != ErrorCode::not_found) {
        return std::unexpected(std::move(task.error()));
      }
      Node& node = nodes_.emplace_back(Node{.id = ids[i]});
      places_.emplace(ids[i], first + i);
      if (!task || !ask_.sees(task->queue)) continue;
      if (waits(*task)) waiting.emplace_back(ids[i]);
      node.task = std::move(*task);
    }
    return read_waits(waiting);
  }

  // Which parents still count is beside the result, which a task that has not run does not have.
  Result<void> read_waits(const std::vector<TaskRef>& waiting) {
    if (waiting.empty()) return {};
    auto found = reader_.find(waiting, all_but_payload);
    if (!found) return std::unexpected(std::move(found.error()));
    for (auto& task : *found) {
      if (!task) continue;
      nodes_[places_.at(task->id)].open.insert(task->waits_for.begin(), task->waits_for.end());
    }
    return {};
  }

  // What is not in the graph yet, each once, and no more than there may be room for.
  class Candidates {
   public:
    explicit Candidates(const GraphSearch& search) : search_(search) {}
    void add(const TaskId& id) {
      if (ids.size() == search_.limit_ || search_.places_.contains(id)) return;
      if (seen_.insert(id).second) ids.push_back(id);
    }
    std::vector<TaskId> ids;

   private:
    const GraphSearch& search_;
    std::set<TaskId> seen_;
  };

  // Those that are still waited for come first.
  std::vector<TaskId> parents_of(Ring ring) const {
    Candidates candidates(*this);
    for (const bool open : {true, false}) {
      for (std::size_t at = ring.from; at < ring.end; ++at) {
        const Node& node = nodes_[at];
        if (!node.task || !node.task->after) continue;
        for (const TaskId& id : node.task->after->tasks) {
          if (node.open.contains(id) == open) candidates.add(id);
        }
      }
    }
    return std::move(candidates.ids);
  }

  Result<std::vector<TaskId>> children_of(Ring ring) {
    Candidates candidates(*this);
    for (std::size_t at = ring.from; at < ring.end; ++at) {
      if (!nodes_[at].task) continue;
      auto found = find_children(nodes_[at].id, at == 0);
      if (!found) return std::unexpected(std::move(found.error()));
      for (const TaskId& id : *found) candidates.add(id);
      nodes_[at].children = std::move(*found);
    }
    return std::move(candidates.ids);
  }

  // Oldest first.
  Result<std::vector<TaskId>> find_children(const TaskId& id, bool all) {
    ListRequest request{.waits_for = id, .detail = Detail::state};
    request.limit = all ? limits::max_page : static_cast<std::uint32_t>(limit_);
    const auto page = reader_.list(request);
    if (!page) return std::unexpected(page.error());
    std::vector<TaskId> ids;
    const auto near = near_.find(id);
    if (near != near_.end()) ids = near->second;
    const std::set<TaskId> known(ids.begin(), ids.end());
    for (auto task = page->tasks.rbegin(); task != page->tasks.rend(); ++task) {
      if (ask_.sees(task->queue) && !known.contains(task->id)) ids.push_back(task->id);
    }
    return ids;
  }

  // Once a task has ended, the tasks that were put next to it tell who waited for it.
  Result<void> look_around(const Task& task) {
    if (!is_final(task.state)) return {};
    const std::uint64_t own = task.number.value;
    ListRequest request{.before = TaskNumber{own + neighbours + 1},
                        .from = TaskNumber{own - std::min(own, neighbours)},
                        .limit = limits::max_page};
    std::vector<Task> found;
    for (int pages = 0; pages < 2; ++pages) {
      auto page = reader_.list(request);
      if (!page) return std::unexpected(std::move(page.error()));
      for (Task& each : page->tasks) {
        if (each.after && ask_.sees(each.queue)) found.push_back(std::move(each));
      }
      if (!page->next) break;
      request.before = page->next;
    }
    for (auto each = found.rbegin(); each != found.rend(); ++each) {
      for (const TaskId& parent : each->after->tasks) near_[parent].push_back(each->id);
    }
    return {};
  }

  TaskGraph graph() const {
    TaskGraph graph;
    const auto left_out = [this](const std::vector<TaskId>& ids) {
      return static_cast<std::uint32_t>(
          std::ranges::count_if(ids, [this](const TaskId& id) { return !places_.contains(id); }));
    };
    for (const Node& node : nodes_) {
      GraphTask& shown = graph.tasks.emplace_back(GraphTask{.id = node.id});
      shown.more_children = left_out(node.children);
      if (!node.task) continue;
      const Task& task = *node.task;
      shown.state = task.state;
      shown.queue = task.queue;
      shown.type = task.type;
      shown.parked = is_parked(task);
      if (!task.after) continue;
      shown.waits_for = static_cast<std::uint32_t>(node.open.size());
      shown.more_parents = left_out(task.after->tasks);
      for (const TaskId& parent : task.after->tasks) {
        if (!places_.contains(parent)) continue;
        graph.edges.push_back({parent, node.id, node.open.contains(parent)});
      }
    }
    return graph;
  }

  Reader& reader_;
  const Ask& ask_;
  const std::size_t limit_;
  std::vector<Node> nodes_;
  std::map<TaskId, std::size_t> places_;
  std::map<TaskId, std::vector<TaskId>> near_;  // by parent, oldest first
};

}  // namespace

Result<TaskGraph> find_graph(Reader& reader, const TaskRef& task, const Ask& ask,
                             std::uint32_t limit) {
  return GraphSearch(reader, ask, limit).run(task);
}

}  // namespace millrace
