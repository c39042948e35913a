// `millrace schedules`: tasks that are put by the clock.
#include <fmt/format.h>

#include "api/wire/names.h"
#include "api/wire/put.h"
#include "api/wire/text_writer.h"
#include "api/wire/views.h"
#include "cli/ages.h"
#include "cli/commands.h"
#include "cli/display.h"
#include "cli/flag_values.h"
#include "cli/new_task.h"
#include "cli/session.h"
#include "core/limits.h"
#include "core/tick.h"
#include "core/time_text.h"
#include "core/uuid.h"

namespace millrace::cli {
namespace {

struct Options {
  using Text = std::optional<std::string>;
  ServerOptions server = {};
  std::string name = {};
  Text cron = std::nullopt, zone = std::nullopt, dst = std::nullopt, every = std::nullopt;
  Text queue = std::nullopt, payload = std::nullopt;
  Text anchor = std::nullopt, overlap = std::nullopt, missed = std::nullopt;
  Text missed_most = std::nullopt, jitter = std::nullopt;
  TaskFlags task = {};
  bool paused = false;
  bool yes = false;
  Text count = std::nullopt;

  bool any() const {
    return cron || zone || dst || every || anchor || queue || payload || overlap || missed ||
           missed_most || jitter || task.any() || task.content_type || task.text;
  }
};

using Schedules = std::vector<Schedule>;

std::string rule_of(const Schedule& schedule) {
  const TickRule& rule = schedule.rule;
  if (rule.cron.empty()) return "every " + format_duration(rule.every);
  return rule.zone == "UTC" ? rule.cron : fmt::format("{} ({})", rule.cron, rule.zone);
}

std::string queue_of(const Schedule& schedule) {
  if (const auto* name = std::get_if<std::string>(&schedule.task.queue)) return *name;
  if (const auto* number = std::get_if<QueueNumber>(&schedule.task.queue)) {
    return fmt::to_string(number->value);
  }
  return to_text(std::get<Uuid>(schedule.task.queue));
}

Cell next_of(const Schedule& schedule, TimePoint now) {
  if (schedule.paused) return {"paused", Paint::warning};
  return age(schedule.next, now);
}

// For an unknown schedule, suggests the nearest name.
Exit fail_with(const Error& error, const Options& options, Session& session) {
  if (error.code != ErrorCode::not_found) return session.fail(error);
  const auto all = session.ask<Schedules>(&HttpBroker::schedules, std::optional<std::string>{});
  std::vector<std::string_view> names;
  if (all) {
    for (const Schedule& each : *all) names.emplace_back(each.name);
  }
  if (names.empty()) {
    return session.fail_missing(error, "`millrace schedules create NAME` creates one.");
  }
  return session.fail_missing(error, all_or_nearest(options.name, names, "millrace schedules"));
}

Exit list(const Options&, Session& session) {
  const auto all = session.ask<Schedules>(&HttpBroker::schedules, std::optional<std::string>{});
  if (!all) return session.fail(all.error());
  if (session.json()) {
    session.print_json(wire::view_of("schedules", *all));
    return Exit::ok;
  }
  if (all->empty()) {
    session.console().say("There are no schedules; `millrace schedules create NAME` creates one.");
    return Exit::ok;
  }
  Table table({{"SCHEDULE", false, 8},
               {"RULE", false, 10},
               {"QUEUE", false, 6},
               {"NEXT"},
               {"LAST"},
               {"FIRED", true},
               {"SKIPPED", true}});
  const TimePoint now = session.now();
  for (const Schedule& each : *all) {
    table.add({each.name, rule_of(each), queue_of(each), next_of(each, now),
               each.last ? age(*each.last, now) : "-", number_cell(each.fired),
               number_cell(each.skipped, Paint::warning)});
  }
  session.print(table);
  return Exit::ok;
}

Exit show(const Options& options, Session& session) {
  const auto found = session.ask<Schedules>(&HttpBroker::schedules, std::optional(options.name));
  if (!found) return fail_with(found.error(), options, session);
  const Schedule& schedule = found->front();
  if (session.json()) {
    session.print_json(wire::view_of(schedule));
    return Exit::ok;
  }
  const TimePoint now = session.now();
  Sheet sheet;
  sheet.add("schedule", schedule.name);
  sheet.add("rule", rule_of(schedule));
  sheet.add("state",
            schedule.paused ? Cell("paused", Paint::warning) : Cell("active", Paint::good));
  sheet.add("next", moment_and_age(schedule.next, now));
  if (schedule.last) sheet.add("last", moment_and_age(*schedule.last, now));
  if (!schedule.last_task.value.is_nil()) sheet.add("last task", to_text(schedule.last_task.value));
  sheet.add("fired",
            fmt::format("{}, {} skipped", grouped(schedule.fired), grouped(schedule.skipped)));
  sheet.add("overlap", wire::names(Overlap{})[static_cast<std::size_t>(schedule.overlap)]);
  sheet.add("missed ticks", wire::names(Missed{})[static_cast<std::size_t>(schedule.missed)]);
  if (schedule.jitter > Duration{}) sheet.add("jitter", format_duration(schedule.jitter));
  sheet.head("Task");
  sheet.add("queue", queue_of(schedule));
  sheet.add("type", schedule.task.type);
  sheet.add("priority", fmt::to_string(schedule.task.priority));
  sheet.add("payload", schedule.task.payload);
  session.print(sheet);
  return Exit::ok;
}

template <class Enum>
void read_name(FlagReader& read, std::string_view flag, const std::optional<std::string>& text,
               Enum& to) {
  read(flag, text, to, [](std::string_view name, std::string_view given) -> Result<Enum> {
    const auto names = wire::names(Enum{});
    const auto found = choice_of(name, given, {names.begin(), names.end()});
    if (!found) return std::unexpected(found.error());
    return Enum(*found);
  });
}

// Rule, overlap and the like; what is not given does not change.
Result<void> apply_rule(const Options& options, Schedule& schedule, TimePoint now) {
  FlagReader read;
  if (options.cron && options.every) {
    read.refuse({ErrorCode::invalid, "--cron and --every exclude each other; give one"});
  }
  if (options.cron) schedule.rule.cron = *options.cron, schedule.rule.every = {};
  if (options.every) schedule.rule = {.anchor = schedule.rule.anchor};  // has no zone
  read("--every", options.every, schedule.rule.every, duration_of);
  read("--anchor", options.anchor, schedule.rule.anchor,
       [now](auto flag, auto text) { return moment_of(flag, text, now); });
  if (options.zone) schedule.rule.zone = *options.zone;
  read_name(read, "--dst", options.dst, schedule.rule.dst);
  read_name(read, "--overlap", options.overlap, schedule.overlap);
  read_name(read, "--missed", options.missed, schedule.missed);
  read("--missed-most", options.missed_most, schedule.missed_most,
       [](auto flag, auto text) { return number_of(flag, text, 1, limits::max_missed); });
  read("--jitter", options.jitter, schedule.jitter, duration_of);
  if (read.error()) return std::unexpected(*read.error());
  if (schedule.rule.cron.empty() && schedule.rule.every <= Duration{}) {
    return fail(ErrorCode::invalid,
                "when does it fire? give --cron \"0 9 * * MON-FRI\" or --every 10m");
  }
  // Checks the cron text and the zone before the request.
  if (auto ticks = Ticks::of(schedule.rule); !ticks) return std::unexpected(ticks.error());
  return {};
}

Result<Schedule> schedule_from(const Options& options, Session& session) {
  if (!options.queue) {
    return fail(ErrorCode::invalid, "which queue does its task go to? give --queue NAME");
  }
  Schedule schedule{.name = options.name, .paused = options.paused};
  auto task = task_from(options.task, *options.queue, session.now());
  if (!task) return std::unexpected(std::move(task.error()));
  schedule.task = std::move(*task);
  auto bytes = payload_bytes(options.payload.value_or(""), session.with().in);
  if (!bytes) return std::unexpected(std::move(bytes.error()));
  auto payload = payload_from(std::move(*bytes), options.task);
  if (!payload) return std::unexpected(std::move(payload.error()));
  schedule.task.payload = std::move(*payload);
  auto good = apply_rule(options, schedule, session.now());
  if (!good) return std::unexpected(std::move(good.error()));
  return schedule;
}

Exit tell(const Result<Schedule>& schedule, std::string_view done, const Options& options,
          Session& session) {
  if (!schedule) return fail_with(schedule.error(), options, session);
  if (session.json()) {
    session.print_json(wire::view_of(*schedule));
    return Exit::ok;
  }
  session.console().say(fmt::format(
      "{} {}{}", done, schedule->name,
      schedule->paused ? "" : ", next " + moment_and_age(schedule->next, session.now())));
  return Exit::ok;
}

Exit create(const Options& options, Session& session) {
  auto schedule = schedule_from(options, session);
  if (!schedule) return misused(schedule.error(), session.console(), "schedules create");
  warn_of_private(options.task, session.console());
  const auto made =
      session.ask<Schedule>(&HttpBroker::put_schedule, std::move(*schedule), PutQueue::create);
  if (!made && made.error().code == ErrorCode::conflict) {
    return session.console().fail(made.error(), "`millrace schedules change` changes it.");
  }
  // A `not_found` is about its queue.
  if (!made) return session.fail(made.error(), *options.queue);
  return tell(made, "created the schedule", options, session);
}

// What is not given does not change.
void apply_task(const Options& options, const NewTask& fresh, NewTask& task) {
  if (options.queue) task.queue = fresh.queue;
  if (options.payload) task.payload = fresh.payload, task.content_type = fresh.content_type;
  if (options.task.type) task.type = fresh.type;
  if (options.task.priority) task.priority = fresh.priority;
  if (options.task.delay) task.delay = fresh.delay;
  if (options.task.timeout) task.timeout = fresh.timeout;
  if (options.task.retries) task.retry = fresh.retry;
  if (!options.task.tags.empty()) task.tags = fresh.tags;
  if (options.task.group) task.group = fresh.group;
  if (options.task.cost) task.cost = fresh.cost;
  if (options.task.client) task.client_id = fresh.client_id;
  if (options.task.request) task.request_id = fresh.request_id;
  if (options.task.max_lost) task.max_lost = fresh.max_lost;
  if (options.task.callback) task.callback = fresh.callback;
  // One rule takes the place of the other.
  if (options.task.keep_for) {
    task.keep_for = fresh.keep_for;
    task.keep_completed.reset(), task.keep_dead.reset();
  }
  if (options.task.keep_completed) task.keep_completed = fresh.keep_completed;
  if (options.task.keep_dead) task.keep_dead = fresh.keep_dead;
  if (options.task.keep_completed || options.task.keep_dead) task.keep_for.reset();
  if (!options.task.meta.empty()) task.metadata = fresh.metadata;
}

Exit change(const Options& options, Session& session) {
  auto fresh = task_from(options.task, options.queue.value_or("x"), session.now());
  auto bytes = payload_bytes(options.payload.value_or(""), session.with().in);
  if (fresh && bytes) {
    auto payload = payload_from(std::move(*bytes), options.task);
    if (payload) {
      fresh->payload = std::move(*payload);
    } else {
      fresh = std::unexpected(payload.error());
    }
  }
  if (fresh && !options.any()) {
    fresh = fail(ErrorCode::invalid, "there is nothing to change: give at least one flag");
  }
  if (!fresh) return misused(fresh.error(), session.console(), "schedules change");
  // A rule that is compatible with any flag.
  Schedule trial{.rule = {.cron = "* * * * *"}};
  if (auto good = apply_rule(options, trial, session.now()); !good) {
    return misused(good.error(), session.console(), "schedules change");
  }
  ScheduleChange apply = [&](Schedule& schedule) -> Result<void> {
    apply_task(options, *fresh, schedule.task);
    return apply_rule(options, schedule, session.now());
  };
  return tell(session.ask<Schedule>(&HttpBroker::change_schedule, options.name, std::move(apply)),
              "changed the schedule", options, session);
}

Exit pause(const Options& options, Session& session) {
  return tell(session.ask<Schedule>(&HttpBroker::pause_schedule, options.name, true), "paused",
              options, session);
}

Exit resume(const Options& options, Session& session) {
  return tell(session.ask<Schedule>(&HttpBroker::pause_schedule, options.name, false), "resumed",
              options, session);
}

Exit run_now(const Options& options, Session& session) {
  const auto put = session.ask<Put>(&HttpBroker::run_schedule, options.name);
  if (!put) return fail_with(put.error(), options, session);
  if (session.json()) {
    std::string text;
    wire::append(text, *put);
    session.print_json(text);
  } else {
    session.out() << to_text(put->id.value) << '\n';
  }
  return Exit::ok;
}

Exit next(const Options& options, Session& session) {
  std::uint64_t count = 5;
  FlagReader read;
  read("--count", options.count, count,
       [](auto flag, auto text) { return number_of(flag, text, 1, 1000); });
  if (read.error()) return misused(*read.error(), session.console(), "schedules next");
  const auto found = session.ask<Schedules>(&HttpBroker::schedules, std::optional(options.name));
  if (!found) return fail_with(found.error(), options, session);
  const auto rule = Ticks::of(found->front().rule);
  if (!rule) return session.console().fail(rule.error());
  std::vector<TimePoint> ticks;
  for (TimePoint at = found->front().next; ticks.size() < count && at != never;) {
    ticks.push_back(at);
    at = rule->next_after(at).value_or(never);
  }
  if (session.json()) {
    std::string text;
    wire::TextWriter writer(text);
    wire::append(writer.key("next"), ticks);
    writer.close();
    session.print_json(text);
    return Exit::ok;
  }
  for (const TimePoint each : ticks) {
    session.out() << moment_and_age(each, session.now()) << '\n';
  }
  if (found->front().paused) session.console().say("It is paused: none of these will fire.");
  return Exit::ok;
}

Exit remove(const Options& options, Session& session) {
  if (!options.yes) {
    const auto found = session.ask<Schedules>(&HttpBroker::schedules, std::optional(options.name));
    if (!found) return fail_with(found.error(), options, session);
    if (const auto exit =
            unless_agreed(session.with(), session.console(),
                          fmt::format("Remove the schedule {} permanently?", options.name),
                          fmt::format("this removes the schedule {} permanently", options.name))) {
      return *exit;
    }
  }
  const auto done = session.ask<void>(&HttpBroker::remove_schedule, options.name);
  if (!done) return fail_with(done.error(), options, session);
  if (session.json()) {
    session.print_done("name", options.name, "removed");
  } else {
    session.console().say(fmt::format("removed the schedule {}", options.name));
  }
  return Exit::ok;
}

Command& add(Command& schedules, const std::shared_ptr<Options>& options, const char* name,
             const char* about, Exit (*doing)(const Options&, Session&)) {
  auto& command = schedules.add(name, about);
  command.word("SCHEDULE", options->name, "Its name");
  takes_session(command, options->server);
  command.does(in_session(options, doing));
  return command;
}

void takes_schedule(Command& command, Options& options) {
  command.group("When")
      .value("--cron", options.cron, "CRON", "\"0 9 * * MON-FRI\": minute hour day month weekday")
      .value("--zone", options.zone, "ZONE", "The time zone of the rule: Europe/Berlin [UTC]")
      .value("--every", options.every, "DURATION", "... or at this interval: 10m")
      .value("--anchor", options.anchor, "MOMENT", "Count the intervals from this time [1970]")
      .value("--dst", options.dst, "skip|once|both",
             "What to do with local times that daylight saving skips or repeats")
      .value("--overlap", options.overlap, "skip|queue|allow",
             "What to do while the last task is not done [skip]")
      .value("--missed", options.missed, "skip|one|all",
             "What to do about ticks missed while no server ran [one]")
      .value("--missed-most", options.missed_most, "N", "With --missed all: how many ticks [10]")
      .value("--jitter", options.jitter, "DURATION", "Spread starts over this long")
      .group("What")
      .value("--queue", options.queue, "QUEUE", "The queue of its task")
      .value("--payload", options.payload, "PAYLOAD", "JSON, @FILE, or - for standard input")
      .value("--delay", options.task.delay, "DURATION", "Start it this much after the tick");
  takes_payload_form(command, options.task);
  takes_task(command, options.task);
  command.group("");
}

}  // namespace

void add_schedules(Command& millrace) {
  auto options = std::make_shared<Options>();
  auto& schedules = millrace.add("schedules", "Schedules: list, create, change");
  takes_session(schedules, options->server);
  schedules.explain("A schedule puts a task at each tick of a cron rule or an interval.")
      .example("millrace schedules")
      .example(
          "millrace schedules create report --cron \"0 9 * * MON-FRI\" --zone Europe/Berlin "
          "--queue "
          "reports")
      .example("millrace schedules next report")
      .does(in_session(options, list));
  add(schedules, options, "show", "Show everything about a schedule", show)
      .example("millrace schedules show report");
  auto& made = add(schedules, options, "create", "Create a schedule", create);
  takes_schedule(made, *options);
  made.flag("--paused", options->paused, "Create it paused")
      .example(
          "millrace schedules create report --cron \"0 9 * * MON-FRI\" --zone Europe/Berlin \\\n"
          "    --queue reports --payload '{\"kind\":\"daily\"}'")
      .example("millrace schedules create sync --every 10m --queue sync --overlap queue");
  auto& changed = add(schedules, options, "change", "Change a schedule", change);
  takes_schedule(changed, *options);
  changed.explain("Settings that are not named do not change.")
      .example("millrace schedules change report --cron \"30 8 * * *\"");
  add(schedules, options, "pause", "Stop firing", pause).example("millrace schedules pause sync");
  add(schedules, options, "resume", "Fire again", resume).example("millrace schedules resume sync");
  add(schedules, options, "run", "Put its task now, in addition to its ticks", run_now)
      .example("ID=$(millrace schedules run report)");
  add(schedules, options, "next", "Show when it fires next", next)
      .value("-n,--count", options->count, "N", "How many ticks [5]")
      .example("millrace schedules next report --count 10");
  add(schedules, options, "remove", "Remove a schedule; its tasks stay", remove)
      .flag("-y,--yes", options->yes, "Do not ask")
      .example("millrace schedules remove report --yes");
}

}  // namespace millrace::cli
