// `millrace workers [NAME]`: the workers and what they work on.
#include <fmt/format.h>
#include <algorithm>

#include "api/wire/text_writer.h"
#include "api/wire/views.h"
#include "cli/ages.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "core/quote.h"
#include "core/uuid.h"

namespace millrace::cli {
namespace {

struct Options {
  ServerOptions server = {};
  std::string name = {};
};

using Workers = std::vector<WorkerView>;

std::string busy_of(const WorkerView& worker) {
  if (!worker.report) return "-";
  std::uint32_t busy = 0;
  for (const QueueReport& each : worker.report->queues) busy += each.busy;
  return fmt::format("{}/{}", busy, worker.report->processors);
}

Exit list(const Workers& workers, Session& session) {
  if (workers.empty()) {
    session.console().say(
        "No worker has asked for tasks; `millrace work QUEUE -- COMMAND` starts one.");
    return Exit::ok;
  }
  Table table({{"WORKER", false, 12},
               {"BUSY", true},
               {"HOLDS", true},
               {"TAKEN", true},
               {"SETTLED", true},
               {"SEEN"},
               {"QUEUES", false, 10}});
  for (const WorkerView& each : workers) {
    const bool stopping = each.report && each.report->stopping;
    table.add({each.name, busy_of(each), number_cell(each.holding, Paint::busy),
               number_cell(each.taken), number_cell(each.settled),
               age(each.last_seen, session.now()),
               fmt::format("{}{}", stopping ? "(stopping) " : "", fmt::join(each.queues, ", "))});
  }
  session.print(table);
  return Exit::ok;
}

Exit missing(const std::string& name, const Workers& workers, Session& session) {
  std::vector<std::string_view> names;
  for (const WorkerView& each : workers) names.emplace_back(each.name);
  return session.fail_missing(
      {ErrorCode::not_found, fmt::format("no worker is called {}", in_quotes(name))},
      names.empty() ? "No worker has asked this server for tasks."
                    : all_or_nearest(name, names, "millrace workers"));
}

Exit show(const WorkerView& worker, Session& session) {
  const TimePoint now = session.now();
  Sheet sheet;
  sheet.add("worker", worker.name);
  sheet.add("first seen", moment_and_age(worker.first_seen, now));
  sheet.add("last seen", moment_and_age(worker.last_seen, now));
  sheet.add("taken", grouped(worker.taken));
  sheet.add("settled", grouped(worker.settled));
  sheet.add("holds", grouped(worker.holding));
  sheet.add("queues", fmt::format("{}", fmt::join(worker.queues, ", ")));
  if (worker.report) {
    sheet.add("processors", grouped(worker.report->processors));
    if (worker.report->stopping) sheet.add("state", Cell("stopping", Paint::warning));
  }
  session.print(sheet);
  if (worker.report && !worker.report->queues.empty()) {
    session.out() << '\n';
    Table table({{"QUEUE", false, 10},
                 {"BUSY", true},
                 {"MOST", true},
                 {"DONE", true},
                 {"ERRORS", true},
                 {"RETRIED", true},
                 {"LAST ERROR", false, 12}});
    for (const QueueReport& each : worker.report->queues) {
      table.add({each.queue, fmt::format("{}/{}", each.busy, each.processors), grouped(each.most),
                 number_cell(each.handled), number_cell(each.errors, Paint::bad),
                 number_cell(each.retried, Paint::warning), each.last_error});
    }
    session.print(table);
  }
  if (!worker.tasks.empty()) session.out() << "\nholds\n";
  for (const TaskId& each : worker.tasks) session.out() << "  " << to_text(each.value) << '\n';
  return Exit::ok;
}

Exit workers(const Options& options, Session& session) {
  auto all = session.ask<Workers>(&HttpBroker::workers);
  if (!all) return session.fail(all.error());
  if (options.name.empty()) {
    if (!session.json()) return list(*all, session);
    std::string text;
    wire::TextWriter writer(text);
    wire::append(writer.key("workers"), *all);
    writer.close();
    session.print_json(text);
    return Exit::ok;
  }
  const auto found = std::ranges::find(*all, options.name, &WorkerView::name);
  if (found == all->end()) return missing(options.name, *all, session);
  if (!session.json()) return show(*found, session);
  session.print_json(wire::text_of(*found));
  return Exit::ok;
}

}  // namespace

void add_workers(Command& millrace) {
  auto options = std::make_shared<Options>();
  auto& command = millrace.add("workers", "List workers and what they work on");
  command.maybe_word("WORKER", options->name, "Show everything about this worker");
  takes_session(command, options->server);
  command
      .explain(
          "BUSY is how many of a worker's processors run a task, if the worker reports it; HOLDS "
          "is\n"
          "how many tasks it has under a lease.")
      .example("millrace workers")
      .example("millrace workers build-host:4711")
      .does(in_session(options, workers));
}

}  // namespace millrace::cli
