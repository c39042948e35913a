// `millrace tasks`: lists tasks by filter.
#include <fmt/format.h>

#include "api/wire/views.h"
#include "cli/commands.h"
#include "cli/flag_values.h"
#include "cli/session.h"
#include "cli/task_filter.h"
#include "cli/task_view.h"
#include "core/limits.h"

namespace millrace::cli {
namespace {

struct Options {
  ServerOptions server = {};
  TaskFilter filter = {};
  std::optional<std::string> limit = std::nullopt;
  std::optional<std::string> before = std::nullopt;
  bool all = false;
  bool full = false;
};

constexpr std::uint32_t usual_limit = 50;

// A page may be short although there are more: pages are read until there are enough tasks.
Exit list(const Options& options, Session& session) {
  auto request = request_of(options.filter, session.now());
  if (!request) return misused(request.error(), session.console(), "tasks");
  FlagReader read;
  std::uint64_t left = usual_limit;
  std::uint64_t before = 0;
  read("--limit", options.limit, left,
       [](auto flag, auto text) { return number_of(flag, text, 1, 1'000'000'000); });
  read("--before", options.before, before, [](auto flag, auto text) {
    return number_of(flag, text, 1, std::numeric_limits<std::uint64_t>::max());
  });
  if (read.error()) return misused(*read.error(), session.console(), "tasks");
  if (options.all) left = std::numeric_limits<std::uint64_t>::max();
  if (before != 0) request->before = TaskNumber{before};
  if (options.full) request->detail = Detail::full;

  std::uint64_t shown = 0;
  std::vector<Task> tasks;
  const auto flush = [&] {
    if (!tasks.empty()) session.print(table_of(tasks, session.now()));
    tasks.clear();
  };
  while (true) {
    request->limit = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, limits::max_page));
    auto page = session.ask<TaskPage>(&HttpBroker::list, *request);
    if (!page) return session.fail(page.error(), options.filter.queue.value_or(""));
    left -= page->tasks.size(), shown += page->tasks.size();
    request->before = page->next;
    if (session.json()) {
      session.print_json(wire::page_of(*page));
    } else {
      std::ranges::move(page->tasks, std::back_inserter(tasks));
      if (tasks.size() >= limits::max_page) flush();
    }
    if (!page->next || left == 0) break;
  }
  if (session.json()) return Exit::ok;
  flush();
  session.console().say(counted(shown, "task", "tasks"));
  if (request->before) {
    session.console().say(
        fmt::format("There may be more: --all, --limit N, or --before {} for the "
                    "next.",
                    request->before->value));
  }
  return Exit::ok;
}

}  // namespace

void add_tasks(Command& millrace) {
  auto options = std::make_shared<Options>();
  auto& command = millrace.add("tasks", "List tasks by filter, or change many at once");
  takes_filter(command, options->filter);
  command.value("-n,--limit", options->limit, "N", "Print at most this many [50]")
      .value("--before", options->before, "NUMBER", "Tasks older than this number: the next page")
      .flag("--all", options->all, "Print all, however many")
      .flag("--full", options->full, "With --json: also payload, result, log and history");
  takes_session(command, options->server);
  command
      .explain("Shows the newest first. With --json it prints one page per line, as the API does.")
      .example("millrace tasks --queue emails --state queued,delayed")
      .example("millrace tasks --state dead --since 1h")
      .example("millrace tasks cancel --tag newsletter", "asks first, as retry, move, ... do")
      .example("millrace tasks --tag newsletter --all --json | jq -r '.tasks[].id'")
      .does(in_session(options, list));
  add_bulk_changes(command);
}

}  // namespace millrace::cli
