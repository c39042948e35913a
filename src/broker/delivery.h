// What webhooks and alerts say, and the payload of the task that delivers one.
#pragma once

#include <millrace/ids.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <cstdint>
#include <optional>
#include <string>

#include "broker/alert.h"

namespace millrace {

// A webhook: to the task's own callback.
struct WebhookEvent {
  std::string url = {};
  TaskId task = {};
  std::string queue = {};
  std::string type = {};
  TaskState state = TaskState::completed;  // after the event; `retrying` for a failed try
  std::string result = {};
  bool result_left_out = false;  // too large to go along; the task has it
  std::optional<TaskError> error = std::nullopt;
  std::string client_id = {};
  std::string request_id = {};
};

// An alert: to the operator of the server.
struct AlertEvent {
  AlertFacts facts = {};
  std::string message = {};  // "Task failed after maximum retries"
  TaskId task = {};          // nil: about a queue or the server
  std::string queue = {};
  std::string type = {};
  std::optional<TaskError> error = std::nullopt;
  std::uint32_t retries = 0;
  std::string client_id = {};
  std::string request_id = {};
  TimePoint at{};
};

// The JSON of payload/delivery_payload.h.
std::string payload_of(const WebhookEvent& event);
std::string payload_of(const AlertEvent& event);

}  // namespace millrace
