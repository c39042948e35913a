#include "cli/cli.h"

#include <CLI/CLI.hpp>

#include <fmt/format.h>
#include <algorithm>
#include <optional>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/server_arguments.h"
#include "core/nearest.h"
#include "core/quote.h"

namespace millrace::cli {
namespace {

constexpr const char* about =
    "Millrace is a durable task queue. A store is a directory with a journal (./data, or\n"
    "journal:./data) or a file that a memory store saves itself to (memory:?snapshot=./tasks).";

constexpr const char* examples =
    "Examples:\n"
    "  millrace serve                                  a server on 127.0.0.1:7070, tasks in "
    "./data\n"
    "  millrace work emails -- ./send-mail             a command for every task of a queue\n"
    "  millrace config                                 its settings, and where each comes from\n"
    "  millrace keys create --name ops --scope admin   an API key\n"
    "  millrace export ./data --output backup.jsonl    everything in ./data, as lines of JSON\n"
    "  millrace export ./data | gzip > backup.gz       the same, compressed\n"
    "  millrace import backup.jsonl --into ./data2     into another store\n"
    "  millrace import queue-state.json --into ./data --queue claude\n"
    "  millrace verify ./data                          is every byte of it sound?\n"
    "\n"
    "Exit codes: 0 it worked, 1 it failed, 2 it was not understood, 3 stored data is damaged, 4 "
    "the\n"
    "store failed while it was served.\n"
    "`millrace COMMAND --help` explains a command.";

// What the arguments ask for.
struct Asked {
  ConfigOptions serving;
  WorkOptions working;
  ConfigOptions config;
  KeysOptions keys;
  ExportOptions exporting;
  ImportOptions importing;
  std::string directory;
};

CLI::App* add_export(CLI::App& app, ExportOptions& options) {
  auto* command = app.add_subcommand("export", "Write everything in a store as lines of JSON");
  command
      ->add_option("SOURCE", options.source,
                   "The store: a directory, journal:DIR or memory:?snapshot=FILE")
      ->type_name("")
      ->required();
  command->add_option("-o,--output", options.output, "Where to (default: standard output)")
      ->type_name("FILE");
  command->add_flag("-f,--force", options.force, "Replace the file if it is there");
  command->footer(
      "Writes queues, schedules, memos and tasks in all states, the oldest task first. Changes\n"
      "nothing. The store must not be in use by another process.\n"
      "\n"
      "Examples:\n"
      "  millrace export ./data --output backup.jsonl\n"
      "  millrace export ./data | gzip > backup.gz\n");
  return command;
}

CLI::App* add_import(CLI::App& app, ImportOptions& options) {
  auto* command = app.add_subcommand("import", "Add what an export has to a store");
  command->add_option("FILE", options.file, "What to read; - is standard input")
      ->type_name("")
      ->required();
  command->add_option("--into", options.target, "The store; a directory is made if there is none")
      ->type_name("STORE")
      ->required();
  command->add_option("--queue", options.queue, "Where the tasks of a queue-state.json go")
      ->type_name("NAME")
      ->default_str(options.queue);
  command->footer(
      "Adds what the store has not; what is there already stays as it is, so an import may be run\n"
      "again after anything. Tasks that were running are queued. Reads what `millrace export`\n"
      "wrote, and queue-state.json files.\n"
      "\n"
      "Examples:\n"
      "  millrace import backup.jsonl --into ./data\n"
      "  zcat backup.gz | millrace import - --into ./data\n");
  return command;
}

CLI::App* add_verify(CLI::App& app, std::string& directory) {
  auto* command = app.add_subcommand("verify", "Check a journal for damage");
  command->add_option("DIR", directory, "The directory of the journal")->type_name("")->required();
  command->footer(
      "Reads the journal from beginning to end, checks every checksum, builds the state again and\n"
      "recounts it. Changes nothing. The journal must not be in use by another process.\n"
      "\n"
      "Example:\n"
      "  millrace verify ./data || echo \"damaged, in use or not there: $?\"\n");
  return command;
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(each->get_name());
  }
  return names;
}

std::string nearest_of(std::string_view word, const std::vector<std::string>& names) {
  const std::vector<std::string_view> views(names.begin(), names.end());
  return std::string(nearest(word, views));
}

// The commands that the first arguments name: millrace, or millrace keys, or millrace keys create.
std::vector<CLI::App*> path_of(CLI::App& app, std::span<const std::string> arguments) {
  std::vector<CLI::App*> path = {&app};
  for (const std::string& each : arguments) {
    const auto below = path.back()->get_subcommands([](CLI::App*) { return true; });
    const auto next =
        std::ranges::find(below, each, [](CLI::App* command) { return command->get_name(); });
    if (next == below.end()) break;
    path.push_back(*next);
  }
  return path;
}

std::string name_of(const std::vector<CLI::App*>& path) {
  std::string name;
  for (const CLI::App* each : path) name += (name.empty() ? "" : " ") + each->get_name();
  return name;
}

// A word where a command should be.
std::optional<std::string> mistyped_command(const std::vector<CLI::App*>& path,
                                            std::span<const std::string> arguments) {
  const auto names = commands_of(*path.back());
  if (names.empty() || arguments.size() < path.size()) return std::nullopt;
  const std::string& word = arguments[path.size() - 1];
  if (word.starts_with('-')) return std::nullopt;
  return fmt::format("there is no command {}; the nearest is {}", in_quotes(word),
                     nearest_of(word, names));
}

// A flag that the command does not have.
std::optional<std::string> mistyped_flag(const CLI::App& command,
                                         std::span<const std::string> arguments) {
  std::vector<std::string> flags;
  for (const CLI::Option* each : command.get_options()) {
    for (const std::string& name : each->get_lnames()) flags.push_back("--" + name);
  }
  for (const std::string& each : arguments) {
    if (each == "--") break;
    const std::string flag = each.substr(0, each.find('='));
    if (!flag.starts_with("--") || flags.empty()) continue;
    if (std::ranges::find(flags, flag) != flags.end()) continue;
    return fmt::format("there is no flag {}; the nearest is {}", in_quotes(flag),
                       nearest_of(flag, flags));
  }
  return std::nullopt;
}

// Help goes where results go; what was not understood goes where people look.
Exit answer(const CLI::App& app, const CLI::ParseError& error, const std::vector<CLI::App*>& path,
            std::span<const std::string> arguments, Surroundings& with) {
  if (error.get_exit_code() == 0) {
    app.exit(error, with.out, with.err);
    return Exit::ok;
  }
  const bool extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const auto flag = extra ? mistyped_flag(*path.back(), arguments) : std::nullopt;
  with.err << fmt::format("error: {}\nTry: {} --help\n", flag.value_or(error.what()),
                          name_of(path));
  return Exit::usage;
}

}  // namespace

