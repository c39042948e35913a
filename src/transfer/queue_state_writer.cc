#include "transfer/queue_state_writer.h"

#include <fmt/format.h>
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "api/wire/tree.h"
#include "core/priority.h"
#include "core/quote.h"
#include "core/retry.h"
#include "core/time_text.h"
#include "core/transition.h"
#include "core/utf8.h"
#include "core/uuid.h"
#include "transfer/line.h"
#include "transfer/line_reader.h"

namespace millrace::transfer {
namespace {

constexpr std::string_view null = "null";

std::string string_json(std::string_view text) {
  return text.empty() ? std::string(null) : wire::to_text(boost::json::value(text));
}

// The bytes as they are where they are JSON, to the digit; otherwise a string of them.
std::string any_json(std::string_view text, std::string_view if_empty) {
  if (text.empty()) return std::string(if_empty);
  return wire::parse(text) ? std::string(text) : wire::to_text(boost::json::value(text));
}

std::string moment_json(std::optional<TimePoint> moment) {
  return moment ? string_json(format_time(*moment)) : std::string(null);
}

std::string id_json(const TaskId& id) {
  return fmt::format("\"task-{}\"", to_text(id.value));
}

std::string error_json(const std::optional<TaskError>& error) {
  if (!error) return std::string(null);
  std::string json =
      fmt::format(R"({{"message":{},"code":{})", wire::to_text(boost::json::value(error->message)),
                  string_json(error->code));
  if (!error->details.empty()) json += ",\"details\":" + any_json(error->details, null);
  if (!error->stack.empty()) json += ",\"stack\":" + string_json(error->stack);
  return json + "}";
}

// A wait for a moment has one name in the document.
std::string_view status_of(const Task& task) {
  return name_of(task.state == TaskState::delayed ? TaskState::retrying : task.state);
}

std::string max_retries_json(const Task& task, const QueueSettings& queue) {
  const auto type = std::ranges::find(queue.types, task.type, &TypePolicy::type);
  const RetryPolicy policy =
      resolve({}, queue.retry, type == queue.types.end() ? nullptr : &type->retry,
              task.retry ? &*task.retry : nullptr);
  return policy.max_retries == unlimited ? std::string(null) : std::to_string(policy.max_retries);
}

std::string task_json(const Task& task, const QueueSettings& queue) {
  const bool waits = task.state == TaskState::retrying || task.state == TaskState::delayed;
  const bool failed = task.state == TaskState::failed || task.state == TaskState::dead;
  std::optional<TimePoint> failed_at;
  if (task.error) failed_at = task.error->failed_at;
  if (failed) failed_at = task.finished_at;
  const auto completed_at = task.state == TaskState::completed ? task.finished_at : std::nullopt;
  std::string json = "{";
  const auto add = [&](std::string_view key, std::string_view value) {
    fmt::format_to(std::back_inserter(json), "{}\"{}\":{}", json.size() == 1 ? "" : ",", key,
                   value);
  };
  add("id", id_json(task.id));
  add("type", string_json(task.type));
  add("status", string_json(status_of(task)));
  add("priority", string_json(priority_text(task.priority, PriorityScale::named)));
  add("createdAt", moment_json(task.created_at));
  add("updatedAt", moment_json(task.updated_at));
  add("startedAt", moment_json(task.started_at));
  add("completedAt", moment_json(completed_at));
  add("failedAt", moment_json(failed_at));
  add("clientId", string_json(task.client_id));
  add("requestId", string_json(task.request_id));
  add("payload", any_json(task.payload, null));
  add("result", any_json(task.result, null));
  add("error", error_json(task.error));
  add("lastError", string_json(task.error ? task.error->message : ""));
  add("retries", std::to_string(task.counters.retries));
  add("maxRetries", max_retries_json(task, queue));
  add("nextRetryAt", moment_json(waits ? std::optional(task.start) : std::nullopt));
  add("callbackUrl", string_json(task.callback ? task.callback->url : ""));
  add("callbackAttempts", std::to_string(task.delivery ? task.delivery->attempts : 0));
  add("maxCallbackAttempts", std::to_string(task.callback.value_or(Callback{}).max_attempts));
  add("metadata", any_json(task.metadata, "{}"));
  return json + "}";
}

// The ids of a line, first in line first.
std::string line_json(std::string_view name, const std::vector<Task>& tasks) {
  std::vector<const Task*> line;
  for (const Task& task : tasks) {
    const bool here = task.state == TaskState::queued &&
                      priority_text(task.priority, PriorityScale::named) == name;
    if (here) line.push_back(&task);
  }
  std::ranges::stable_sort(line, {}, [](const Task* task) {
    return std::tuple(-static_cast<int>(task->priority), task->start);
  });
  std::string json = fmt::format("\"{}\":[", name);
  for (const Task* task : line) json += (json.back() == '[' ? "" : ",") + id_json(task->id);
  return json + "]";
}

struct Contents {
  std::map<std::string, QueueSettings> queues;
  std::map<std::string, std::vector<Task>> tasks;  // of a queue, by arrival
  std::vector<std::string> left_out;
};

void take_in(Line line, Contents& contents) {
  if (auto* queue = std::get_if<Queue>(&line)) {
    contents.queues[queue->settings.name] = std::move(queue->settings);
  } else if (auto* task = std::get_if<Task>(&line)) {
    if (!task->queue.starts_with('$')) contents.tasks[task->queue].push_back(std::move(*task));
  } else if (auto* end = std::get_if<End>(&line)) {
    contents.left_out = std::move(end->left_out);
  }
}

Result<Contents> read_export(std::istream& in) {
  LineReader reader(in);
  Contents contents;
  bool newer = false;
  while (true) {
    const auto text = reader.next();
    if (!text) return std::unexpected(text.error());
    if (!*text) return contents;
    auto line = read_line(**text, newer);
    if (!line) {
      return fail(line.error().code,
                  fmt::format("line {}: {}", reader.line(), line.error().message));
    }
    if (const auto* header = std::get_if<Header>(&*line)) newer = header->newer;
    take_in(std::move(*line), contents);
  }
}

Result<std::string> only_queue(const Contents& contents) {
  if (contents.tasks.size() > 1) {
    return fail(ErrorCode::invalid,
                fmt::format("there are tasks in {} queues, and a queue-state.json holds one; name "
                            "it with --queue",
                            contents.tasks.size()));
  }
  return contents.tasks.empty() ? std::string() : contents.tasks.begin()->first;
}

Result<void> check(const std::vector<Task>& tasks) {
  for (const Task& task : tasks) {
    if (is_utf8(task.payload) && is_utf8(task.result)) continue;
    return fail(ErrorCode::invalid,
                fmt::format("task {} holds bytes that are not text, for which a queue-state.json "
                            "has no place; export it as lines",
                            to_text(task.id.value)));
  }
  return {};
}

}  // namespace

std::string indented(std::string_view json) {
  std::string text;
  std::size_t depth = 0;
  const auto begin_line = [&] { text += "\n" + std::string(2 * depth, ' '); };
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      text += c;
      if (c == '\\') text += json[++i];
      in_string = c != '"';
    } else if (c == '{' || c == '[') {
      const std::size_t next = json.find_first_not_of(" \t\r\n", i + 1);
      text += c;
      if (json[next] == '}' || json[next] == ']') {
        text += json[i = next];
      } else {
        ++depth, begin_line();
      }
    } else if (c == '}' || c == ']') {
      --depth, begin_line(), text += c;
    } else if (c == ',') {
      text += c, begin_line();
    } else if (c == ':') {
      text += ": ";
    } else if (c != ' ' && c != '\t' && c != '\r' && c != '\n') {
      text += c;
      in_string = c == '"';
    }
  }
  return text;
}

