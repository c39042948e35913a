// A task as the table queue_tasks of the plan shows it: its columns, its six statuses.
#pragma once

#include <millrace/fields.h>
#include <millrace/task.h>
#include <cstdint>
#include <optional>
#include <string>

namespace planner {

enum class Status { pending, queued, processing, completed, failed, cancelled };
MILLRACE_NAMES(Status, pending, queued, processing, completed, failed, cancelled)

struct QueueTask {
  millrace::TaskId id;
  std::string queue;
  std::string task_type;
  millrace::Value task_data;
  std::uint8_t priority = millrace::default_priority;
  Status status = Status::pending;
  std::uint32_t retry_count = 0;
  std::uint32_t max_retries = 0;
  std::optional<millrace::TimePoint> next_retry_at = std::nullopt;
  std::optional<millrace::Value> result_data = std::nullopt;
  std::optional<std::string> error_message = std::nullopt;
  std::optional<std::string> assigned_worker = std::nullopt;
  std::optional<millrace::TimePoint> started_at = std::nullopt;
  std::optional<millrace::TimePoint> completed_at = std::nullopt;
  millrace::TimePoint created_at{};
  millrace::TimePoint updated_at{};
};
MILLRACE_FIELDS(QueueTask, id, queue, task_type, task_data, priority, status, retry_count,
                max_retries, next_retry_at, result_data, error_message, assigned_worker, started_at,
                completed_at, created_at, updated_at)

// A dead letter is `failed`; a task that waits for its next try is `queued`, with next_retry_at.
Status status_of(const millrace::Task& task);
QueueTask row_of(const millrace::Task& task);

}  // namespace planner