Exit run(std::span<const std::string> arguments, Surroundings& with) {
  if (!arguments.empty() && arguments.front() == "help") {  // as many tools spell it
    std::vector<std::string> asked(arguments.begin() + 1, arguments.end());
    asked.emplace_back("--help");
    return run(asked, with);
  }
  CLI::App app(about, "millrace");
  app.footer(examples);
  app.set_version_flag("--version", "millrace " + with.version);
  app.require_subcommand(1);
  Asked asked;
  const auto* serving = add_serve(app, asked.serving);
  const auto* working = add_work(app, asked.working);
  const auto* config = add_config(app, asked.config);
  const KeysCommands keys = add_keys(app, asked.keys);
  const auto* exporting = add_export(app, asked.exporting);
  const auto* importing = add_import(app, asked.importing);
  const auto* verifying = add_verify(app, asked.directory);
  if (arguments.empty()) {
    with.err << app.help();
    return Exit::usage;
  }
  const auto path = path_of(app, arguments);
  if (const auto mistyped = mistyped_command(path, arguments)) {
    with.err << fmt::format("error: {}\nTry: {} --help\n", *mistyped, name_of(path));
    return Exit::usage;
  }
  // CLI11 wants them last first.
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    return answer(app, error, path, arguments, with);
  }
  Console console(with);
  if (serving->parsed()) return serve_command(asked.serving, with, console);
  if (working->parsed()) return work_command(asked.working, with, console);
  if (config->parsed()) return config_command(asked.config, with, console);
  if (keys.create->parsed()) return create_key_command(asked.keys, with, console);
  if (keys.list->parsed()) return list_keys_command(asked.keys, with, console);
  if (keys.revoke->parsed()) return revoke_key_command(asked.keys, with, console);
  if (exporting->parsed()) return export_command(asked.exporting, with, console);
  if (importing->parsed()) return import_command(asked.importing, with, console);
  if (verifying->parsed()) return verify_command(asked.directory, with, console);
  return Exit::usage;
}

}  // namespace millrace::cli
