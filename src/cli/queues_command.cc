// `millrace queues`: lists and changes queues.
#include <fmt/format.h>

#include "api/wire/text_writer.h"
#include "api/wire/views.h"
#include "cli/commands.h"
#include "cli/flag_values.h"
#include "cli/queue_flags.h"
#include "cli/queue_view.h"
#include "cli/session.h"
#include "core/quote.h"

namespace millrace::cli {
namespace {

struct Options {
  ServerOptions server = {};
  std::string name = {};
  QueueFlags settings = {};
  std::optional<std::string> pause_for = std::nullopt;
  std::optional<std::string> pause_until = std::nullopt;
  bool force = false;
  bool yes = false;
};

using Views = std::vector<QueueView>;

Exit list(const Options&, Session& session) {
  const auto views = session.ask<Views>(&HttpBroker::queues, std::optional<QueueRef>{});
  if (!views) return session.fail(views.error());
  if (session.json()) {
    session.print_json(wire::view_of("queues", *views, false));
    return Exit::ok;
  }
  if (views->empty()) {
    session.console().say("There are no queues yet; the first `millrace put QUEUE` creates one.");
    return Exit::ok;
  }
  session.print(queues_table(*views, session.now()));
  return Exit::ok;
}

Exit show(const Options& options, Session& session) {
  const auto views = session.ask<Views>(&HttpBroker::queues, std::optional<QueueRef>(options.name));
  if (!views) return session.fail(views.error(), options.name);
  if (session.json()) {
    session.print_json(wire::view_of(views->front()));
    return Exit::ok;
  }
  // A server without a history still has queues.
  const TimePoint now = session.now();
  const auto hour = session.ask<History>(&HttpBroker::history,
                                         HistoryRequest{.queue = views->front().queue.settings.name,
                                                        .from = now - std::chrono::hours(1)});
  session.out() << view_of(views->front(), hour.value_or(History{}), now, session.look());
  return Exit::ok;
}

Exit tell(const Result<Queue>& queue, std::string_view done, const Options& options,
          Session& session) {
  if (!queue) return session.fail(queue.error(), options.name);
  if (session.json()) {
    session.print_json(wire::text_of(*queue));
  } else {
    session.console().say(fmt::format("{} {}", done, queue->settings.name));
  }
  return Exit::ok;
}

Exit create(const Options& options, Session& session) {
  QueueSettings settings{.name = options.name};
  if (auto good = apply(options.settings, settings); !good) {
    return misused(good.error(), session.console(), "queues create");
  }
  const auto queue = session.ask<Queue>(&HttpBroker::put_queue, settings, PutQueue::create);
  if (!queue && queue.error().code == ErrorCode::conflict) {
    return session.console().fail(queue.error(), "`millrace queues change` changes its settings.");
  }
  return tell(queue, "created the queue", options, session);
}

Exit change_with(const Options& options, Session& session, std::string_view done,
                 QueueChange change) {
  const auto queue =
      session.ask<Queue>(&HttpBroker::change_queue, QueueRef(options.name), std::move(change));
  return tell(queue, done, options, session);
}

Exit change(const Options& options, Session& session) {
  QueueSettings trial{.name = options.name};
  auto good = apply(options.settings, trial);
  if (good && !options.settings.any()) {
    good = fail(ErrorCode::invalid, "there is nothing to change: give at least one setting");
  }
  if (!good) return misused(good.error(), session.console(), "queues change");
  return change_with(options, session, "changed the queue", [&options](QueueSettings& settings) {
    return apply(options.settings, settings);
  });
}

Exit pause(const Options& options, Session& session) {
  const auto until = pause_end(options.pause_for, options.pause_until, session.now());
  if (!until) return misused(until.error(), session.console(), "queues pause");
  return change_with(options, session, "paused",
                     [until = *until](QueueSettings& settings) -> Result<void> {
                       settings.paused_until = until;
                       return {};
                     });
}

Exit resume(const Options& options, Session& session) {
  return change_with(options, session, "resumed", [](QueueSettings& settings) -> Result<void> {
    settings.paused_until = std::nullopt;
    settings.draining = false;
    return {};
  });
}

Exit drain(const Options& options, Session& session) {
  return change_with(options, session, "draining", [](QueueSettings& settings) -> Result<void> {
    settings.draining = true;
    return {};
  });
}

// Both ask before what cannot be undone; without a terminal, --yes is required.
std::optional<Exit> unless_cleared(const Options& options, Session& session) {
  if (options.yes) return std::nullopt;
  const auto views = session.ask<Views>(&HttpBroker::queues, std::optional<QueueRef>(options.name));
  if (!views) return session.fail(views.error(), options.name);
  const std::uint64_t count = views->front().counts.waiting();
  const std::string tasks = counted(count, "task", "tasks");
  if (count == 0) return std::nullopt;
  return unless_agreed(session.with(), session.console(),
                       fmt::format("Clear {} and remove {} permanently?", options.name, tasks),
                       fmt::format("this removes {} permanently", tasks));
}

std::optional<Exit> unless_removed(const Options& options, Session& session) {
  if (options.yes) return std::nullopt;
  const auto views = session.ask<Views>(&HttpBroker::queues, std::optional<QueueRef>(options.name));
  if (!views) return session.fail(views.error(), options.name);
  const std::uint64_t count = views->front().counts.total();
  if (count != 0 && !options.force) return std::nullopt;  // the server refuses it
  const std::string what = count == 0 ? fmt::format("the queue {}", options.name)
                                      : fmt::format("the queue {} and {}", options.name,
                                                    counted(count, "task", "tasks"));
  return unless_agreed(session.with(), session.console(),
                       fmt::format("Remove {} permanently?", what),
                       fmt::format("this removes {} permanently", what));
}

Exit clear(const Options& options, Session& session) {
  if (const auto exit = unless_cleared(options, session)) return *exit;
  const auto removed = session.ask<std::uint64_t>(&HttpBroker::clear, QueueRef(options.name));
  if (!removed) return session.fail(removed.error(), options.name);
  if (session.json()) {
    session.print_json(fmt::format(R"({{"removed":{}}})", *removed));
  } else {
    session.console().say(fmt::format("removed {}", counted(*removed, "task", "tasks")));
  }
  return Exit::ok;
}

Exit remove(const Options& options, Session& session) {
  if (const auto exit = unless_removed(options, session)) return *exit;
  const auto done =
      session.ask<void>(&HttpBroker::remove_queue, QueueRef(options.name), options.force);
  if (!done && done.error().code == ErrorCode::conflict) {
    return session.console().fail(done.error(), "--force removes it with all its tasks.");
  }
  if (!done) return session.fail(done.error(), options.name);
  if (session.json()) {
    session.print_done("name", options.name, "removed");
  } else {
    session.console().say(fmt::format("removed the queue {}", options.name));
  }
  return Exit::ok;
}

Command& add(Command& queues, const std::shared_ptr<Options>& options, const char* name,
             const char* about, Exit (*doing)(const Options&, Session&)) {
  auto& command = queues.add(name, about);
  command.word("QUEUE", options->name, "Its name, number or UUID");
  takes_session(command, options->server);
  command.does(in_session(options, doing));
  return command;
}

void add_changing(Command& queues, const std::shared_ptr<Options>& options) {
  auto& made = add(queues, options, "create", "Create a queue", create);
  takes_queue_settings(made, options->settings);
  made.example("millrace queues create emails --max-concurrent 10 --rate 100/1m --retries 5")
      .example("millrace queues create audit --keep-completed 7d,1000000 --lease 5m");
  auto& changed = add(queues, options, "change", "Change settings of a queue", change);
  takes_queue_settings(changed, options->settings);
  changed.explain("Settings that are not named do not change; `none` removes a limit.")
      .example("millrace queues change emails --rate 50/1s --max-concurrent none");
  add(queues, options, "pause", "Stop giving out tasks", pause)
      .value("--for", options->pause_for, "DURATION", "For this long; else until `queues resume`")
      .value("--until", options->pause_until, "MOMENT", "Until then")
      .example("millrace queues pause emails --for 10m");
  add(queues, options, "resume", "End a pause or a drain", resume)
      .example("millrace queues resume emails");
  add(queues, options, "drain", "Refuse puts until the queue is empty", drain)
      .example("millrace queues drain emails");
}

}  // namespace

void add_queues(Command& millrace) {
  auto options = std::make_shared<Options>();
  auto& queues = millrace.add("queues", "List queues, show one, change it");
  takes_session(queues, options->server);
  queues
      .explain(
          "READY tasks can be taken, RUNNING ones have been, LATER ones wait for their time, their "
          "next\n"
          "retry or a release, DEAD ones are dead letters. Rates are those of the last minute, "
          "OLDEST\n"
          "is how long the first ready task has waited.")
      .example("millrace queues")
      .example("millrace queues show emails")
      .example("millrace queues --json | jq -r '.queues[] | select(.counts.ready > 0) | .name'")
      .does(in_session(options, list));
  add(queues, options, "show", "Show settings, counts and rates of a queue", show)
      .example("millrace queues show emails");
  add_changing(queues, options);
  add(queues, options, "clear", "Remove all waiting tasks", clear)
      .flag("-y,--yes", options->yes, "Do not ask")
      .example("millrace queues clear emails --yes");
  add(queues, options, "remove", "Remove a queue", remove)
      .flag("-f,--force", options->force, "With all its tasks")
      .flag("-y,--yes", options->yes, "Do not ask")
      .example("millrace queues remove emails", "asks first")
      .example("millrace queues remove emails --force --yes");
  auto& queue = millrace.add("queue", "Show a queue: the same as `queues show`");
  queue.word("QUEUE", options->name, "Its name, number or UUID");
  takes_session(queue, options->server);
  queue.example("millrace queue emails").does(in_session(options, show));
}

}  // namespace millrace::cli
