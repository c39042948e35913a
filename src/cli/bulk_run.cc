#include "cli/bulk_run.h"

#include <fmt/format.h>

#include "api/wire/bulk.h"
#include "cli/display.h"
#include "core/quote.h"
#include "core/transition.h"
#include "core/uuid.h"
#include "process/signals.h"

namespace millrace::cli {
namespace {

// Between two updates of the progress.
constexpr Duration look_again(200);
constexpr Exit interrupted = static_cast<Exit>(128 + SIGINT);

std::string_view doing_of(BulkAction action) {
  switch (action) {
    case BulkAction::cancel:
      return "cancelling";
    case BulkAction::retry:
      return "retrying";
    case BulkAction::remove:
      return "removing";
    case BulkAction::priority:
      return "changing";
    case BulkAction::move:
      return "moving";
  }
  return "changing";
}

// "cancel 12 tasks", "give 3 tasks the priority 7", "move 1 task to slow".
std::string intention(const BulkRequest& request, std::uint64_t count) {
  const std::string tasks = counted(count, "task", "tasks");
  if (request.action == BulkAction::priority) {
    return fmt::format("give {} the priority {}", tasks, int{request.priority.value_or(0)});
  }
  if (request.action == BulkAction::move) {
    const auto* queue = request.to ? std::get_if<std::string>(&*request.to) : nullptr;
    return fmt::format("move {} to {}", tasks, queue != nullptr ? printable(*queue) : "there");
  }
  return fmt::format("{} {}", name_of(request.action), tasks);
}

std::string first_up(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

Exit tell_end(const BulkOperation& operation, Session& session) {
  Console& console = session.console();
  const BulkProgress& progress = operation.progress;
  if (session.json()) session.print_json(wire::view_of(operation));
  if (operation.state != TaskState::completed) {
    return console.fail(
        {ErrorCode::internal,
         fmt::format("the operation was {} after {}{}", name_of(operation.state),
                     counted(progress.done, "task", "tasks"),
                     operation.error ? ": " + printable(operation.error->message) : "")});
  }
  if (session.json()) return progress.refused == 0 ? Exit::ok : Exit::failed;
  console.say(fmt::format("{} {}", done_of(operation.request.action),
                          counted(progress.done, "task", "tasks")));
  if (progress.refused == 0) return Exit::ok;
  console.warn(fmt::format("{} refused; the first: {}", counted(progress.refused, "task", "tasks"),
                           printable(progress.refusal)));
  return Exit::failed;
}

// Until the operation ends; nullopt: the user left.
Result<std::optional<BulkOperation>> followed(BulkOperation operation, Session& session) {
  Signals signals;
  while (!is_final(operation.state)) {
    session.console().progress(
        operation.request.dry_run ? "counting" : doing_of(operation.request.action),
        operation.progress.looked_at, operation.progress.about);
    if (signals.wait(Duration{}) == SignalKind::stop) return std::nullopt;
    auto now = session.ask<BulkOperation>(&HttpBroker::bulk_operation, operation.id, look_again);
    if (!now) return std::unexpected(std::move(now.error()));
    operation = std::move(*now);
  }
  return operation;
}

// How many tasks match; nullopt: `exit` says why it ends here.
std::optional<std::uint64_t> count(const BulkRun& run, Session& session, Exit& exit) {
  BulkRequest request = run.request;
  request.dry_run = true;
  auto started = session.ask<BulkOperation>(&HttpBroker::start_bulk, request);
  const auto* queue =
      request.filter.queue ? std::get_if<std::string>(&*request.filter.queue) : nullptr;
  if (!started) {
    exit = session.fail(started.error(), queue != nullptr ? *queue : "");
    return std::nullopt;
  }
  const TaskId id = started->id;
  const auto ended = followed(std::move(*started), session);
  if (!ended) {
    exit = session.fail(ended.error());
    return std::nullopt;
  }
  if (!*ended) {
    // The user left, so the count is not needed any more.
    session.ask<BulkOperation>(&HttpBroker::cancel_bulk, id, std::string("the caller left"));
    session.console().say("Nothing was changed.");
    exit = interrupted;
    return std::nullopt;
  }
  if ((*ended)->state != TaskState::completed) {
    exit = tell_end(**ended, session);
    return std::nullopt;
  }
  if (run.dry_run && session.json()) session.print_json(wire::view_of(**ended));
  return (*ended)->progress.matched;
}

// Why it may not continue.
std::optional<Exit> refused(const BulkRun& run, std::uint64_t matched, Session& session) {
  if (run.yes) return std::nullopt;
  const std::string what = intention(run.request, matched);
  return unless_agreed(session.with(), session.console(), first_up(what) + "?",
                       fmt::format("this would {}", what));
}

}  // namespace

std::string_view done_of(BulkAction action) {
  switch (action) {
    case BulkAction::cancel:
      return "cancelled";
    case BulkAction::retry:
      return "queued again";
    case BulkAction::remove:
      return "removed";
    case BulkAction::priority:
      return "changed";
    case BulkAction::move:
      return "moved";
  }
  return "changed";
}

Exit watch_bulk(BulkOperation operation, Session& session) {
  const std::string id = to_text(operation.id.value);
  const auto ended = followed(std::move(operation), session);
  if (!ended) {
    const Exit exit = session.fail(ended.error());
    session.console().say(
        fmt::format("The operation continues inside the server: millrace bulk show {}{}", id,
                    session.server_flag()));
    return exit;
  }
  if (*ended) return tell_end(**ended, session);
  session.console().say(
      fmt::format("It continues inside the server.\n"
                  "  millrace bulk show {0}{1}    how far it is\n"
                  "  millrace bulk cancel {0}{1}  stops it",
                  id, session.server_flag()));
  return interrupted;
}

Exit run_bulk(const BulkRun& run, Session& session) {
  // With --yes the count is not needed.
  if (run.dry_run || !run.yes) {
    Exit exit = Exit::ok;
    const auto matched = count(run, session, exit);
    if (!matched) return exit;
    if (run.dry_run) {
      if (!session.json()) {
        session.console().say(fmt::format("would {}", intention(run.request, *matched)));
      }
      return Exit::ok;
    }
    if (*matched == 0) {
      session.console().say("No task matches.");
      return Exit::ok;
    }
    if (const auto no = refused(run, *matched, session)) return *no;
  }
  auto started = session.ask<BulkOperation>(&HttpBroker::start_bulk, run.request);
  if (!started) {
    const auto* queue =
        run.request.filter.queue ? std::get_if<std::string>(&*run.request.filter.queue) : nullptr;
    return session.fail(started.error(), queue != nullptr ? *queue : "");
  }
  return watch_bulk(std::move(*started), session);
}

}  // namespace millrace::cli
