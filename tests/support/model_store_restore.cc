// Tasks as they were elsewhere.
#include <algorithm>

#include "core/own_keep.h"
#include "core/transition.h"
#include "core/validate.h"
#include "tests/support/model_store.h"

namespace millrace::test {

Result<std::vector<Result<Put>>> ModelStore::restore(std::span<const Task> tasks, TimePoint now) {
  if (tasks.size() > traits().batch) return fail(ErrorCode::invalid, "the batch is too large");
  std::vector<Result<Put>> results;
  for (const auto& task : tasks) results.push_back(restore_one(task, now));
  return results;
}

Result<Put> ModelStore::restore_one(const Task& from, TimePoint now) {
  if (auto valid = validate(from); !valid) return std::unexpected(valid.error());
  if (const auto* record = record_of(from.id)) {
    return Put{.id = from.id,
               .number = record->task.number,
               .state = record->task.state,
               .existing = true,
               .queue = record->task.queue};
  }
  const auto* line = line_of(from.queue);
  if (line == nullptr) return fail(ErrorCode::not_found, "no such queue");
  Record record{.task = from};
  auto& task = record.task;
  if (task.state == TaskState::processing) {
    task.state = TaskState::queued;
    task.start_by.reset();
  }
  task.lease_until.reset();
  if (task.unique) task.unique->on_conflict = OnConflict::keep, task.unique->max_delay.reset();
  bool holds = false;
  if (task.unique && task.unique->scope == UniqueScope::until_started) {
    holds = is_waiting(task.state) && task.counters.deliveries == 0;
  } else if (task.unique && task.unique->scope == UniqueScope::until_finished) {
    holds = !is_final(task.state);
  } else if (task.unique) {
    holds = now < later(task.created_at, task.unique->window);
  }
  if (holds) {
    if (auto existing = holder(task.queue, task.unique->key, now)) return *existing;
  }
  if (line->queue.removing) return fail(ErrorCode::conflict, "the queue is being removed");
  task.number = TaskNumber{++last_number_};
  task.version = Version{1};
  if (holds) hold_key(record);
  const std::vector<TaskId> open = task.waits_for;
  if (!open.empty()) wait_for(record, open);
  if (!open.empty() && task.waits_for.empty()) {
    task.start = std::max(now, task.start);
    task.state = waiting_state(task.start, now);
  }
  const Put put{task.id, task.number, task.state, false};
  const bool ended = is_final(task.state);
  const bool is_parent = ended && has_children(task.id);
  const auto& keep = keep_of(task.state, line->queue.settings);
  const auto own = ended ? own_keep(task, task.state) : std::nullopt;
  const bool gone =
      own ? *own == Duration::zero() : keep.for_time == Duration::zero() || keep.last == 0U;
  const TaskId id = task.id;
  const TaskState state = task.state;
  records_.emplace(put.number.value, std::move(record));
  regroup(from.queue, from.group, now);
  if (is_parent && gone) erase(put.number.value, now);
  if (ended) tell_children(id, state, now);
  return put;
}

}  // namespace millrace::test
