// A task as it was elsewhere.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/as_put.h"
#include "core/check.h"
#include "core/limits.h"
#include "core/time_text.h"
#include "core/transition.h"
#include "core/uuid.h"
#include "core/validate.h"

namespace millrace {
namespace {

Result<void> check_moment(const What& what, std::optional<TimePoint> moment) {
  if (!moment || (*moment >= first_time && *moment <= last_time)) return {};
  return fail(ErrorCode::invalid, fmt::format("{} is outside the years 0 to 9999", what.words),
              std::string(what.field));
}

Result<void> check_moments(const Task& task) {
  for (const auto& [what, moment] :
       {std::pair<What, std::optional<TimePoint>>{"created_at", task.created_at},
        {"updated_at", task.updated_at},
        {"start",
         is_parked(task) && task.start == never ? std::nullopt : std::optional(task.start)},
        {"previous_start", task.previous_start},
        {"started_at", task.started_at},
        {"finished_at", task.finished_at},
        {"start_by", task.start_by}}) {
    if (auto ok = check_moment(what, moment); !ok) return ok;
  }
  return {};
}

Result<void> check_state(const Task& task) {
  if (auto ok = check::enumerator("state", task.state, TaskState::cancelled); !ok) return ok;
  if (is_final(task.state) && !task.finished_at) {
    return fail(ErrorCode::invalid,
                fmt::format("a {} task has no finished_at; give the moment it ended at",
                            name_of(task.state)),
                "finished_at");
  }
  if (!is_final(task.state) && task.finished_at) {
    return fail(ErrorCode::invalid,
                fmt::format("a {} task has a finished_at; allowed with completed, failed, dead "
                            "and cancelled only",
                            name_of(task.state)),
                "finished_at");
  }
  if (is_final(task.state) && task.cancel_requested) {
    return fail(ErrorCode::invalid,
                fmt::format("a {} task has cancel_requested; allowed while it waits or runs",
                            name_of(task.state)),
                "cancel_requested");
  }
  return {};
}

Result<void> check_log(const std::vector<LogLine>& log) {
  if (auto ok = check::count({"log lines", "log"}, log.size(), limits::max_log_lines); !ok)
    return ok;
  for (const LogLine& line : log) {
    if (auto ok = check::size({"log line", "log"}, line.text.size(), limits::max_log_line); !ok) {
      return ok;
    }
    if (auto ok = check_moment({"moment of a log line", "log"}, line.at); !ok) return ok;
  }
  return {};
}

Result<void> check_attempt(const Attempt& attempt) {
  Result<void> ok =
      check::enumerator({"event of a history line", "event"}, attempt.event, Event::park);
  if (ok) ok = check::text("worker", attempt.worker, limits::max_label);
  if (ok) {
    ok = check::size({"error code", "error_code"}, attempt.error_code.size(),
                     limits::max_error_code);
  }
  if (ok) {
    ok = check::size({"error message", "error_message"}, attempt.error_message.size(),
                     limits::max_error_text);
  }
  if (ok) ok = check_moment({"started_at of a history line", "started_at"}, attempt.started_at);
  if (ok) ok = check_moment({"ended_at of a history line", "ended_at"}, attempt.ended_at);
  return ok;
}

Result<void> check_steps(const Task& task) {
  const bool given = !task.checkpoint.empty() || task.answer;
  if (given && task.state == TaskState::completed) {
    return fail(ErrorCode::invalid,
                fmt::format("a completed task has {}; tasks of every other state may have one",
                            task.answer ? "an answer" : "a checkpoint"),
                task.answer ? "answer" : "checkpoint");
  }
  if (auto ok = check::size("checkpoint", task.checkpoint.size(), limits::max_checkpoint); !ok) {
    return ok;
  }
  return check::size("answer", task.answer ? task.answer->size() : 0, limits::max_answer);
}

// What it still waits for.
Result<void> check_waits(const Task& task) {
  if (task.waits_for.empty()) return {};
  const auto refuse = [](std::string message) {
    return fail(ErrorCode::invalid, std::move(message), "waits_for");
  };
  if (task.state != TaskState::created || is_parked(task)) {
    return refuse(
        fmt::format("a task that is {} waits_for others; allowed while it is created and "
                    "has not run",
                    name_of(task.state)));
  }
  std::vector<TaskId> named = task.after ? task.after->tasks : std::vector<TaskId>();
  if (task.waits_for.size() > named.size()) {
    return refuse(
        fmt::format("waits_for names {} tasks, of which after names {}; allowed are those "
                    "of after, each once",
                    task.waits_for.size(), named.size()));
  }
  std::ranges::sort(named);
  for (const TaskId& id : task.waits_for) {
    if (!std::ranges::binary_search(named, id)) {
      return refuse(
          fmt::format("waits_for names task {}, which after does not name", to_text(id.value)));
    }
  }
  return {};
}

// What happened to the task.
Result<void> check_notes(const Task& task) {
  if (auto ok = check::text("worker", task.worker, limits::max_label); !ok) return ok;
  if (auto ok = check::size("result", task.result.size(), limits::max_result); !ok) return ok;
  if (!(task.progress >= 0 && task.progress <= 100)) {
    return fail(ErrorCode::invalid,
                fmt::format("progress is {}; allowed are 0 to 100", task.progress), "progress");
  }
  if (task.error) {
    if (auto ok = check::error(*task.error); !ok) return ok;
    if (auto ok =
            check_moment({"failed_at of the error", "error.failed_at"}, task.error->failed_at);
        !ok) {
      return ok;
    }
  }
  if (task.delivery) {
    if (auto ok = check::size({"delivery status", "delivery.last_status"},
                              task.delivery->last_status.size(), limits::max_error_text);
        !ok) {
      return ok;
    }
  }
  if (auto ok = check_steps(task); !ok) return ok;
  if (auto ok = check_log(task.log); !ok) return ok;
  if (auto ok =
          check::count({"history lines", "history"}, task.history.size(), limits::max_history);
      !ok) {
    return ok;
  }
  for (std::size_t i = 0; i < task.history.size(); ++i) {
    if (auto ok = check_attempt(task.history[i]); !ok) {
      return inside(fmt::format("history[{}]", i), std::move(ok));
    }
  }
  return {};
}

}  // namespace

Result<void> validate(const Task& task) {
  // Nothing here depends on a time: as_put() leaves the moments out.
  if (auto ok = validate(as_put(task), TimePoint{}); !ok) return ok;
  if (auto ok = check_state(task); !ok) return ok;
  if (auto ok = check_moments(task); !ok) return ok;
  if (auto ok = check_waits(task); !ok) return ok;
  return check_notes(task);
}

}  // namespace millrace
