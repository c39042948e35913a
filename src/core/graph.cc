#include "core/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include "core/check.h"
#include "core/limits.h"
#include "core/uuid.h"
#include "core/validate.h"

namespace millrace {
namespace {

enum class Mark : std::uint8_t { unseen, on_path, done };

struct Step {
  std::size_t task = 0;
  std::size_t next = 0;  // of what it waits for
};

}  // namespace

// Depth first, with a path of its own: a chain may be longer than the stack is deep.
std::vector<std::size_t> find_cycle(std::span<const std::vector<std::size_t>> waits_for) {
  std::vector<Mark> marks(waits_for.size(), Mark::unseen);
  std::vector<Step> path;
  for (std::size_t first = 0; first < waits_for.size(); ++first) {
    if (marks[first] != Mark::unseen) continue;
    path.push_back({first});
    marks[first] = Mark::on_path;
    while (!path.empty()) {
      Step& step = path.back();
      if (step.next == waits_for[step.task].size()) {
        marks[step.task] = Mark::done;
        path.pop_back();
        continue;
      }
      const std::size_t parent = waits_for[step.task][step.next++];
      if (marks[parent] == Mark::on_path) {
        std::vector<std::size_t> cycle;
        auto at = std::ranges::find(path, parent, &Step::task);
        for (; at != path.end(); ++at) cycle.push_back(at->task);
        return cycle;
      }
      if (marks[parent] == Mark::done) continue;
      marks[parent] = Mark::on_path;
      path.push_back({parent});
    }
  }
  return {};
}

std::unexpected<Error> cycle_refused(const std::vector<std::size_t>& cycle,
                                     const std::vector<std::string>& names) {
  constexpr std::size_t most = 20;  // a message is read by people
  std::string path;
  for (std::size_t i = 0; i < std::min(cycle.size(), most); ++i) path += names[i] + " → ";
  if (cycle.size() > most) path += fmt::format("{} more → ", cycle.size() - most);
  return fail(ErrorCode::invalid,
              fmt::format("tasks wait for each other in a cycle: {}{}", path, names.front()),
              fmt::format("tasks[{}].after", cycle.front()));
}

Result<void> validate_all(std::span<const NewTask> tasks, TimePoint now) {
  if (auto good = check::count("tasks", tasks.size(), limits::max_put_all); !good) return good;
  std::size_t bytes = 0;
  std::unordered_map<TaskId, std::size_t, UuidHash> places;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const std::string place = fmt::format("tasks[{}]", i);
    if (auto good = validate(tasks[i], now); !good) return inside(place, std::move(good));
    if (tasks[i].unique && tasks[i].unique->on_conflict != OnConflict::keep) {
      return fail(
          ErrorCode::invalid,
          "a put that is all or none leaves the holder of a key as it is; leave on_conflict "
          "out",
          place + ".unique.on_conflict");
    }
    if (const auto [first, added] = places.emplace(tasks[i].id, i); !added) {
      return fail(ErrorCode::invalid,
                  fmt::format("the id {} is that of tasks[{}] too", to_text(tasks[i].id.value),
                              first->second),
                  place + ".id");
    }
    bytes += tasks[i].payload.size() + tasks[i].metadata.size();
    if (tasks[i].after) bytes += tasks[i].after->tasks.size() * sizeof(TaskId);
  }
  if (auto good = check::size({"tasks together", "tasks"}, bytes, limits::max_put_all_bytes);
      !good) {
    return good;
  }
  std::vector<std::vector<std::size_t>> waits_for(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!tasks[i].after) continue;
    for (const TaskId& id : tasks[i].after->tasks) {
      if (const auto at = places.find(id); at != places.end()) waits_for[i].push_back(at->second);
    }
  }
  const auto cycle = find_cycle(waits_for);
  if (cycle.empty()) return {};
  std::vector<std::string> names;
  for (const std::size_t place : cycle) names.push_back(fmt::format("tasks[{}]", place));
  return cycle_refused(cycle, names);
}

}  // namespace millrace
