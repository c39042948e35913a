// `millrace work QUEUE... -- command`: runs a command for every task of some queues.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/flag_values.h"
#include "cli/session.h"
#include "cli/worker_program.h"
#include "config/handlers.h"
#include "core/store_url.h"

namespace millrace::cli {
namespace {

struct Options {
  std::vector<std::string> queues = {};
  std::vector<std::string> command = {};
  ServerOptions server = {};
  std::string store = {};  // a database, instead of a server
  std::string name = {};
  std::string concurrency = "1";
  std::string timeout = {};
  std::string grace = {};
  std::string memory = {};
  std::string directory = {};
  bool until_empty = false;
  bool verbose = false;
  bool quiet = false;
};

// The same keys and checks as in a settings file.
Result<void> set(std::vector<config::HandlerSettings>& handlers, const std::string& queue,
                 std::string name, config::TomlValue value) {
  value.key = "--" + name;
  value.path = {"handlers", queue, std::move(name)};
  return config::read_handler(handlers, value, "the command line");
}

Result<void> add_handler(const Options& options, const std::string& queue,
                         std::vector<config::HandlerSettings>& handlers) {
  using config::TomlKind;
  Result<void> good = set(handlers, queue, "exec",
                          {.kind = TomlKind::list, .text = "a list", .list = options.command});
  const auto text = [&](const char* name, const std::string& value) {
    if (good && !value.empty()) {
      good = set(handlers, queue, name, {.kind = TomlKind::text, .text = value});
    }
  };
  text("timeout", options.timeout);
  text("grace", options.grace);
  text("memory", options.memory);
  text("directory", options.directory);
  if (good) {
    good = set(handlers, queue, "concurrency",
               {.kind = TomlKind::integer, .text = options.concurrency});
  }
  return good;
}

// One per queue, all with the same command.
Result<std::vector<config::HandlerSettings>> handlers_of(const Options& options) {
  std::vector<config::HandlerSettings> handlers;
  for (const std::string& queue : options.queues) {
    if (auto good = add_handler(options, queue, handlers); !good) {
      return std::unexpected(std::move(good.error()));
    }
  }
  return handlers;
}

// Where to take tasks: from the server, or from the database itself.
Result<ServerAddress> place_of(const Options& options, const Surroundings& with) {
  if (options.store.empty()) return address_of(options.server, with);
  if (!options.server.server.empty()) {
    return fail(ErrorCode::invalid, "--server names a server and --store a database; give one");
  }
  const auto url = parse_store_url(options.store);
  if (!url) return std::unexpected(url.error());
  if (url->kind != StoreKind::postgres) {
    return fail(ErrorCode::invalid,
                fmt::format("{} belongs to one process, a server; --store is for databases, as in "
                            "postgres://millrace@localhost/app",
                            options.store));
  }
  return ServerAddress{.url = options.store};
}

// Handlers go by names; a number or a UUID stands for the name that the server has for it.
std::optional<Exit> name_queues(Options& options, Surroundings& with, Console& console) {
  for (std::string& each : options.queues) {
    const QueueRef ref = queue_of(each);
    if (std::holds_alternative<std::string>(ref)) continue;
    if (!options.store.empty()) {
      const auto why = fmt::format("with --store a queue goes by its name, not by {}", each);
      return misused({ErrorCode::invalid, why}, console, "work");
    }
    const auto session = Session::open(options.server, with, console);
    if (!session) return Exit::usage;
    const auto found =
        session->ask<std::vector<QueueView>>(&HttpBroker::queues, std::optional(ref));
    if (!found) return session->fail(found.error(), each);
    each = found->front().queue.settings.name;
  }
  return std::nullopt;
}

Exit work(Options options, Surroundings& with, Console& console) {
  if (const auto exit = name_queues(options, with, console)) return *exit;
  auto address = place_of(options, with);
  if (!address) {
    return options.store.empty() ? console.fail(address.error())
                                 : misused(address.error(), console, "work");
  }
  WorkerProgram program{.server = std::move(address->url),
                        .on_store = !options.store.empty(),
                        .key = std::move(address->key),
                        .ca_file = std::move(address->ca_file),
                        .name = options.name,
                        .version = with.version,
                        .until_empty = options.until_empty,
                        .verbose = options.verbose || (with.terminal && !options.quiet)};
  auto handlers = handlers_of(options);
  if (!handlers) return misused(handlers.error(), console, "work");
  program.handlers = std::move(*handlers);
  program.processors = program.handlers.front().concurrency;
  return with.host.work(program);
}

}  // namespace

void add_work(Command& millrace) {
  auto options = std::make_shared<Options>();
  auto& command = millrace.add("work", "Run a command for every task of a queue, or of several");
  command.words("QUEUE", options->queues, "The queues whose tasks to work: names, numbers or UUIDs")
      .words_after_dashes("COMMAND", options->command, "The command and its arguments, after --");
  takes_server(command, options->server);
  command
      .value("-j,--concurrency", options->concurrency, "N",
             "Commands that run at the same time, over all queues [1]")
      .value("--timeout", options->timeout, "DURATION",
             "The timeout of tasks whose task and queue set none")
      .value("--grace", options->grace, "DURATION", "From SIGTERM to SIGKILL [5s]")
      .value("--memory", options->memory, "SIZE", "The memory limit of a command")
      .value("--directory", options->directory, "DIR", "The directory to run it in")
      .value("--store", options->store, "URL",
             "Work on a database without a server in between: postgres://...")
      .value("--name", options->name, "TEXT", "The name of this worker (else host and process)")
      .flag("--until-empty", options->until_empty, "Exit when the queues are empty")
      .flag("-v,--verbose", options->verbose,
            "Print a line per task, and what the command writes to standard error, also if "
            "standard error is no terminal")
      .flag("-q,--quiet", options->quiet, "Do not print these on a terminal either")
      .explain(
          "The command gets the task's payload on its standard input. What it prints is the "
          "result.\n"
          "Exit code 0 is done, 75 is \"try again\", 64, 65 and 78 are final failures, any other "
          "is\n"
          "a failure that is retried as the queue says. Lines on standard error are log lines of "
          "the\n"
          "task; `@progress 40` there sets its progress. MILLRACE_TASK_ID, MILLRACE_QUEUE,\n"
          "MILLRACE_TYPE and MILLRACE_ATTEMPT say which task it is, MILLRACE_CHECKPOINT and\n"
          "MILLRACE_ANSWER what earlier runs wrote down and what it was released with. "
          "docs/workers.md\n"
          "has the rest.\n"
          "\n"
          "With --store the worker needs no server: it runs upkeep and retries by the settings of\n"
          "queues and tasks, but delivers no webhooks; servers and programs with an App do that.\n"
          "\n"
          "Signals: TERM and INT take no more tasks, wait for those that run (30 s) and give back\n"
          "the rest.")
      .example("millrace work thumbnails -- python3 thumbnail.py")
      .example("millrace work -j 4 --timeout 30s emails -- ./send-mail")
      .example("millrace work emails reports -- ./send", "two queues, in turn")
      .example("millrace work --store postgres://millrace@db.example.org/app emails -- ./send-mail")
      .example("millrace work --until-empty import -- sh -c 'jq .url | xargs curl -fsS'")
      .does([options](Surroundings& with, Console& console) {
        return work(*options, with, console);
      });
}

}  // namespace millrace::cli
