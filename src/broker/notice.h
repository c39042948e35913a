// What the world is told of a task's end: the content of a webhook or of an alert, before somebody
// puts it into JSON.
#pragma once

#include <millrace/ids.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace millrace {

enum class NoticeKind : std::uint8_t {
  webhook = 0,  // to the task's own callback
  alert = 1,    // to whoever runs the server
};

struct Notice {
  NoticeKind kind = NoticeKind::webhook;
  std::string url = {};      // webhook: where to
  std::string subject = {};  // alert: "Task failed after maximum retries"
  TaskId task = {};
  std::string queue = {};
  std::string type = {};
  TaskState state = TaskState::completed;  // after the event; `retrying` for a failed try
  std::string result = {};
  bool result_left_out = false;  // it was too large to go along; the task has it
  std::optional<TaskError> error = std::nullopt;
  Counters counters = {};
  std::string client_id = {};
  std::string request_id = {};
  std::string metadata = {};  // a JSON object
  TimePoint at{};
};

// Makes the payload of the task that delivers a notice. This room knows no JSON, so it is given.
using ComposeNotice = std::function<std::string(const Notice&)>;

}  // namespace millrace
