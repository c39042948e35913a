#include "cli/task_view.h"

#include <fmt/format.h>
#include <algorithm>
#include <thread>
#include <utility>

#include "api/wire/views.h"
#include "cli/ages.h"
#include "cli/display.h"
#include "core/time_text.h"
#include "core/transition.h"
#include "core/utf8.h"
#include "core/uuid.h"

namespace millrace::cli {
namespace {

// Most bytes shown of a payload or a result; --json and `task result` show all.
constexpr std::size_t most_shown = 4096;

constexpr Duration longest_wait = std::chrono::days(3653);
constexpr Duration again_after = std::chrono::milliseconds(500);  // while a server does not answer

// What matters about a task in its state.
std::string remark_on(const Task& task, TimePoint now) {
  switch (task.state) {
    case TaskState::created:
      if (!task.waits_for.empty()) {
        return "waits for " + counted(task.waits_for.size(), "task", "tasks");
      }
      if (!is_parked(task)) return "held";
      return task.start == never ? "parked" : "parked, released " + age(task.start, now);
    case TaskState::queued:
      return "ready " + age(task.start, now);
    case TaskState::delayed:
      return "starts " + age(task.start, now);
    case TaskState::retrying:
      return fmt::format("again {}: {}", age(task.start, now),
                         task.error ? task.error->message : "");
    case TaskState::processing: {
      std::string text = task.started_at ? "started " + age(*task.started_at, now) : "";
      if (task.progress > 0) text += fmt::format(", {:.0f} %", task.progress);
      if (task.cancel_requested) text += ", cancel requested";
      return text + (task.worker.empty() ? "" : " by " + task.worker);
    }
    case TaskState::completed:
      return task.finished_at && task.started_at
                 ? "ran " + brief(*task.finished_at - *task.started_at)
                 : "";
    case TaskState::failed:
    case TaskState::dead:
    case TaskState::cancelled:
      return task.error ? fmt::format("{}: {}", task.error->code, task.error->message) : "";
  }
  return {};
}

// Text of several lines, each made harmless and indented.
std::string body_of(std::string_view bytes) {
  if (!is_utf8(bytes)) {
    return fmt::format("  {} that are not text; --json has them in base64\n",
                       counted(bytes.size(), "byte", "bytes"));
  }
  std::string out;
  std::string_view left = bytes.substr(0, most_shown);
  while (!left.empty()) {
    const std::string_view line = left.substr(0, left.find('\n'));
    out += fmt::format("  {}\n", printable(line));
    left.remove_prefix(std::min(left.size(), line.size() + 1));
  }
  if (bytes.size() > most_shown) {
    out += fmt::format("  ... and {} more; --json has all of them\n",
                       counted(bytes.size() - most_shown, "byte", "bytes"));
  }
  return out;
}

std::string headline(std::string_view text, const Look& look) {
  return fmt::format("\n{}\n", painted(text, Paint::title, look));
}

std::string joined(const std::vector<std::string>& texts) {
  return fmt::format("{}", fmt::join(texts, ", "));
}

void add_times(Sheet& sheet, const Task& task, TimePoint now) {
  const auto moment = [&](const char* name, const std::optional<TimePoint>& at) {
    if (at) sheet.add(name, moment_and_age(*at, now));
  };
  moment("put", task.created_at);
  if (!is_parked(task)) moment("ready", task.start);
  if (is_parked(task) && task.start != never) moment("released", task.start);
  moment("start by", task.start_by);
  moment("started", task.started_at);
  moment("lease until", task.lease_until);
  moment("ended", task.finished_at);
  if (task.started_at && task.finished_at) {
    sheet.add("ran", brief(*task.finished_at - *task.started_at));
  }
}

void add_policy(Sheet& sheet, const Task& task) {
  if (task.timeout) sheet.add("timeout", format_duration(*task.timeout));
  if (task.keep_for) sheet.add("keep for", format_duration(*task.keep_for));
  const auto keep = [&](const char* name, const std::optional<Keep>& rule) {
    if (rule && rule->for_time) sheet.add(name, format_duration(*rule->for_time));
  };
  keep("keep completed", task.keep_completed), keep("keep dead", task.keep_dead);
  if (task.retry && task.retry->max_retries) {
    sheet.add("retries allowed", *task.retry->max_retries == unlimited
                                     ? "unlimited"
                                     : fmt::to_string(*task.retry->max_retries));
  }
  if (task.unique) sheet.add("unique key", task.unique->key);
  if (task.callback) {
    sheet.add("callback", task.callback->url);
    if (task.delivery) {
      sheet.add("delivery",
                fmt::format("{}, last: {}", counted(task.delivery->attempts, "attempt", "attempts"),
                            task.delivery->last_status));
    }
  }
}

void add_counters(Sheet& sheet, const Task& task) {
  if (task.counters == Counters{}) return;
  sheet.add("runs", fmt::format("{}, {} retried, {} lost",
                                counted(task.counters.deliveries, "lease", "leases"),
                                task.counters.retries, task.counters.lost));
}

Sheet sheet_of(const Task& task, const std::optional<Explanation>& why, TimePoint now) {
  Sheet sheet;
  sheet.add("task", to_text(task.id.value));
  sheet.add("number", fmt::to_string(task.number.value));
  sheet.add("queue", task.queue);
  sheet.add("type", task.type);
  sheet.add("state", Cell(name_of(task.state), paint_of(task.state)));
  if (why) sheet.add("why", why->sentence);
  if (why && why->estimate) sheet.add("starts about", moment_and_age(*why->estimate, now));
  if (task.cancel_requested) sheet.add("cancel", "requested");
  if (task.progress > 0) sheet.add("progress", fmt::format("{:.0f} %", task.progress));
  sheet.add("priority", fmt::to_string(task.priority));
  sheet.add("worker", task.worker);
  add_times(sheet, task, now);
  add_counters(sheet, task);
  add_policy(sheet, task);
  sheet.add("client", task.client_id);
  sheet.add("request", task.request_id);
  sheet.add("group", task.group);
  if (task.cost != 1) sheet.add("cost", grouped(task.cost));
  sheet.add("tags", joined(task.tags));
  if (!task.parent.value.is_nil()) sheet.add("parent", to_text(task.parent.value));
  if (task.after) {
    sheet.add("after", fmt::format("{}, {} still to end; `task parents` lists them",
                                   counted(task.after->tasks.size(), "task", "tasks"),
                                   task.waits_for.size()));
  }
  sheet.add("metadata", task.metadata);
  return sheet;
}

Table history_of(const Task& task, TimePoint now) {
  Table table({{"STARTED"}, {"RAN", true}, {"ENDED"}, {"WORKER", false, 8}, {"ERROR", false, 12}});
  for (const Attempt& each : task.history) {
    table.add({age(each.started_at, now), brief(each.ended_at - each.started_at),
               name_of(each.event), each.worker,
               each.error_code.empty() ? each.error_message
                                       : each.error_code + ": " + each.error_message});
  }
  return table;
}

std::string text_of(const TaskRef& ref) {
  if (const auto* id = std::get_if<TaskId>(&ref)) return to_text(id->value);
  return fmt::to_string(std::get<TaskNumber>(ref).value);
}

// The task when it has ended or the time is over. Retries while the server is away, for example
// while it restarts.
Result<Task> awaited(Session& session, const TaskRef& ref, Duration wait) {
  const auto steady = [&] {
    return std::chrono::duration_cast<Duration>(session.with().clock.steady());
  };
  const Duration until = steady() + wait;
  bool told = false;
  while (true) {
    auto task = session.ask<Task>(&HttpBroker::await, ref, std::max(Duration{}, until - steady()));
    if (task || task.error().code != ErrorCode::unavailable) return task;
    const Duration left = until - steady();
    if (left <= Duration{}) return task;
    if (!std::exchange(told, true)) {
      session.console().warn(fmt::format("{}; trying again", task.error().message));
    }
    std::this_thread::sleep_for(std::min(left, again_after));
  }
}

}  // namespace

Paint paint_of(TaskState state) {
  switch (state) {
    case TaskState::completed:
      return Paint::good;
    case TaskState::processing:
      return Paint::busy;
    case TaskState::retrying:
      return Paint::warning;
    case TaskState::failed:
    case TaskState::dead:
      return Paint::bad;
    case TaskState::cancelled:
      return Paint::faint;
    default:
      return Paint::none;
  }
}

Table table_of(const std::vector<Task>& tasks, TimePoint now) {
  Table table({{"ID"},
               {"QUEUE", false, 6},
               {"TYPE", false, 4},
               {"STATE"},
               {"PRI", true},
               {"PUT"},
               {"REMARK", false, 8}});
  for (const Task& each : tasks) {
    table.add({to_text(each.id.value), each.queue, each.type,
               Cell(name_of(each.state), paint_of(each.state)), fmt::to_string(each.priority),
               age(each.created_at, now), remark_on(each, now)});
  }
  return table;
}

std::string view_of(const Task& task, const std::optional<Explanation>& why, TimePoint now,
                    const Look& look) {
  std::string out = sheet_of(task, why, now).text(look);
  if (task.error) {
    out += headline("Error", look);
    out += fmt::format("  {}: {}\n", painted(printable(task.error->code), Paint::bad, look),
                       printable(task.error->message));
    if (!task.error->details.empty()) out += body_of(task.error->details);
    if (!task.error->stack.empty()) out += body_of(task.error->stack);
  }
  if (!task.payload.empty()) {
    out += headline(task.content_type.empty()
                        ? "Payload"
                        : fmt::format("Payload ({})", printable(task.content_type)),
                    look);
    out += body_of(task.payload);
  }
  if (!task.result.empty()) out += headline("Result", look) + body_of(task.result);
  if (!task.checkpoint.empty()) out += headline("Checkpoint", look) + body_of(task.checkpoint);
  if (task.answer) out += headline("Answer", look) + body_of(*task.answer);
  if (!task.history.empty()) {
    out += headline("History", look) + history_of(task, now).text(look);
  }
  if (!task.log.empty()) {
    out += headline("Log", look);
    for (const LogLine& each : task.log) {
      out += fmt::format("  {}  {}\n", painted(format_time(each.at), Paint::faint, look),
                         printable(each.text));
    }
  }
  return out;
}

Exit await_end(Session& session, const TaskRef& ref, std::optional<Duration> wait, bool was_there) {
  if (!was_there) {
    // A server that does not answer is reported at once.
    const auto found = session.ask<Task>(&HttpBroker::find, ref);
    if (!found) return session.fail_missing(found.error(), how_to_find);
  }
  const auto task = awaited(session, ref, wait.value_or(longest_wait));
  if (!task && task.error().code == ErrorCode::unavailable) {
    session.fail(task.error());
    session.console().say(fmt::format(
        "The task continues when the server is back; `millrace task wait {}{}` waits again.",
        text_of(ref), session.server_flag()));
    return Exit::unreachable;
  }
  if (!task) return session.fail_missing(task.error(), how_to_find);
  const std::string name = to_text(task->id.value);
  if (!is_final(task->state)) {
    session.console().fail(
        {ErrorCode::unavailable, fmt::format("the task is {} after {}", name_of(task->state),
                                             brief(wait.value_or(longest_wait)))},
        fmt::format("It continues; `millrace task wait {}` waits again.", name));
    return Exit::failed;
  }
  if (session.json()) {
    session.print_json(wire::view_of(*task));
  } else if (!task->result.empty()) {
    session.print_result(task->result);
    if (!session.with().out_terminal && !task->result.ends_with('\n')) session.out() << '\n';
  }
  if (task->state == TaskState::completed) return Exit::ok;
  return session.console().fail(
      {ErrorCode::internal,
       fmt::format("the task ended {}{}", name_of(task->state),
                   task->error ? fmt::format(": {}: {}", printable(task->error->code),
                                             printable(task->error->message))
                               : "")},
      fmt::format("`millrace task show {}` says more.", name));
}

}  // namespace millrace::cli
