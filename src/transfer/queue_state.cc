#include "transfer/queue_state.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "api/wire/tree.h"
#include "core/priority.h"
#include "core/quote.h"
#include "core/time_text.h"
#include "core/transition.h"
#include "core/uuid.h"
#include "transfer/kind.h"

namespace millrace::transfer {
namespace {

using boost::json::object;
using boost::json::value;

constexpr auto task_keys = std::to_array<std::string_view>({"id",
                                                            "type",
                                                            "status",
                                                            "priority",
                                                            "createdAt",
                                                            "updatedAt",
                                                            "startedAt",
                                                            "failedAt",
                                                            "completedAt",
                                                            "clientId",
                                                            "requestId",
                                                            "payload",
                                                            "result",
                                                            "error",
                                                            "lastError",
                                                            "retries",
                                                            "maxRetries",
                                                            "nextRetryAt",
                                                            "callbackUrl",
                                                            "metadata",
                                                            "callbackAttempts",
                                                            "maxCallbackAttempts"});

// One task of the file; every method reads a field. The first error stays.
class Fields {
 public:
  explicit Fields(const object& from) : from_(from) {
    for (const auto& [key, unused] : from) {
      if (std::ranges::find(task_keys, std::string_view(key)) != task_keys.end()) continue;
      refuse(fmt::format("{} is not known; known are {}", in_quotes(std::string_view(key)),
                         fmt::join(task_keys, ", ")));
    }
  }

  void refuse(std::string why) {
    if (wrong_.empty()) wrong_ = std::move(why);
  }
  // Empty: nothing.
  const std::string& wrong() const { return wrong_; }

  const value* find(std::string_view key) const {
    const value* found = from_.if_contains(key);
    return found == nullptr || found->is_null() ? nullptr : found;
  }

  std::string text(std::string_view key) {
    const value* found = find(key);
    if (found == nullptr) return {};
    if (found->is_string()) return std::string(std::string_view(found->get_string()));
    refuse(fmt::format("{} must be a string", key));
    return {};
  }

  std::optional<std::uint32_t> number(std::string_view key) {
    const value* found = find(key);
    if (found == nullptr) return std::nullopt;
    const auto* number = found->if_int64();
    if (number != nullptr && *number >= 0 && *number < unlimited) {
      return static_cast<std::uint32_t>(*number);
    }
    refuse(fmt::format("{} must be a whole number from 0", key));
    return std::nullopt;
  }

  std::optional<TimePoint> moment(std::string_view key) {
    if (find(key) == nullptr) return std::nullopt;
    const auto moment = parse_time(text(key));
    if (moment) return *moment;
    refuse(fmt::format("{}: {}", key, moment.error().message));
    return std::nullopt;
  }

  // Any JSON, as its text.
  std::string json(std::string_view key) const {
    const value* found = find(key);
    return found == nullptr ? std::string() : wire::to_text(*found);
  }

