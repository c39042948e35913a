// `millrace put QUEUE PAYLOAD`: puts one task, or one per line.
#include <fmt/format.h>
#include <algorithm>
#include <utility>

#include "api/wire/put.h"
#include "cli/commands.h"
#include "cli/flag_values.h"
#include "cli/new_task.h"
#include "cli/put_lines.h"
#include "cli/session.h"
#include "cli/task_view.h"
#include "core/seed.h"
#include "core/time_text.h"
#include "core/transition.h"
#include "core/uuid.h"
#include "process/signals.h"

namespace millrace::cli {
namespace {

struct Options {
  ServerOptions server = {};
  std::string queue = {};
  std::optional<std::string> payload = std::nullopt;
  TaskFlags task = {};
  bool lines = false;
  bool task_lines = false;
  bool print_ids = false;
  std::optional<std::string> wait = std::nullopt;
  std::optional<std::string> retry_for = std::nullopt;
};

constexpr Duration usual_patience = std::chrono::seconds(10);
constexpr Duration first_pause(250);
constexpr Duration longest_pause = std::chrono::seconds(2);

// The message for a put that added nothing.
std::string there_already(const Put& put) {
  if (put.replaced) {
    return fmt::format("replaced {}, which had not begun ({})", to_text(put.id.value),
                       put.state ? name_of(*put.state) : "removed");
  }
  return fmt::format("nothing was added: {} exists already ({})", to_text(put.id.value),
                     put.state ? name_of(*put.state) : "removed, but its unique key is still held");
}

bool is_away(const Result<Put>& put) {
  return !put && put.error().code == ErrorCode::unavailable && !put.error().untrusted;
}

// Puts the task again, with the same id, while the server is away: however many of the tries
// arrive, it is stored once for as long as the server knows the id.
Result<Put> put_patiently(const Options& options, NewTask task, Duration patience,
                          Session& session) {
  const auto until = session.with().clock.steady() + patience;
  bool told = false;
  for (Duration pause = first_pause;; pause = std::min(pause * 2, longest_pause)) {
    auto puts = session.ask<std::vector<Result<Put>>>(&HttpBroker::put, std::vector<NewTask>{task});
    Result<Put> put = puts ? std::move(puts->front()) : std::unexpected(std::move(puts.error()));
    // An earlier try has stored it, perhaps one that the client repeated by itself.
    if (put && !options.task.id && put->id == task.id) put->existing = false;
    if (!is_away(put) || session.with().clock.steady() + pause > until) return put;
    if (!std::exchange(told, true)) {
      session.console().warn(fmt::format("{}; trying again for {}, with the same id",
                                         put.error().message, format_duration(patience)));
    }
    Signals signals;
    if (signals.wait(pause) == SignalKind::stop) return put;
  }
}

// If the server has not answered, it may have stored the task all the same.
Exit not_put(const Error& error, TaskId id, const Options& options, Session& session) {
  const Exit exit = session.fail(error, options.queue);
  if (error.code == ErrorCode::unavailable && !error.untrusted) {
    session.console().say(
        fmt::format("To repeat it without storing the task twice, add --id {}", to_text(id.value)));
  }
  return exit;
}

Exit put_one(const Options& options, NewTask task, Session& session) {
  std::optional<Duration> wait;
  if (options.wait && *options.wait != forever) {
    const auto duration = duration_of("--wait", *options.wait);
    if (!duration) return misused(duration.error(), session.console(), "put");
    wait = *duration;
  }
  Duration patience = usual_patience;
  FlagReader read;
  read("--retry-for", options.retry_for, patience, duration_of);
  if (read.error()) return misused(*read.error(), session.console(), "put");
  if (task.id.value.is_nil()) task.id = {UuidSource(random_seed()).next(session.now())};
  const TaskId id = task.id;
  const Result<Put> put = put_patiently(options, std::move(task), patience, session);
  if (!put) return not_put(put.error(), id, options, session);
  if (put->existing) session.console().say(there_already(*put));
  if (options.wait) {
    session.console().say(to_text(put->id.value));
    return await_end(session, put->id, wait, true);
  }
  if (session.json()) {
    std::string text;
    wire::append(text, *put);
    session.print_json(text);
  } else {
    session.out() << to_text(put->id.value) << '\n';
  }
  return Exit::ok;
}

// A payload that was forgotten must not become a task without one.
Result<void> check_payload(const Options& options, const Surroundings& with) {
  if (!options.payload && with.host.in_waits()) {
    return fail(ErrorCode::invalid,
                "there is data on standard input, which is only read with -: millrace put QUEUE -; "
                "to put a task without a payload, add </dev/null");
  }
  if (options.payload && options.payload->empty() && !options.task.text) {
    return fail(ErrorCode::invalid,
                "the payload is an empty text, which is not JSON; leave it out to put a task "
                "without a payload");
  }
  return {};
}

Result<void> check(const Options& options, const Surroundings& with) {
  if (!options.lines && !options.task_lines) return check_payload(options, with);
  if (options.lines && options.task_lines) {
    return fail(ErrorCode::invalid, "--lines and --task-lines exclude each other; give one");
  }
  if (options.payload && *options.payload != "-") {
    return fail(ErrorCode::invalid, "--lines reads payloads from standard input; give none here");
  }
  if (options.wait || options.retry_for || options.task.id || options.task.unique) {
    return fail(ErrorCode::invalid,
                "--wait, --retry-for, --id and --unique are for one task, not for lines");
  }
  if (options.task_lines && options.task.any()) {
    return fail(ErrorCode::invalid,
                "with --task-lines each line holds everything about its task; leave the flags out");
  }
  return {};
}

Exit put(const Options& options, Session& session) {
  if (auto good = check(options, session.with()); !good) {
    return misused(good.error(), session.console(), "put");
  }
  auto task = task_from(options.task, options.queue, session.now());
  if (!task) return misused(task.error(), session.console(), "put");
  warn_of_private(options.task, session.console());
  if (options.lines || options.task_lines) {
    return put_lines({.like = std::move(*task),
                      .flags = options.task,
                      .whole_tasks = options.task_lines,
                      .print_ids = options.print_ids},
                     session);
  }
  auto bytes = payload_bytes(options.payload.value_or(""), session.with().in);
  if (!bytes) return session.console().fail(bytes.error());
  auto payload = payload_from(std::move(*bytes), options.task);
  if (!payload) {
    session.console().fail(payload.error(),
                           "--text, --base64 and --content-type are for payloads "
                           "that are not JSON.");
    return Exit::usage;
  }
  task->payload = std::move(*payload);
  return put_one(options, std::move(*task), session);
}

}  // namespace

void add_put(Command& millrace) {
  auto options = std::make_shared<Options>();
  auto& command = millrace.add("put", "Put a task, or one per line");
  command.word("QUEUE", options->queue, "The queue; it is created if it does not exist")
      .argument({.kind = ArgumentKind::word,
                 .names = "PAYLOAD",
                 .about = "JSON, @FILE, or - for standard input",
                 .sink = [options](const std::string& word) { options->payload = word; }});
  takes_payload_form(command, options->task);
  takes_task(command, options->task);
  takes_moment(command, options->task);
  command.value("--wait", options->wait, "[DURATION]", "Wait for the end and print the result")
      .maybe_empty()
      .value("--retry-for", options->retry_for, "DURATION",
             "Try again for this long while the server is away [10s]; 0s: do not")
      .flag("--lines", options->lines, "Read one payload per line of standard input")
      .flag("--task-lines", options->task_lines,
            "Read one task per line, as the API takes it: {\"payload\":..., \"priority\":8}")
      .flag("--print-ids", options->print_ids, "Print the ids of what --lines puts, in order");
  takes_session(command, options->server);
  command
      .explain(
          "Prints the id of the task, alone, once it is stored. With --wait it prints the result\n"
          "instead, and the exit code is 1 if the task did not complete. It waits for a\n"
          "server that restarts meanwhile; if the server does not return in time, the exit code is "
          "6.\n"
          "Standard input is read for - and --lines only; if there is data on it and no PAYLOAD "
          "is\n"
          "given, nothing is put.\n"
          "Putting the same --id again adds nothing, so a put may be repeated after any failure.\n"
          "A single put does so by itself for --retry-for, with an id that it makes if none is "
          "given.")
      .example("millrace put emails '{\"to\":\"ann@example.org\"}'")
      .example("ID=$(millrace put emails @mail.json --priority high --tag newsletter)")
      .example("millrace put reports '{}' --at 2027-01-31T09:00:00Z --retries 5")
      .example("millrace put sync '{\"shop\":7}' --unique shop-7", "only one at a time")
      .example(
          "millrace put index '{\"doc\":5}' --unique doc-5 --unique-scope until_started "
          "--on-conflict postpone --delay 10s --max-delay 2m",
          "10s after the last change")
      .example("millrace put mail '{}' --after $FIRST,$SECOND --otherwise hold",
               "runs when both have completed")
      .example("millrace put add '[1,2]' --wait 30s", "prints what the worker answers")
      .example("echo hello | millrace put words - --text")
      .example("millrace put import --lines < payloads.jsonl", "thousands per second")
      .does(in_session(options, put));
}

}  // namespace millrace::cli
