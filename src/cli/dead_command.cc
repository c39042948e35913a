// `millrace dead`: dead letters, and what to do with them.
#include <fmt/format.h>

#include "api/wire/dead.h"
#include "api/wire/text_writer.h"
#include "api/wire/views.h"
#include "cli/ages.h"
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
  std::vector<std::string> ids = {};
  std::optional<std::string> limit = std::nullopt;
  bool all = false;
  bool yes = false;
};

constexpr std::uint64_t usual_limit = 50;

Exit list(const Options& options, Session& session) {
  auto request = request_of(options.filter, session.now());
  if (!request) return misused(request.error(), session.console(), "dead");
  std::uint64_t left = usual_limit;
  FlagReader read;
  read("--limit", options.limit, left,
       [](auto flag, auto text) { return number_of(flag, text, 1, limits::max_page); });
  if (read.error()) return misused(*read.error(), session.console(), "dead");
  request->states = {TaskState::failed, TaskState::dead};
  TaskPage found;
  while (true) {
    request->limit = static_cast<std::uint32_t>(left - found.tasks.size());
    auto page = session.ask<TaskPage>(&HttpBroker::list, *request);
    if (!page) return session.fail(page.error(), options.filter.queue.value_or(""));
    std::ranges::move(page->tasks, std::back_inserter(found.tasks));
    found.next = page->next, found.looked_at += page->looked_at;
    request->before = page->next;
    if (!page->next || found.tasks.size() >= left) break;
  }
  if (session.json()) {
    session.print_json(wire::page_of(found));
    return Exit::ok;
  }
  if (!found.tasks.empty()) session.print(table_of(found.tasks, session.now()));
  session.console().say(fmt::format("{}{}",
                                    counted(found.tasks.size(), "dead letter", "dead letters"),
                                    found.next ? "; there may be more (--limit N)" : ""));
  return Exit::ok;
}

constexpr std::uint32_t most_groups = 100;

Exit groups(const Options& options, Session& session) {
  std::uint64_t limit = most_groups;
  FlagReader read;
  read("--limit", options.limit, limit,
       [](auto flag, auto text) { return number_of(flag, text, 1, most_groups); });
  if (read.error()) return misused(*read.error(), session.console(), "dead groups");
  const auto found =
      session.ask<FoundGroups>(&HttpBroker::dead_groups, options.filter.queue, options.filter.type,
                               static_cast<std::uint32_t>(limit));
  if (!found) return session.fail(found.error(), options.filter.queue.value_or(""));
  if (session.json()) {
    session.print_json(wire::text_of(*found, most_groups));
    return Exit::ok;
  }
  Table table({{"COUNT", true},
               {"QUEUE", false, 6},
               {"TYPE", false, 6},
               {"CODE", false, 6},
               {"LAST"},
               {"MESSAGE", false, 20}});
  for (const DeadGroup& each : found->groups) {
    table.add({number_cell(each.count, Paint::bad), each.queue, each.type, each.code,
               age(each.last_at, session.now()), each.message});
  }
  if (!found->groups.empty()) session.print(table);
  if (found->groups.empty() && found->complete) {
    session.console().say("no dead letters");
    return Exit::ok;
  }
  session.console().say(fmt::format(
      "{}{}", counted(found->groups.size() + found->more, "group", "groups"),
      found->complete ? "" : fmt::format(" among the newest {}", grouped(found->looked_at))));
  return Exit::ok;
}

// How many there are, from the server's counters; unknown if a type is given.
std::optional<std::uint64_t> how_many(const Options& options, Session& session) {
  if (options.filter.type) return std::nullopt;
  const auto views = session.ask<std::vector<QueueView>>(
      &HttpBroker::queues,
      options.filter.queue ? std::optional(queue_of(*options.filter.queue)) : std::nullopt);
  if (!views) return std::nullopt;
  std::uint64_t count = 0;
  for (const QueueView& each : *views) {
    count += each.counts.of(TaskState::failed) + each.counts.of(TaskState::dead);
  }
  return count;
}

