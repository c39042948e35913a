// A put that is all or none: everything is checked before anything is added.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "core/check.h"
#include "core/graph.h"
#include "core/uuid.h"
#include "store/embedded/verbs.h"

namespace millrace::embedded {
namespace {

class PutAll {
 public:
  PutAll(State& state, std::span<const NewTask> tasks, TimePoint now)
      : state_(state), tasks_(tasks), now_(now), queues_(state) {}

  Result<std::vector<Put>> run() {
    if (auto good = validate_all(tasks_, now_); !good) {
      return std::unexpected(std::move(good.error()));
    }
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (auto good = check(i); !good) return refuse(i, std::move(good));
    }
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (auto good = check_waits(i); !good) return refuse(i, std::move(good));
    }
    if (auto good = check_cycle(); !good) return std::unexpected(std::move(good.error()));
    return add();
  }

 private:
  // What becomes of one of the tasks.
  struct Place {
    QueueEntry* queue = nullptr;                     // where it is added; nullptr: it is not
    std::optional<Put> existing = std::nullopt;      // a task of the store
    std::optional<std::size_t> twin = std::nullopt;  // one of these holds its key
  };

  std::unexpected<Error> refuse(std::size_t place, Result<void> refused) const {
    return std::unexpected(inside(fmt::format("tasks[{}]", place), std::move(refused)).error());
  }

  Result<void> check(std::size_t at) {
    const NewTask& task = tasks_[at];
    Place& place = places_.emplace_back();
    ids_.emplace(task.id, at);
    place.existing = find_id(state_, task.id);
    if (place.existing) return {};
    QueueEntry* queue = queues_.find(task.queue);
    if (queue == nullptr) return unknown_queue(task.queue);
    place.existing = find_holder(state_, *queue, task.unique, now_);
    if (place.existing) return {};
    if (task.unique) {
      const auto [first, added] = keys_.emplace(std::pair(queue->index, task.unique->key), at);
      if (!added) {
        place.twin = first->second;
        return {};
      }
    }
    if (auto open = check_open(*queue); !open) return open;
    if (auto size = check_size(queue->settings(), "payload", task.payload.size()); !size) {
      return size;
    }
    place.queue = queue;
    return check_room(state_, *queue, task.group, now_,
                      {.in_queue = added_[queue->index]++,
                       .in_group = added_to_group_[{queue->index, task.group}]++});
  }

  Result<void> check_waits(std::size_t at) {
    waits_for_.emplace_back();
    const NewTask& task = tasks_[at];
    if (places_[at].queue == nullptr || !task.after) return {};
    for (std::size_t i = 0; i < task.after->tasks.size(); ++i) {
      const auto parent = ids_.find(task.after->tasks[i]);
      if (parent == ids_.end()) {
        if (state_.find(task.after->tasks[i]) == no_slot) return unknown_parent(*task.after, i);
        continue;
      }
      const Place& place = places_[parent->second];
      if (place.existing && !place.existing->state) return unknown_parent(*task.after, i);
      if (place.queue != nullptr) waits_for_.back().push_back(parent->second);
      if (place.twin) waits_for_.back().push_back(*place.twin);
    }
    return {};
  }

  Result<void> check_cycle() const {
    const auto cycle = find_cycle(waits_for_);
    if (cycle.empty()) return {};
    std::vector<std::string> names;
    for (const std::size_t place : cycle) names.push_back(fmt::format("tasks[{}]", place));
    return cycle_refused(cycle, names);
  }

  // What a task waits for, where the store has it under another id, the holder of its key.
  NewTask with_holders(const NewTask& task) const {
    NewTask given = task;
    std::vector<TaskId> parents;
    for (const TaskId& id : task.after->tasks) {
      const auto at = ids_.find(id);
      TaskId meant = id;
      if (at != ids_.end()) {
        const Place& place = places_[at->second];
        if (place.existing) meant = place.existing->id;
        if (place.twin) meant = tasks_[*place.twin].id;
      }
      if (std::ranges::find(parents, meant) == parents.end()) parents.push_back(meant);
    }
    given.after->tasks = std::move(parents);
    return given;
  }

  bool names_holders(const NewTask& task) const {
    return task.after && std::ranges::any_of(task.after->tasks, [&](const TaskId& id) {
             const auto at = ids_.find(id);
             return at != ids_.end() && places_[at->second].queue == nullptr;
           });
  }

  std::vector<Put> add() {
    for (const auto& [index, count] : added_) {
      QueueEntry& queue = state_.queue_at(index);
      if (!queue.settings().put_rate) continue;
      queue.puts.add(*queue.settings().put_rate, now_, count);
      state_.changes.note({Thing::queue, index});
    }
    std::vector<Put> puts;
    puts.reserve(tasks_.size());
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      const Place& place = places_[i];
      if (place.existing) {
        puts.push_back(*place.existing);
      } else if (place.twin) {
        puts.push_back(puts[*place.twin]);
        puts.back().existing = true;
      } else if (names_holders(tasks_[i])) {
        puts.push_back(add_task(state_, *place.queue, with_holders(tasks_[i]), now_));
      } else {
        puts.push_back(add_task(state_, *place.queue, tasks_[i], now_));
      }
    }
    return puts;
  }

  State& state_;
  std::span<const NewTask> tasks_;
  const TimePoint now_;
  QueueFinder queues_;
  std::vector<Place> places_;
  std::vector<std::vector<std::size_t>> waits_for_;
  std::unordered_map<TaskId, std::size_t, UuidHash> ids_;
  std::map<std::pair<std::uint16_t, std::string>, std::size_t> keys_;
  std::map<std::uint16_t, std::uint32_t> added_;  // how many, by queue
  std::map<std::pair<std::uint16_t, std::string_view>, std::uint32_t> added_to_group_;
};

}  // namespace

Result<std::vector<Put>> put_all(State& state, std::span<const NewTask> tasks, TimePoint now) {
  return PutAll(state, tasks, now).run();
}

}  // namespace millrace::embedded
