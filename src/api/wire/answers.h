// Reads what a server answers, in the client.
//
// Unknown keys are ignored, because the server may be newer. An answer that cannot be read is
// `unavailable`, because it is not known what the server did; the message says what was wrong with
// it.
#pragma once

#include <millrace/queue.h>
#include <millrace/result.h>
#include <millrace/schedule.h>
#include <millrace/task.h>
#include <millrace/work.h>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broker/broker.h"
#include "core/values.h"

namespace millrace::wire {

// Reads application/problem+json as an error; nullopt: the text is not one.
std::optional<Error> problem_from(std::string_view text);

// The answer must have one item per item of the request.
Result<std::vector<Result<Put>>> puts_from(std::string_view text, std::size_t count);
Result<Put> put_from(std::string_view text);

struct WorkCounts {
  std::size_t reports = 0;
  std::size_t extensions = 0;
  bool take = false;
};
Result<WorkResult> work_from(std::string_view text, const WorkCounts& asked);
// Only the tasks of the same answer, whatever else was in the request.
Result<WorkResult> leases_from(std::string_view text);

Result<Task> task_from(std::string_view text);
Result<TaskPage> page_from(std::string_view text);
Result<Explanation> explanation_from(std::string_view text);
Result<Parents> parents_from(std::string_view text);
// Of a put that is all or none.
Result<std::vector<Put>> all_puts_from(std::string_view text, std::size_t count);
Result<TaskState> state_from(std::string_view text);
Result<Handled> handled_from(std::string_view text);

Result<Queue> queue_from(std::string_view text);
// From the views and the statistics of the same queues, one or a list of each. The statistics give
// priorities for `queued` only; other states are counted under the default priority.
Result<std::vector<QueueView>> queue_view_from(std::string_view view, std::string_view stats);
Result<std::vector<QueueView>> queue_views_from(std::string_view views, std::string_view stats);
Result<std::uint64_t> removed_from(std::string_view text);

Result<Schedule> schedule_from(std::string_view text);
Result<std::vector<Schedule>> schedules_from(std::string_view text);
Result<std::vector<WorkerView>> workers_from(std::string_view text);
Result<Instructions> instructions_from(std::string_view text);

// The result of an import.
struct ImportedCounts {
  std::uint64_t queues = 0;
  std::uint64_t schedules = 0;
  std::uint64_t memos = 0;
  std::uint64_t tasks = 0;
  std::uint64_t groups = 0;

  friend bool operator==(const ImportedCounts&, const ImportedCounts&) = default;
};
struct Imported {
  ImportedCounts added = {};
  ImportedCounts existing = {};
  std::uint64_t key_held = 0;
  std::uint64_t expired = 0;
  std::optional<Error> error = std::nullopt;  // why it ended before the end
  std::uint64_t line = 0;                     // the line it is about
};
Result<Imported> imported_from(std::string_view text);

struct ServerInfo {
  std::string version = {};
  Traits store = {};
  std::optional<TimePoint> started_at = std::nullopt;
  std::optional<TimePoint> now = std::nullopt;  // the time of its clock
  std::optional<std::uint64_t> connections = std::nullopt;
};
Result<ServerInfo> server_from(std::string_view text);

}  // namespace millrace::wire