 private:
  const object& from_;
  std::string wrong_;
};

std::string as_text(const object& from, std::string_view key) {
  const value* found = from.if_contains(key);
  if (found == nullptr || found->is_null()) return {};
  if (found->is_string()) return std::string(std::string_view(found->get_string()));
  return wire::to_text(*found);
}

// An object with message, code and details; the same as a string of JSON; or just a message.
std::optional<TaskError> error_of(Fields& from, TimePoint failed_at) {
  const value* found = from.find("error");
  if (found == nullptr) {
    if (from.find("lastError") == nullptr) return std::nullopt;
    return TaskError{.message = from.text("lastError"), .failed_at = failed_at};
  }
  value given = *found;
  if (given.is_string()) {
    const auto inner = wire::parse(std::string_view(given.get_string()));
    if (inner && inner->is_object()) given = *inner;
  }
  if (!given.is_object()) {
    const bool text = given.is_string();
    return TaskError{
        .message = text ? std::string(std::string_view(given.get_string())) : wire::to_text(given),
        .failed_at = failed_at};
  }
  const object& fields = given.get_object();
  TaskError error{.message = as_text(fields, "message"),
                  .details = as_text(fields, "details"),
                  .stack = as_text(fields, "stack"),
                  .failed_at = failed_at};
  if (const auto code = as_text(fields, "code"); !code.empty()) error.code = code;
  return error;
}

TaskId id_of(Fields& from) {
  const auto id = task_id_from_text(from.text("id"));
  if (!id) from.refuse(fmt::format("id: {}", id.error().message));
  return id.value_or(TaskId{});
}

TaskState state_of(Fields& from) {
  const std::string status = from.text("status");
  if (status.empty()) return TaskState::queued;
  const auto state = state_from_name(status);
  if (state && *state != TaskState::delayed) return *state;
  from.refuse(
      fmt::format("status {} is not known; known are created, queued, processing, "
                  "completed, failed, cancelled, retrying, dead",
                  in_quotes(status)));
  return TaskState::queued;
}

std::uint8_t priority_of(Fields& from) {
  const auto priority = priority_from(from.text("priority"), PriorityScale::named);
  if (!priority) from.refuse(fmt::format("priority: {}", priority.error().message));
  return priority.value_or(default_priority);
}

// As in the file; its place in the queue is set later.
Task task_of(Fields& from, const std::string& queue, TimePoint now) {
  Task task{.id = id_of(from), .queue = queue, .type = from.text("type")};
  task.payload = from.json("payload");
  task.state = state_of(from);
  task.priority = priority_of(from);
  task.created_at = from.moment("createdAt").value_or(now);
  task.updated_at = from.moment("updatedAt").value_or(task.created_at);
  task.started_at = from.moment("startedAt");
  task.start = task.created_at;
  task.client_id = from.text("clientId");
  task.request_id = from.text("requestId");
  task.result = from.json("result");
  task.error = error_of(from, from.moment("failedAt").value_or(task.updated_at));
  task.counters.retries = from.number("retries").value_or(0);
  task.counters.attempts = task.counters.retries;
  task.counters.deliveries = task.counters.retries + (task.started_at ? 1 : 0);
  if (const auto most = from.number("maxRetries")) task.retry = RetryRules{.max_retries = most};
  if (const auto url = from.text("callbackUrl"); !url.empty()) {
    task.callback = Callback{.url = url};
    task.callback->max_attempts =
        from.number("maxCallbackAttempts").value_or(task.callback->max_attempts);
  }
  if (const auto made = from.number("callbackAttempts").value_or(0); made > 0) {
    task.delivery = DeliveryNote{.attempts = made};
  }
  if (const auto metadata = from.json("metadata"); metadata != "{}") task.metadata = metadata;
  if (is_final(task.state)) {
    const auto ended = from.moment(task.state == TaskState::completed ? "completedAt" : "failedAt");
    task.finished_at = ended.value_or(task.updated_at);
  }
  if (task.state == TaskState::retrying) {
    task.start = from.moment("nextRetryAt").value_or(task.updated_at);
  }
  return task;
}

using Places = std::map<TaskId, std::size_t>;

struct Line {
  std::string_view name;
  std::vector<std::size_t> tasks;  // indexes, first in the queue first
};

std::unexpected<Error> wrong(std::string message) {
  return fail(ErrorCode::invalid, std::move(message));
}

Result<Line> read_line(std::string_view name, const value& ids, const Places& places) {
  Line line{.name = name};
  if (!ids.is_array()) return wrong(fmt::format("queues.{} must be a list of ids", name));
  for (std::size_t i = 0; i < ids.get_array().size(); ++i) {
    const value& each = ids.get_array()[i];
    const auto place = fmt::format("queues.{}[{}]", name, i);
    if (!each.is_string()) return wrong(fmt::format("{} must be a task's id", place));
    const std::string_view text = each.get_string();
    const auto id = task_id_from_text(text);
    if (!id) return wrong(fmt::format("{}: {}", place, id.error().message));
    const auto found = places.find(*id);
    if (found == places.end()) {
      return wrong(
          fmt::format("{} names {}, which is not among the tasks; remove it from the line, "
                      "or add the task",
                      place, in_quotes(text)));
    }
    line.tasks.push_back(found->second);
  }
  return line;
}

Result<std::vector<Line>> read_lines(const value& queues, const Places& places) {
  if (!queues.is_object()) return wrong("queues must be an object with high, medium and low");
  std::vector<Line> lines;
  for (const auto& [key, ids] : queues.get_object()) {
    const std::string_view name = key;
    if (name != "high" && name != "medium" && name != "low") {
      return wrong(
          fmt::format("queues.{} is not known; known are high, medium, low", in_quotes(name)));
    }
    auto line = read_line(name, ids, places);
    if (!line) return std::unexpected(std::move(line.error()));
    lines.push_back(std::move(*line));
  }
  return lines;
}

// Gives the tasks of an array their places in the queue: equal or later moments from front to back.
void stand_in_line(const Line& line, std::vector<PlacedTask>& tasks, std::vector<bool>& in_line,
                   std::vector<std::size_t>& order) {
  TimePoint last = TimePoint::min();
  for (const std::size_t at : line.tasks) {
    Task& task = tasks[at].task;
    const bool over = task.state == TaskState::completed || task.state == TaskState::cancelled ||
                      task.state == TaskState::dead;
    if (over || in_line[at]) continue;
    in_line[at] = true;
    order.push_back(at);
    task.state = TaskState::queued;
    task.finished_at.reset();
    task.priority = *priority_from(line.name, PriorityScale::named);
    last = std::max(last, task.created_at);
    task.start = last;
  }
}

Result<std::vector<PlacedTask>> read_tasks(const value& list, const std::string& queue,
                                           TimePoint now) {
  if (!list.is_array()) return wrong("tasks must be a list");
  std::vector<PlacedTask> tasks;
  for (std::size_t i = 0; i < list.get_array().size(); ++i) {
    const value& each = list.get_array()[i];
    std::string place = fmt::format("tasks[{}]", i);
    if (!each.is_object()) return wrong(place + " must be an object");
    if (const value* id = each.get_object().if_contains("id"); id != nullptr && id->is_string()) {
      place += fmt::format(", {}", in_quotes(std::string_view(id->get_string())));
    }
    Fields fields(each.get_object());
    Task task = task_of(fields, queue, now);
    if (!fields.wrong().empty()) return wrong(fmt::format("{}: {}", place, fields.wrong()));
    tasks.push_back({.task = std::move(task), .place = std::move(place)});
  }
  return tasks;
}

Result<std::vector<PlacedTask>> read_state(const value& state, const std::string& queue,
                                           TimePoint now) {
  const object& file = state.get_object();
  for (const auto& [key, unused] : file) {
    if (key == "queues" || key == "tasks") continue;
    return wrong(fmt::format("{} is not known; known are queues and tasks",
                             in_quotes(std::string_view(key))));
  }
  if (!file.contains("queues")) return wrong("queues is missing");
  if (!file.contains("tasks")) return wrong("tasks is missing");
  auto tasks = read_tasks(file.at("tasks"), queue, now);
  if (!tasks) return tasks;
  Places places;
  for (std::size_t i = 0; i < tasks->size(); ++i) {
    if (!places.emplace((*tasks)[i].task.id, i).second) {
      return wrong(fmt::format("{} is there twice", (*tasks)[i].place));
    }
  }
  const auto lines = read_lines(file.at("queues"), places);
  if (!lines) return std::unexpected(lines.error());

  std::vector<bool> in_line(tasks->size());
  std::vector<std::size_t> order;
  for (const Line& line : *lines) stand_in_line(line, *tasks, in_line, order);
  std::vector<PlacedTask> result;
  for (std::size_t i = 0; i < tasks->size(); ++i) {
    if (in_line[i]) continue;
    // In no array, so the old system would never have run it. Here it is taken first.
    result.push_back(std::move((*tasks)[i]));
  }
  for (const std::size_t at : order) result.push_back(std::move((*tasks)[at]));
  return result;
}

}  // namespace

Result<std::vector<PlacedTask>> read_queue_state(LineReader& in, const std::string& queue,
                                                 TimePoint now) {
  const auto text = in.rest(largest_document);
  if (!text) return std::unexpected(text.error());
  std::string_view json = *text;
  if (json.starts_with(byte_order_mark)) json.remove_prefix(byte_order_mark.size());
  const auto state = wire::parse(json);
  if (!state) return std::unexpected(state.error());
  return read_state(*state, queue, now);
}

}  // namespace millrace::transfer