Result<ExportReport> write_queue_state(std::istream& lines, std::ostream& out,
                                       const std::string& queue) {
  auto contents = read_export(lines);
  if (!contents) return std::unexpected(std::move(contents.error()));
  auto name = queue.empty() ? only_queue(*contents) : Result<std::string>(queue);
  if (!name) return std::unexpected(std::move(name.error()));
  if (!queue.empty() && !contents->queues.contains(queue)) {
    return fail(ErrorCode::not_found, fmt::format("there is no queue {}", in_quotes(queue)));
  }
  const std::vector<Task>& tasks = contents->tasks[*name];
  if (auto good = check(tasks); !good) return std::unexpected(std::move(good.error()));
  std::string json = "{\"queues\":{";
  for (const std::string_view line : {"high", "medium", "low"}) {
    json += (line == "high" ? "" : ",") + line_json(line, tasks);
  }
  json += "},\"tasks\":[";
  for (const Task& task : tasks) {
    json += (json.back() == '[' ? "" : ",") + task_json(task, contents->queues[*name]);
  }
  out << indented(json + "]}") << '\n';
  out.flush();
  if (!out) return fail(ErrorCode::unavailable, "the output cannot be written; is the disk full?");
  return ExportReport{.written = {.queues = name->empty() ? 0U : 1U, .tasks = tasks.size()},
                      .left_out = std::move(contents->left_out)};
}

}  // namespace millrace::transfer
