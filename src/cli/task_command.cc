// `millrace task ID`: one task, or a few by their ids.
#include <fmt/format.h>
#include <algorithm>
#include <iterator>
#include <limits>

#include "api/wire/text_writer.h"
#include "api/wire/views.h"
#include "cli/ages.h"
#include "cli/commands.h"
#include "cli/display.h"
#include "cli/flag_values.h"
#include "cli/new_task.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/task_view.h"
#include "core/clip.h"
#include "core/limits.h"
#include "core/time_text.h"
#include "core/transition.h"
#include "core/utf8.h"
#include "core/uuid.h"

namespace millrace::cli {
namespace {

struct Options {
  ServerOptions server = {};
  std::vector<std::string> ids = {};
  std::string reason = {};
  std::optional<std::string> timeout = std::nullopt;
  std::optional<std::string> priority = std::nullopt;
  std::optional<std::string> at = std::nullopt;
  std::optional<std::string> delay = std::nullopt;
  std::optional<std::string> data = std::nullopt;
  std::optional<std::string> version = std::nullopt;
  bool yes = false;
};

Result<std::vector<TaskRef>> refs_of(const std::vector<std::string>& texts) {
  std::vector<TaskRef> refs;
  for (const std::string& each : texts) {
    auto ref = task_of(each);
    if (!ref) return std::unexpected(std::move(ref.error()));
    refs.push_back(*ref);
  }
  return refs;
}

// Calls `one` for each task; the exit code is that of the last failure.
template <class One>
Exit each(const Options& options, Session& session, One one) {
  const auto refs = refs_of(options.ids);
  if (!refs) return misused(refs.error(), session.console(), "task");
  Exit exit = Exit::ok;
  for (std::size_t i = 0; i < refs->size(); ++i) {
    const Exit now = one((*refs)[i], i == 0);
    if (now != Exit::ok) exit = now;
    if (now == Exit::unreachable || now == Exit::denied) break;
  }
  return exit;
}

Exit show(const Options& options, Session& session) {
  return each(options, session, [&](const TaskRef& ref, bool first) {
    const auto task = session.ask<Task>(&HttpBroker::find, ref);
    if (!task) return session.fail_missing(task.error(), how_to_find);
    if (session.json()) {
      session.print_json(wire::view_of(*task));
      return Exit::ok;
    }
    std::optional<Explanation> why;
    if (!is_final(task->state)) {
      if (auto found = session.ask<Explanation>(&HttpBroker::explain, ref)) why = std::move(*found);
    }
    session.out() << (first ? "" : "\n") << view_of(*task, why, session.now(), session.look());
    return Exit::ok;
  });
}

Exit explain(const Options& options, Session& session) {
  return each(options, session, [&](const TaskRef& ref, bool) {
    const auto why = session.ask<Explanation>(&HttpBroker::explain, ref);
    if (!why) return session.fail_missing(why.error(), how_to_find);
    if (session.json()) {
      session.print_json(wire::text_of(*why));
      return Exit::ok;
    }
    session.out() << printable(why->sentence) << '\n';
    if (why->estimate) {
      session.out() << "starts about " << moment_and_age(*why->estimate, session.now()) << '\n';
    }
    return Exit::ok;
  });
}

Exit wait(const Options& options, Session& session) {
  std::optional<Duration> most;
  if (options.timeout) {
    const auto duration = duration_of("--timeout", *options.timeout);
    if (!duration) return misused(duration.error(), session.console(), "task wait");
    most = *duration;
  }
  return each(options, session,
              [&](const TaskRef& ref, bool) { return await_end(session, ref, most); });
}

Exit log(const Options& options, Session& session) {
  return each(options, session, [&](const TaskRef& ref, bool) {
    const auto task = session.ask<Task>(&HttpBroker::find, ref);
    if (!task) return session.fail_missing(task.error(), how_to_find);
    if (session.json()) {
      std::string text;
      wire::TextWriter writer(text);
      wire::append(writer.key("log"), task->log);
      writer.close();
      session.print_json(text);
      return Exit::ok;
    }
    for (const LogLine& line : task->log) {
      session.out() << painted(format_time(line.at), Paint::faint, session.look()) << "  "
                    << printable(line.text) << '\n';
    }
    if (task->log.empty()) session.console().say("Its log is empty.");
    return Exit::ok;
  });
}

Exit result(const Options& options, Session& session) {
  return each(options, session, [&](const TaskRef& ref, bool) {
    const auto task = session.ask<Task>(&HttpBroker::find, ref);
    if (!task) return session.fail_missing(task.error(), how_to_find);
    if (task->state != TaskState::completed) {
      return session.console().fail(
          {ErrorCode::conflict,
           fmt::format("the task is {} and has no result", name_of(task->state))},
          is_final(task->state) ? "`millrace task show` says why."
                                : "`millrace task wait` waits for it.");
    }
    // Byte for byte: a program may read them.
    session.print_result(task->result);
    return Exit::ok;
  });
}

constexpr std::size_t most_of_a_result = 60;

Table table_of(const std::vector<Parent>& parents, TimePoint now) {
  Table table({{"ID"}, {"STATE"}, {"WAITS"}, {"QUEUE", false, 6}, {"ENDED"}, {"RESULT", false, 8}});
  for (const Parent& each : parents) {
    const std::string end =
        each.error ? fmt::format("{}: {}", each.error->code, each.error->message) : each.result;
    table.add({to_text(each.id.value),
               each.state ? Cell(name_of(*each.state), paint_of(*each.state)) : Cell("gone"),
               each.waits ? "yes" : "", each.queue,
               each.finished_at ? age(*each.finished_at, now) : "",
               is_utf8(end) ? clip(end, most_of_a_result) : "not text"});
  }
  return table;
}

// All pages of one task.
Result<Parents> all_parents(const TaskRef& ref, Session& session) {
  Parents all;
  ParentsRequest request{.limit = limits::max_parents};
  for (;;) {
    auto page = session.ask<Parents>(&HttpBroker::parents, ref, request);
    if (!page) return page;
    std::ranges::move(page->parents, std::back_inserter(all.parents));
    all.total = page->total, all.waits_for = page->waits_for;
    if (!page->next || *page->next <= request.from) return all;
    request.from = *page->next;
  }
}

Exit parents(const Options& options, Session& session) {
  return each(options, session, [&](const TaskRef& ref, bool) {
    const auto found = all_parents(ref, session);
    if (!found) return session.fail_missing(found.error(), how_to_find);
    if (session.json()) {
      session.print_json(wire::view_of(*found));
    } else if (found->total == 0) {
      session.console().say("It waits for no other task.");
    } else {
      session.out() << table_of(found->parents, session.now()).text(session.look());
    }
    return Exit::ok;
  });
}

// Verbs need an id; a number is looked up first.
Result<TaskId> id_of(const TaskRef& ref, Session& session) {
  if (const auto* id = std::get_if<TaskId>(&ref)) return *id;
  auto task = session.ask<Task>(&HttpBroker::find, ref);
  if (!task) return std::unexpected(std::move(task.error()));
  return task->id;
}

using States = Broker::States;

// Calls a verb and prints the state after it, behind the id.
template <class Verb>
Exit change_each(const Options& options, Session& session, const char* done, Verb verb) {
  return each(options, session, [&](const TaskRef& ref, bool) {
    const auto id = id_of(ref, session);
    if (!id) return session.fail_missing(id.error(), how_to_find);
    const Result<States> states = verb(*id);
    if (!states) return session.fail(states.error());
    const Result<TaskState>& state = states->front();
    if (!state) return session.fail_missing(state.error(), how_to_find);
    if (session.json() && done != nullptr) {
      session.print_done("id", to_text(id->value), done);
    } else if (session.json()) {
      session.print_json(wire::state_of(*id, *state));
    } else {
      session.out() << to_text(id->value) << "  " << (done != nullptr ? done : name_of(*state))
                    << '\n';
    }
    return Exit::ok;
  });
}

Exit cancel(const Options& options, Session& session) {
  bool running = false;
  const Exit exit = change_each(options, session, nullptr, [&](TaskId id) {
    auto states = session.ask<States>(&HttpBroker::cancel, std::vector<TaskId>{id}, options.reason);
    running = running || (states && states->front() && *states->front() == TaskState::processing);
    return states;
  });
  if (running) {
    session.console().say("A task that runs learns of it with its next heartbeat.");
  }
  return exit;
}

Exit retry(const Options& options, Session& session) {
  return change_each(options, session, nullptr, [&](TaskId id) {
    return session.ask<States>(&HttpBroker::retry, std::vector<TaskId>{id});
  });
}

Exit release(const Options& options, Session& session) {
  TaskUpdate update{.release = true};
  if (options.data) {
    auto answer = answer_from(*options.data, session.with().in);
    if (!answer) return misused(answer.error(), session.console(), "task release");
    update.answer = std::move(*answer);
  }
  if (options.version) {
    const auto version = number_of("--expect-version", *options.version, 0,
                                   std::numeric_limits<std::uint32_t>::max());
    if (!version) return misused(version.error(), session.console(), "task release");
    update.expect_version = Version{static_cast<std::uint32_t>(*version)};
  }
  return change_each(options, session, nullptr, [&](TaskId id) {
    update.id = id;
    return session.ask<States>(&HttpBroker::update, std::vector<TaskUpdate>{update});
  });
}

Exit remove(const Options& options, Session& session) {
  if (const auto refs = refs_of(options.ids); !refs) {
    return misused(refs.error(), session.console(), "task remove");
  }
  const std::string tasks = options.ids.size() == 1 ? "the task " + options.ids.front()
                                                    : counted(options.ids.size(), "task", "tasks");
  if (!options.yes) {
    if (const auto exit = unless_agreed(session.with(), session.console(),
                                        fmt::format("Remove {} permanently?", tasks),
                                        fmt::format("this removes {} permanently", tasks))) {
      return *exit;
    }
  }
  return change_each(options, session, "removed", [&](TaskId id) {
    return session.ask<States>(&HttpBroker::remove, std::vector<TaskId>{id});
  });
}

Exit change(const Options& options, Session& session) {
  TaskUpdate update;
  FlagReader read;
  const auto moment = [&](std::string_view flag, std::string_view text) {
    return moment_of(flag, text, session.now());
  };
  read("--priority", options.priority, update.priority, priority_of);
  read("--at", options.at, update.start, moment);
  read("--delay", options.delay, update.start, moment);
  if (!options.priority && !options.at && !options.delay) {
    read.refuse(
        {ErrorCode::invalid, "there is nothing to change: give --priority, --at or --delay"});
  }
  if (read.error()) return misused(*read.error(), session.console(), "task change");
  return change_each(options, session, nullptr, [&](TaskId id) {
    update.id = id;
    return session.ask<States>(&HttpBroker::update, std::vector<TaskUpdate>{update});
  });
}

constexpr const char* an_id = "019a0000-0000-7000-8000-000000000000";

// A command below `task` that takes ids.
Command& add(Command& task, const std::shared_ptr<Options>& options, const char* name,
             const char* about, Exit (*doing)(const Options&, Session&)) {
  auto& command = task.add(name, about);
  command.words("ID", options->ids, "Its id or its number; several are handled one after another");
  takes_session(command, options->server);
  command.does(in_session(options, doing));
  return command;
}

void add_looking(Command& task, const std::shared_ptr<Options>& options) {
  add(task, options, "show", "Show everything about a task", show)
      .example(fmt::format("millrace task show {}", an_id))
      .example("millrace task 17", "the same, by number");
  add(task, options, "explain", "Explain in a sentence why a task is not running", explain)
      .example(fmt::format("millrace task explain {}", an_id));
  add(task, options, "wait", "Wait for the end and print the result", wait)
      .value("--timeout", options->timeout, "DURATION", "Wait at most this long")
      .explain("The exit code is 1 if the task failed, or has not ended by then.")
      .example(fmt::format("millrace task wait {} --timeout 30s", an_id));
  add(task, options, "log", "Print its log lines", log)
      .example(fmt::format("millrace task log {}", an_id));
  add(task, options, "parents", "List the tasks that it waits for, with their results", parents)
      .explain("These are the tasks that --after named. A task that has been removed is gone.")
      .example(fmt::format("millrace task parents {}", an_id));
  add(task, options, "result", "Print its result, byte for byte", result)
      .example(fmt::format("millrace task result {} > result.json", an_id));
}

}  // namespace

void add_task(Command& millrace) {
  auto options = std::make_shared<Options>();
  auto& task = millrace.add("task", "Show a task, or change it");
  task.maybe_words("ID", options->ids, "The same as `task show ID`");
  takes_session(task, options->server);
  task.explain("`millrace tasks` finds ids.")
      .example(fmt::format("millrace task {}", an_id))
      .example(fmt::format("millrace task cancel {} --reason 'sent by hand'", an_id))
      .does([options](Surroundings& with, Console& console) {
        if (options->ids.empty()) {
          return misused({ErrorCode::invalid, "which task? give its id or its number"}, console,
                         "task");
        }
        return in_session(options, show)(with, console);
      });
  add_looking(task, options);
  add(task, options, "cancel", "Cancel a task that waits or runs", cancel)
      .value("--reason", options->reason, "TEXT", "The reason; kept with the task")
      .example(fmt::format("millrace task cancel {}", an_id));
  add(task, options, "retry", "Retry a task that failed or was cancelled", retry)
      .example(fmt::format("millrace task retry {}", an_id));
  add(task, options, "release", "Release a task that is held or parked", release)
      .value(
          "--data", options->data, "DATA",
          "The answer it waits for, up to 64 KiB: JSON, any text, @FILE, or - for standard input")
      .value("--expect-version", options->version, "N",
             "Refuse it if the task has another version, which `task show --json` prints")
      .explain(
          "A held task was put with --hold, or with --after: then it runs without waiting for "
          "those "
          "tasks. A parked one has run, and its handler waits for an "
          "answer, for example an approval; the next run gets the data.")
      .example(fmt::format("millrace task release {}", an_id))
      .example(fmt::format("millrace task release {} --data '{{\"approved\":true}}'", an_id))
      .example(fmt::format("millrace task release {} --data @answer.json", an_id));
  add(task, options, "change", "Change the priority or the start of a waiting task", change)
      .value("--priority", options->priority, "0-9|high|medium|low", "9 is taken first")
      .value("--at", options->at, "MOMENT", "Start it at this time")
      .value("--delay", options->delay, "DURATION", "Start it this much later than now")
      .example(fmt::format("millrace task change {} --priority 9 --delay 0s", an_id));
  add(task, options, "remove", "Remove a task that is not running, permanently", remove)
      .flag("-y,--yes", options->yes, "Do not ask")
      .example(fmt::format("millrace task remove {} --yes", an_id));
}

}  // namespace millrace::cli