// The dead letters that the options name; an error if they name none.
Result<DeadLetters> which(const Options& options) {
  DeadLetters letters;
  if (options.filter.queue) letters.queue = queue_of(*options.filter.queue);
  letters.type = options.filter.type;
  const bool filtered = letters.queue || letters.type;
  for (const std::string& each : options.ids) {
    auto task = task_of(each);
    if (!task) return std::unexpected(std::move(task.error()));
    if (const auto* id = std::get_if<TaskId>(&*task)) {
      letters.ids.push_back(*id);
    } else {
      return fail(ErrorCode::invalid, "dead letters are named by their ids, not by numbers");
    }
  }
  const int ways = int{filtered} + int{!letters.ids.empty()} + int{options.all};
  if (ways == 1) return letters;
  return fail(ErrorCode::invalid,
              ways == 0 ? "which dead letters? give ids, --queue or --type, or --all"
                        : "give ids, or --queue and --type, or --all; not several of these");
}

Exit handle(const Options& options, Session& session, DeadAction action, std::string_view what,
            std::string_view done) {
  const auto letters = which(options);
  if (!letters) return misused(letters.error(), session.console(), fmt::format("dead {}", what));
  const bool risky = letters->ids.empty() && !options.yes;
  if (risky) {
    const auto count = how_many(options, session);
    if (count == 0) {
      session.console().say("There are no dead letters.");
      return Exit::ok;
    }
    const std::string about =
        count ? counted(*count, "dead letter", "dead letters") : "these dead letters";
    const std::string verb_up = what == "retry" ? "Retry" : "Remove";
    if (const auto exit =
            unless_agreed(session.with(), session.console(), fmt::format("{} {}?", verb_up, about),
                          fmt::format("this would {} {}", what, about))) {
      return *exit;
    }
  }
  const auto handled = session.ask<Handled>(&HttpBroker::handle_dead, *letters, action);
  if (!handled) return session.fail(handled.error(), options.filter.queue.value_or(""));
  if (session.json()) {
    session.print_json(wire::text_of(*handled));
    return Exit::ok;
  }
  session.console().say(fmt::format(
      "{} {}{}", done, counted(handled->done, "dead letter", "dead letters"),
      handled->refused == 0 ? ""
                            : fmt::format("; {} no longer exist, or are no longer dead letters",
                                          grouped(handled->refused))));
  return handled->refused == 0 ? Exit::ok : Exit::failed;
}

Exit retry(const Options& options, Session& session) {
  return handle(options, session, DeadAction::retry, "retry", "queued again");
}

Exit remove(const Options& options, Session& session) {
  return handle(options, session, DeadAction::remove, "remove", "removed");
}

Command& add(Command& dead, const std::shared_ptr<Options>& options, const char* name,
             const char* about, Exit (*doing)(const Options&, Session&)) {
  auto& command = dead.add(name, about);
  command.maybe_words("ID", options->ids, "The ids of dead letters");
  takes_dead_filter(command, options->filter);
  command.flag("--all", options->all, "All dead letters")
      .flag("-y,--yes", options->yes, "Do not ask");
  takes_session(command, options->server);
  command.does(in_session(options, doing));
  return command;
}

}  // namespace

void add_dead(Command& millrace) {
  auto options = std::make_shared<Options>();
  auto& dead = millrace.add("dead", "List dead letters, retry or remove them");
  takes_dead_filter(dead, options->filter);
  dead.value("-n,--limit", options->limit, "N", "Print at most this many [50]");
  takes_session(dead, options->server);
  dead.explain(
          "A dead letter is a task that ended `failed` (it cannot succeed) or `dead` (every retry "
          "is\n"
          "used up).")
      .example("millrace dead")
      .example("millrace dead --queue emails --type welcome")
      .example("millrace dead retry --queue emails", "asks first")
      .does(in_session(options, list));
  auto& by_cause = dead.add("groups", "Count dead letters by what they died of");
  takes_dead_filter(by_cause, options->filter);
  by_cause.value("-n,--limit", options->limit, "N", "Print at most this many groups [100]");
  takes_session(by_cause, options->server);
  by_cause.example("millrace dead groups")
      .example("millrace dead groups --queue emails")
      .does(in_session(options, groups));
  add(dead, options, "retry", "Retry dead letters", retry)
      .example("millrace dead retry 019a0000-0000-7000-8000-000000000000")
      .example("millrace dead retry --queue emails --yes");
  add(dead, options, "remove", "Remove dead letters permanently", remove)
      .example("millrace dead remove --queue emails --type welcome --yes")
      .example("millrace dead remove --all");
}

}  // namespace millrace::cli
