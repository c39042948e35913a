// `millrace groups`: lists the groups of a queue, and changes what one of them does differently.
#include <fmt/format.h>

#include <algorithm>

#include "api/wire/groups.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/display.h"
#include "cli/flag_values.h"
#include "cli/group_view.h"
#include "cli/session.h"
#include "core/limits.h"

namespace millrace::cli {
namespace {

struct Options {
  using Text = std::optional<std::string>;
  ServerOptions server = {};
  std::string queue = {};
  std::string group = {};
  Text most = std::nullopt;
  Text max_concurrent = std::nullopt, rate = std::nullopt, max_depth = std::nullopt;
  Text weight = std::nullopt, until = std::nullopt;
  Text pause_for = std::nullopt, pause_until = std::nullopt;

  bool any() const { return max_concurrent || rate || max_depth || weight || until; }
};

// More are not read for a list.
constexpr std::size_t most_read = 20'000;

// Every group, those with most tasks first; with a `next` there are more.
Result<GroupPage> all_groups(const Options& options, Session& session) {
  GroupPage all;
  GroupsRequest request{.queue = queue_of(options.queue), .limit = limits::max_page};
  while (all.groups.size() < most_read) {
    auto page = session.ask<GroupPage>(&HttpBroker::groups, request);
    if (!page) return page;
    std::ranges::move(page->groups, std::back_inserter(all.groups));
    all.next = page->next;
    if (page->next.empty()) break;
    request.after = std::move(page->next);
  }
  const auto size = [](const Group& group) { return group.waiting + group.running; };
  std::ranges::sort(all.groups, [&](const Group& a, const Group& b) {
    return size(a) != size(b) ? size(a) > size(b) : a.name < b.name;
  });
  return all;
}

Exit list(const Options& options, Session& session) {
  std::uint64_t most = 100;
  FlagReader read;
  read("--most", options.most, most,
       [](auto flag, auto text) { return number_of(flag, text, 1, most_read); });
  if (read.error()) return misused(*read.error(), session.console(), "groups");
  auto all = all_groups(options, session);
  if (!all) return session.fail(all.error(), options.queue);
  if (session.json()) {
    session.print_json(wire::page_of(*all));
    return Exit::ok;
  }
  if (all->groups.empty()) {
    session.console().say(
        fmt::format("No group of {} has tasks that wait or run, and none differs from its rules; "
                    "`millrace put {} --group NAME` puts a task with a group.",
                    options.queue, options.queue));
    return Exit::ok;
  }
  const std::size_t left = all->groups.size() - std::min<std::size_t>(all->groups.size(), most);
  all->groups.resize(all->groups.size() - left);
  session.print(groups_table(all->groups, session.now()));
  if (left != 0 || !all->next.empty()) {
    session.console().say(fmt::format("... and {}{} more; --most shows more of them",
                                      all->next.empty() ? "" : "at least ", grouped(left)));
  }
  return Exit::ok;
}

Exit tell(const Result<Group>& group, std::string_view done, const Options& options,
          Session& session) {
  if (!group) return session.fail(group.error(), options.queue);
  if (session.json()) {
    session.print_json(wire::view_of(*group));
    return Exit::ok;
  }
  const std::string says = group->override ? override_line(*group->override, session.now()) : "";
  session.console().say(fmt::format("{} the group {} of {}{}{}", done, printable(group->name),
                                    group->queue, says.empty() ? "" : ": ", says));
  return Exit::ok;
}

Exit show(const Options& options, Session& session) {
  const auto page = session.ask<GroupPage>(
      &HttpBroker::groups, GroupsRequest{.queue = queue_of(options.queue), .name = options.group});
  if (!page) return session.fail(page.error(), options.queue);
  if (page->groups.empty()) {
    return session.fail({ErrorCode::not_found, "there is no such group"});
  }
  if (session.json()) {
    session.print_json(wire::view_of(page->groups.front()));
  } else {
    session.print(sheet_of(page->groups.front(), session.now()));
  }
  return Exit::ok;
}

Exit change_with(const Options& options, Session& session, std::string_view done,
                 GroupChange change) {
  return tell(session.ask<Group>(&HttpBroker::change_group, queue_of(options.queue), options.group,
                                 std::move(change)),
              done, options, session);
}

Result<void> apply(const Options& options, GroupOverride& override, TimePoint now) {
  FlagReader read;
  constexpr std::uint64_t most = unlimited - 1;
  read("--max-concurrent", options.max_concurrent, override.max_concurrent,
       or_none<std::uint32_t>(number_up_to(most)));
  read("--rate", options.rate, override.process_rate, or_none<Rate>(rate_of));
  read("--max-depth", options.max_depth, override.max_depth,
       or_none<std::uint64_t>(number_up_to(1'000'000'000'000)));
  read("--weight", options.weight, override.weight,
       or_none<std::uint32_t>(number_up_to(limits::max_weight)));
  read("--until", options.until, override.until,
       or_none<TimePoint>([now](auto flag, auto text) { return moment_of(flag, text, now); }));
  if (read.error()) return std::unexpected(*read.error());
  if (options.until && override.until && *override.until <= now) {
    return fail(ErrorCode::invalid, "--until is in the past; give a later time");
  }
  return {};
}

Exit set(const Options& options, Session& session) {
  GroupOverride trial;
  auto good = apply(options, trial, session.now());
  if (good && !options.any()) {
    good = fail(ErrorCode::invalid,
                "there is nothing to change: give at least one limit, --weight or --until");
  }
  if (!good) return misused(good.error(), session.console(), "groups set");
  return change_with(options, session, "changed",
                     [&options, now = session.now()](GroupOverride& override) {
                       return apply(options, override, now);
                     });
}

Exit pause(const Options& options, Session& session) {
  const auto until = pause_end(options.pause_for, options.pause_until, session.now());
  if (!until) return misused(until.error(), session.console(), "groups pause");
  return change_with(options, session, "paused",
                     [until = *until](GroupOverride& override) -> Result<void> {
                       override.paused_until = until;
                       return {};
                     });
}

Exit resume(const Options& options, Session& session) {
  return change_with(options, session, "resumed", [](GroupOverride& override) -> Result<void> {
    override.paused_until = std::nullopt;
    return {};
  });
}

Exit reset(const Options& options, Session& session) {
  return change_with(options, session, "reset", [](GroupOverride& override) -> Result<void> {
    override = {};
    return {};
  });
}

Command& add(Command& groups, const std::shared_ptr<Options>& options, const char* name,
             const char* about, Exit (*doing)(const Options&, Session&)) {
  auto& command = groups.add(name, about);
  command.word("QUEUE", options->queue, "Its queue: a name, a number or a UUID")
      .word("GROUP", options->group, "Its name");
  takes_session(command, options->server);
  command.does(in_session(options, doing));
  return command;
}

}  // namespace

void add_groups(Command& millrace) {
  auto options = std::make_shared<Options>();
  auto& groups = millrace.add("groups", "Groups of a queue: list, limit, pause");
  groups.maybe_word("QUEUE", options->queue, "The queue: its name, number or UUID");
  takes_session(groups, options->server);
  groups.value("--most", options->most, "N", "List so many of them, those with most tasks [100]")
      .explain(
          "The tasks of a queue with the same --group are a group: those of a customer, say. The "
          "queue's\n"
          "settings --group-... say what holds for each group; these commands say what one of them "
          "does\n"
          "differently. READY tasks could be taken, OLDEST is how long the first of them has "
          "waited.")
      .example("millrace queues change emails --group-order fair --group-max-concurrent 2")
      .example("millrace put emails '{\"to\":\"ann@example.org\"}' --group acme")
      .example("millrace groups emails")
      .example("millrace groups emails --json | jq -r '.groups[] | select(.override) | .group'")
      .does([options](Surroundings& with, Console& console) {
        if (options->queue.empty()) {
          return misused({ErrorCode::invalid, "which queue? give its name, number or UUID"},
                         console, "groups");
        }
        return in_session(options, list)(with, console);
      });
  add(groups, options, "show", "Show one group", show).example("millrace groups show emails acme");
  add(groups, options, "set", "Give one group other limits than its queue says", set)
      .value("--max-concurrent", options->max_concurrent, "N|none",
             "Most tasks of it that run at the same time")
      .value("--rate", options->rate, "N/DURATION|none",
             "Most tasks of it started per time: 100/1m")
      .value("--max-depth", options->max_depth, "N|none", "Most tasks of it that wait")
      .value("--weight", options->weight, "N|none", "How many turns it has, against other groups")
      .value("--until", options->until, "MOMENT|none",
             "When all that it does differently ends: 2h, 2027-01-31T09:00:00Z")
      .explain("What is not named does not change; `none` lets the queue decide again.")
      .example("millrace groups set emails acme --max-concurrent 3 --until 2h")
      .example("millrace groups set emails acme --rate none");
  add(groups, options, "pause", "Stop giving out tasks of one group", pause)
      .value("--for", options->pause_for, "DURATION", "For this long; else until `groups resume`")
      .value("--until", options->pause_until, "MOMENT", "Until then")
      .example("millrace groups pause emails acme --for 10m");
  add(groups, options, "resume", "End the pause of one group", resume)
      .example("millrace groups resume emails acme");
  add(groups, options, "reset", "Let the queue decide about one group again", reset)
      .explain("Its limits, its weight and a pause end; its tasks stay.")
      .example("millrace groups reset emails acme");
}

}  // namespace millrace::cli
