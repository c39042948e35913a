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

Result<std::vector<Put>> ModelStore::put_all(std::span<const NewTask> tasks, TimePoint now) {
  if (auto valid = validate_all(tasks, now); !valid) return std::unexpected(valid.error());
  return fail(ErrorCode::invalid, "the model puts tasks one by one");
}

}  // namespace millrace::test
