#include "table.h"

#include "planner.h"

namespace planner {
namespace {

using millrace::TaskState;
using millrace::Value;

Value value_of(const std::string& json) {
  auto parsed = millrace::parse_json(json);
  return parsed ? std::move(*parsed) : Value{json};
}

}  // namespace

Status status_of(const millrace::Task& task) {
  switch (task.state) {
    case TaskState::created:
    case TaskState::delayed:
      return Status::pending;
    case TaskState::queued:
      return task.counters.retries == 0 ? Status::pending : Status::queued;
    case TaskState::retrying:
      return Status::queued;
    case TaskState::processing:
      return Status::processing;
    case TaskState::completed:
      return Status::completed;
    case TaskState::failed:
    case TaskState::dead:
      return Status::failed;
    case TaskState::cancelled:
      return Status::cancelled;
  }
  return Status::failed;
}

QueueTask row_of(const millrace::Task& task) {
  QueueTask row{.id = task.id,
                .queue = task.queue,
                .task_type = task.type,
                .task_data = value_of(task.payload),
                .priority = task.priority,
                .status = status_of(task),
                .retry_count = task.counters.retries,
                .max_retries = retry_rules().max_retries.value_or(0),
                .started_at = task.started_at,
                .completed_at = task.finished_at,
                .created_at = task.created_at,
                .updated_at = task.updated_at};
  if (task.retry && task.retry->max_retries) row.max_retries = *task.retry->max_retries;
  if (task.state == TaskState::retrying) row.next_retry_at = task.start;
  if (!task.result.empty()) row.result_data = value_of(task.result);
  if (task.error) row.error_message = task.error->message;
  if (!task.worker.empty()) row.assigned_worker = task.worker;
  return row;
}

}  // namespace planner
