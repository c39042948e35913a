// Tasks that wait for others: each end is told to all at once.
#include <algorithm>
#include <utility>

#include "core/graph.h"
#include "core/transition.h"
#include "tests/support/model_store.h"

namespace millrace::test {

namespace {

bool passes(const After& after, TaskState state) {
  return state == TaskState::completed || after.when == AfterWhen::ended ||
         after.otherwise == Otherwise::run;
}

}  // namespace

Result<void> ModelStore::check_parents(const NewTask& task) {
  for (std::size_t i = 0; task.after && i < task.after->tasks.size(); ++i) {
    if (record_of(task.after->tasks[i]) == nullptr) {
      return fail(ErrorCode::not_found, "no such parent", "after.tasks[" + std::to_string(i) + "]");
    }
  }
  return {};
}

// A new task waits for those that are open, unless they have ended as they must.
void ModelStore::wait_for(Record& record, const std::vector<TaskId>& open) {
  auto& task = record.task;
  task.waits_for.clear();
  if (!task.after) return;
  for (const auto& id : task.after->tasks) {
    if (std::ranges::find(open, id) == open.end()) continue;
    const auto* parent = record_of(id);
    const bool ended = parent != nullptr && is_final(parent->task.state);
    if (ended && passes(*task.after, parent->task.state)) continue;
    task.waits_for.push_back(id);
    if (ended && task.after->otherwise == Otherwise::cancel && !record.orphan) {
      record.orphan = EndedParent{id, parent->task.state};
    }
  }
}

bool ModelStore::has_children(const TaskId& id) const {
  return std::ranges::any_of(records_, [&](const auto& entry) {
    const auto& [task, open] = std::pair(entry.second.task, entry.second.task.waits_for);
    return !entry.second.orphan && std::ranges::find(open, id) != open.end();
  });
}

void ModelStore::tell_children(const TaskId& id, TaskState state, TimePoint now) {
  for (auto& [number, record] : records_) {
    auto& task = record.task;
    const auto at = std::ranges::find(task.waits_for, id);
    if (record.orphan || at == task.waits_for.end()) continue;
    if (passes(*task.after, state)) {
      task.waits_for.erase(at);
      if (task.waits_for.empty()) {
        task.start = std::max(now, task.start);
        task.state = waiting_state(task.start, now);
      }
      touch(record, now);
    } else if (task.after->otherwise == Otherwise::cancel) {
      record.orphan = EndedParent{id, state};
      touch(record, now);
    }
  }
}

void ModelStore::stop_waiting(Record& record) {
  record.task.waits_for.clear();
  record.orphan.reset();
}

// A task that is removed before it has ended counts as cancelled.
void ModelStore::drop(std::uint64_t number, TimePoint now) {
  const Task task = records_.at(number).task;
  erase(number, now);
  if (!is_final(task.state)) tell_children(task.id, TaskState::cancelled, now);
}

// ---- All or none --------------------------------------------------------------------------------

// One by one, as if none waited; then each is told what it waits for. A refusal takes all back.
Result<std::vector<Put>> ModelStore::put_all(std::span<const NewTask> tasks, TimePoint now) {
  if (auto valid = validate_all(tasks, now); !valid) return std::unexpected(valid.error());
  const ModelStore before = *this;
  std::vector<Put> puts;
  for (const auto& task : tasks) {
    NewTask alone = task;
    alone.after.reset();
    auto put = put_one(alone, now);
    if (!put) {
      *this = before;
      return std::unexpected(put.error());
    }
    puts.push_back(*put);
  }
  if (auto linked = link(tasks, puts); !linked) {
    *this = before;
    return std::unexpected(linked.error());
  }
  for (auto& put : puts) {
    const auto* record = record_of(put.id);
    if (put.state && record != nullptr) put.state = record->task.state;
  }
  return puts;
}

// A task that was not added stands for the one that is there instead.
Result<void> ModelStore::link(std::span<const NewTask> tasks, const std::vector<Put>& puts) {
  std::vector<std::vector<std::size_t>> waits_for(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (puts[i].existing || !tasks[i].after) continue;
    After after = *tasks[i].after;
    after.tasks.clear();
    for (const auto& id : tasks[i].after->tasks) {
      const auto at = std::ranges::find(tasks, id, &NewTask::id) - tasks.begin();
      const auto place = static_cast<std::size_t>(at);
      const TaskId meant = place < tasks.size() ? puts[place].id : id;
      if (record_of(meant) == nullptr) return fail(ErrorCode::not_found, "no such parent");
      const auto holder = std::ranges::find_if(
          puts, [&](const Put& put) { return put.id == meant && !put.existing; });
      if (holder != puts.end()) {
        waits_for[i].push_back(static_cast<std::size_t>(holder - puts.begin()));
      }
      if (std::ranges::find(after.tasks, meant) == after.tasks.end()) after.tasks.push_back(meant);
    }
    record_of(puts[i].id)->task.after = after;
  }
  if (!find_cycle(waits_for).empty()) return fail(ErrorCode::invalid, "a cycle");
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (puts[i].existing || !tasks[i].after) continue;
    auto& record = *record_of(puts[i].id);
    wait_for(record, record.task.after->tasks);
    if (!record.task.waits_for.empty()) record.task.state = TaskState::created;
  }
  return {};
}

}  // namespace millrace::test
