#include "broker/seen.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "core/uuid.h"

namespace millrace {

Error no_such_task(const TaskRef& task) {
  const auto* id = std::get_if<TaskId>(&task);
  return {ErrorCode::not_found,
          id != nullptr
              ? fmt::format("there is no task {}; it may have ended and been removed",
                            to_text(id->value))
              : fmt::format("there is no task number {}", std::get<TaskNumber>(task).value)};
}

Result<Task> seen_by(const Ask& ask, const TaskRef& task, Result<Task> found) {
  if (found && !ask.sees(found->queue)) return std::unexpected(no_such_task(task));
  return found;
}

}  // namespace millrace
