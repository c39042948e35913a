#include "broker/delivery.h"

#include <fmt/format.h>
#include <millrace/fields.h>

#include <array>
#include <string_view>

#include "core/base64.h"
#include "core/transition.h"
#include "core/utf8.h"
#include "core/uuid.h"
#include "payload/delivery_payload.h"
#include "payload/raw.h"
#include "payload/text.h"

namespace millrace {
namespace {

// NOLINTBEGIN(readability-identifier-naming): the names are those of the JSON that receivers get

struct ErrorBody {
  std::string message;
  std::string code;
};
MILLRACE_FIELDS(ErrorBody, message, code)

struct AlertBody {
  std::string level;
  std::optional<std::string> title;
  std::optional<std::string> message;
  std::string kind;
  bool resolved;
  std::optional<TaskId> taskId;
  std::optional<std::string> type;
  std::optional<std::string> queue;
  std::optional<ErrorBody> error;
  std::optional<std::uint32_t> retries;
  std::uint64_t heldBack;
  std::optional<TimePoint> since;
  TimePoint timestamp;
};
MILLRACE_FIELDS(AlertBody, level, title, message, kind, resolved, taskId, type, queue, error,
                retries, heldBack, since, timestamp)

// NOLINTEND(readability-identifier-naming)

ErrorBody body_of(const TaskError& error) {
  return {.message = error.message, .code = error.code};
}

std::optional<std::string> unless_empty(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

std::string_view level_name(LogLevel level) {
  constexpr std::array<std::string_view, 4> levels = {"debug", "info", "warning", "error"};
  return levels[static_cast<std::size_t>(level)];
}

// "completed", "cancelled", or "failed" for every other end: receivers know no other status.
std::string_view status_of(TaskState state) {
  switch (state) {
    case TaskState::completed:
      return "completed";
    case TaskState::cancelled:
      return "cancelled";
    default:
      return "failed";
  }
}

// JSON byte for byte, other text as a string, other bytes as base64.
void append_result(std::string& out, const std::string& result) {
  if (result.empty()) {
    out += R"("result":null)";
  } else if (json::is_json(result)) {
    out += R"("result":)";
    out += result;
  } else if (is_utf8(result)) {
    out += R"("result":)";
    json::append_text(out, result);
  } else {
    out += R"("result_base64":")";
    out += base64_encode(result);
    out += '"';
  }
}

// {status, taskId, result} or {status, taskId, error{message, code}}.
std::string body_of(const WebhookEvent& event) {
  std::string out = fmt::format(R"({{"status":"{}","taskId":"{}",)", status_of(event.state),
                                to_text(event.task.value));
  if (event.state != TaskState::completed) {
    out += R"("error":)";
    out += encode(body_of(event.error.value_or(TaskError{})));
  } else if (event.result_left_out) {
    out += R"("resultLeftOut":true)";
  } else {
    append_result(out, event.result);
  }
  out += '}';
  return out;
}

AlertBody body_of(const AlertEvent& event) {
  AlertBody body{.level = std::string(level_name(event.facts.level)),
                 .title = unless_empty(event.facts.title),
                 .message = unless_empty(event.message),
                 .kind = std::string(name_of(event.facts.kind)),
                 .resolved = event.facts.resolved,
                 .type = unless_empty(event.type),
                 .queue = unless_empty(event.queue),
                 .heldBack = event.facts.held_back,
                 .since = event.facts.since,
                 .timestamp = event.at};
  if (event.error) body.error = body_of(*event.error);
  if (event.task != TaskId{}) {
    body.taskId = event.task;
    body.retries = event.retries;
  }
  return body;
}

}  // namespace

std::string payload_of(const WebhookEvent& event) {
  return to_json({.url = event.url,
                  .queue = event.queue,
                  .type = event.type,
                  .state = std::string(name_of(event.state)),
                  .client_id = event.client_id,
                  .request_id = event.request_id,
                  .body = body_of(event)});
}

std::string payload_of(const AlertEvent& event) {
  return to_json(DeliveryPayload{.body = encode(body_of(event))});
}

}  // namespace millrace
