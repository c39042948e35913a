// `millrace tasks cancel|retry|remove|priority|move` by filter, and `millrace bulk` to show such
// operations.
#include <fmt/format.h>
#include <functional>

#include "api/wire/bulk.h"
#include "cli/ages.h"
#include "cli/bulk_run.h"
#include "cli/commands.h"
#include "cli/display.h"
#include "cli/flag_values.h"
#include "cli/session.h"
#include "cli/task_filter.h"
#include "cli/task_view.h"
#include "core/time_text.h"
#include "core/transition.h"
#include "core/uuid.h"

namespace millrace::cli {
namespace {

// How long to wait for a cancelled operation to stop: a page usually takes less.
constexpr Duration page_time = std::chrono::seconds(20);

struct Options {
  ServerOptions server = {};
  TaskFilter filter = {};
  std::string priority = {};
  std::string to = {};
  std::string reason = {};
  bool all = false;
  bool dry_run = false;
  bool yes = false;
  std::string id = {};
};

bool filtered(const BulkFilter& filter) {
  return filter != BulkFilter{};
}

// The server refuses an empty filter, so --all names the states. A move could also take dead
// letters and cancelled tasks; here only if the user names those states.
void say_states(BulkRequest& request, bool all) {
  if (!all && request.action != BulkAction::move) return;
  auto states = states_of(request);
  if (request.action == BulkAction::move) std::erase_if(states, std::not_fn(is_waiting));
  request.filter.states = std::move(states);
}

Result<BulkRequest> request_of(BulkAction action, const Options& options, TimePoint now) {
  auto list = cli::request_of(options.filter, now);
  if (!list) return std::unexpected(std::move(list.error()));
  BulkRequest request{.action = action,
                      .filter = {.queue = std::move(list->queue),
                                 .states = std::move(list->states),
                                 .type = std::move(list->type),
                                 .client_id = std::move(list->client_id),
                                 .group = std::move(list->group),
                                 .tag = std::move(list->tag),
                                 .priority = list->priority,
                                 .created_from = list->created_from,
                                 .created_until = list->created_until},
                      .reason = options.reason};
  if (filtered(request.filter) == options.all) {
    return fail(ErrorCode::invalid, options.all
                                        ? "--all and a filter exclude each other; give one"
                                        : "which tasks? give a filter (--queue, --state, ...) or "
                                          "--all");
  }
  if (action == BulkAction::priority) {
    const auto priority = priority_of("PRIORITY", options.priority);
    if (!priority) return std::unexpected(priority.error());
    request.priority = *priority;
  }
  if (action == BulkAction::move) request.to = queue_of(options.to);
  if (request.filter.states.empty()) say_states(request, options.all);
  return request;
}

template <BulkAction action>
Exit change(const Options& options, Session& session) {
  auto request = request_of(action, options, session.now());
  if (!request) {
    return misused(request.error(), session.console(), fmt::format("tasks {}", name_of(action)));
  }
  return run_bulk({.request = std::move(*request), .dry_run = options.dry_run, .yes = options.yes},
                  session);
}

template <BulkAction action>
Command& add(Command& tasks, const std::shared_ptr<Options>& options, const char* about) {
  auto& command = tasks.add(std::string(name_of(action)), about);
  if (action == BulkAction::priority) {
    command.word("PRIORITY", options->priority, "0 to 9, high, medium or low");
  }
  if (action == BulkAction::move) command.word("QUEUE", options->to, "Where to");
  takes_filter(command, options->filter);
  command.flag("--all", options->all, "All tasks, in all queues")
      .flag("--dry-run", options->dry_run, "Only print how many")
      .flag("-y,--yes", options->yes, "Do not ask");
  takes_session(command, options->server);
  command
      .explain(
          "Counts the tasks and asks first; without a terminal it needs --yes. The operation runs\n"
          "inside the server and survives restarts: Ctrl-C only stops watching it, and\n"
          "`millrace bulk` shows it.")
      .does(in_session(options, change<action>));
  return command;
}

// ---- bulk ----

Result<TaskId> id_of(const std::string& text) {
  const auto task = task_of(text);
  if (task && std::holds_alternative<TaskId>(*task)) return std::get<TaskId>(*task);
  return fail(ErrorCode::invalid, "an operation is named by its id, a UUID");
}

std::string outcome_of(const BulkOperation& operation) {
  const BulkProgress& progress = operation.progress;
  if (operation.request.dry_run) return fmt::format("{} match", grouped(progress.matched));
  return progress.refused == 0 ? fmt::format("{} done", grouped(progress.done))
                               : fmt::format("{} done, {} refused", grouped(progress.done),
                                             grouped(progress.refused));
}

std::string name_of_queue(const QueueRef& queue) {
  if (const auto* name = std::get_if<std::string>(&queue)) return printable(*name);
  if (const auto* number = std::get_if<QueueNumber>(&queue)) return std::to_string(number->value);
  return to_text(std::get<Uuid>(queue));
}

// "move to slow (dry run)".
std::string action_of(const BulkRequest& request) {
  std::string text(name_of(request.action));
  if (request.to) text += " to " + name_of_queue(*request.to);
  if (request.priority) text += fmt::format(" {}", int{*request.priority});
  if (request.dry_run) text += " (dry run)";
  return text;
}

// "queue emails, type welcome".
std::string which_of(const BulkFilter& filter) {
  std::string text;
  const auto add = [&text](std::string_view what, const std::string& value) {
    fmt::format_to(std::back_inserter(text), "{}{} {}", text.empty() ? "" : ", ", what, value);
  };
  if (filter.queue) add("queue", name_of_queue(*filter.queue));
  std::string states;
  for (const TaskState state : filter.states) {
    states += states.empty() ? "" : "|";
    states += name_of(state);
  }
  if (states == "created|queued|delayed|retrying") states = "waiting";
  if (!states.empty()) add("state", states);
  if (filter.type) add("type", printable(*filter.type));
  if (filter.client_id) add("client", printable(*filter.client_id));
  if (filter.group) add("group", printable(*filter.group));
  if (filter.tag) add("tag", printable(*filter.tag));
  if (filter.priority) add("priority", std::to_string(*filter.priority));
  if (filter.created_from) add("since", format_time(*filter.created_from));
  if (filter.created_until) add("until", format_time(*filter.created_until));
  return text;
}

std::string share_of(const BulkProgress& progress) {
  if (progress.about == 0) return "";
  return fmt::format("{} %",
                     std::min<std::uint64_t>(100, progress.looked_at * 100 / progress.about));
}

Exit list(const Options&, Session& session) {
  constexpr std::uint32_t most = 50;
  const auto page =
      session.ask<wire::BulkPage>(&HttpBroker::bulk_operations, std::optional<TaskNumber>{}, most);
  if (!page) return session.fail(page.error());
  if (session.json()) {
    session.print_json(wire::page_of(*page));
    return Exit::ok;
  }
  if (page->operations.empty()) {
    session.console().say(
        "There are no operations; `millrace tasks cancel --help` shows how to start one.");
    return Exit::ok;
  }
  Table table({{"ID"},
               {"ACTION", false, 6},
               {"STATE"},
               {"LOOKED AT", true},
               {"OUTCOME", false, 8},
               {"ASKED"},
               {"TASKS", false, 8}});
  for (const BulkOperation& each : page->operations) {
    table.add({to_text(each.id.value), action_of(each.request),
               Cell(name_of(each.state), paint_of(each.state)),
               is_final(each.state) ? grouped(each.progress.looked_at) : share_of(each.progress),
               outcome_of(each), age(each.created_at, session.now()),
               which_of(each.request.filter)});
  }
  session.print(table);
  return Exit::ok;
}

Exit show(const Options& options, Session& session) {
  const auto id = id_of(options.id);
  if (!id) return misused(id.error(), session.console(), "bulk show");
  const auto found = session.ask<BulkOperation>(&HttpBroker::bulk_operation, *id, Duration{});
  if (!found) return session.fail_missing(found.error(), "`millrace bulk` lists all operations.");
  if (session.json()) {
    session.print_json(wire::view_of(*found));
    return Exit::ok;
  }
  const TimePoint now = session.now();
  const BulkProgress& progress = found->progress;
  Sheet sheet;
  sheet.add("operation", to_text(found->id.value));
  sheet.add("action", action_of(found->request));
  sheet.add("tasks", which_of(found->request.filter));
  if (!found->request.reason.empty()) sheet.add("reason", printable(found->request.reason));
  sheet.add("state", Cell(name_of(found->state), paint_of(found->state)));
  if (found->cancel_requested) sheet.add("cancel", "requested");
  sheet.add("asked", moment_and_age(found->created_at, now));
  if (found->finished_at) sheet.add("ended", moment_and_age(*found->finished_at, now));
  sheet.add("looked at",
            fmt::format("{} of about {}", grouped(progress.looked_at), grouped(progress.about)));
  sheet.add("matched", grouped(progress.matched));
  sheet.add("done", grouped(progress.done));
  if (progress.refused != 0) {
    sheet.add("refused",
              fmt::format("{}; the first: {}", grouped(progress.refused), progress.refusal));
  }
  if (found->error) sheet.add("error", Cell(found->error->message, Paint::bad));
  session.print(sheet);
  return Exit::ok;
}

Exit wait(const Options& options, Session& session) {
  const auto id = id_of(options.id);
  if (!id) return misused(id.error(), session.console(), "bulk wait");
  auto found = session.ask<BulkOperation>(&HttpBroker::bulk_operation, *id, Duration{});
  if (!found) return session.fail_missing(found.error(), "`millrace bulk` lists all operations.");
  return watch_bulk(std::move(*found), session);
}

Exit cancel(const Options& options, Session& session) {
  const auto id = id_of(options.id);
  if (!id) return misused(id.error(), session.console(), "bulk cancel");
  auto found = session.ask<BulkOperation>(&HttpBroker::cancel_bulk, *id, options.reason);
  if (!found) return session.fail_missing(found.error(), "`millrace bulk` lists all operations.");
  // The operation ends after its current page; only then the final count is known.
  if (!is_final(found->state)) {
    auto ended = session.ask<BulkOperation>(&HttpBroker::bulk_operation, *id, page_time);
    if (ended) found = std::move(ended);
  }
  if (session.json()) {
    session.print_json(wire::view_of(*found));
  } else if (is_final(found->state)) {
    session.console().say(
        fmt::format("It has stopped; {}, and they are not undone.", outcome_of(*found)));
  } else {
    session.console().say(
        fmt::format("It stops after its current page; at least {}, and they are not undone.",
                    outcome_of(*found)));
  }
  return Exit::ok;
}

Command& add(Command& bulk, const std::shared_ptr<Options>& options, const char* name,
             const char* about, Exit (*doing)(const Options&, Session&)) {
  auto& command = bulk.add(name, about);
  command.word("ID", options->id, "The operation's id");
  takes_session(command, options->server);
  command.example(fmt::format("millrace bulk {} 019a0000-0000-7000-8000-000000000000", name))
      .does(in_session(options, doing));
  return command;
}

}  // namespace

void add_bulk_changes(Command& tasks) {
  auto options = std::make_shared<Options>();
  add<BulkAction::cancel>(tasks, options, "Cancel tasks that wait or run")
      .value("--reason", options->reason, "TEXT", "The reason; kept with the tasks")
      .example("millrace tasks cancel --tag newsletter --dry-run", "only prints how many")
      .example("millrace tasks cancel --queue emails --type welcome --reason 'sent by hand'");
  add<BulkAction::retry>(tasks, options,
                         "Retry dead letters; cancelled tasks only with --state cancelled")
      .example("millrace tasks retry --queue emails --since 1h")
      .example("millrace tasks retry --state cancelled --client shop --yes");
  add<BulkAction::remove>(tasks, options, "Remove tasks that are not running, permanently")
      .example("millrace tasks remove --queue emails --state completed --until 7d");
  add<BulkAction::priority>(tasks, options, "Give waiting tasks another priority")
      .example("millrace tasks priority high --queue emails --client shop");
  add<BulkAction::move>(tasks, options,
                        "Move waiting tasks to another queue; others only with --state")
      .example("millrace tasks move slow --queue emails --priority low")
      .example("millrace tasks move broken --queue emails --state failed,dead", "dead letters");
}

void add_bulk(Command& millrace) {
  auto options = std::make_shared<Options>();
  auto& bulk = millrace.add("bulk", "Show operations on many tasks and their progress");
  takes_session(bulk, options->server);
  bulk.explain("`millrace tasks cancel`, retry, remove, priority and move start them.")
      .example("millrace bulk")
      .example("millrace bulk cancel 019a0000-0000-7000-8000-000000000000")
      .does(in_session(options, list));
  add(bulk, options, "show", "Show the progress of an operation", show);
  add(bulk, options, "wait", "Wait until it ends", wait);
  add(bulk, options, "cancel", "Stop an operation; what is done is not undone", cancel)
      .value("--reason", options->reason, "TEXT", "Why");
}

}  // namespace millrace::cli
