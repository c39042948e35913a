#include "cli/cli.h"

#include <CLI/CLI.hpp>

#include <fmt/format.h>
#include <algorithm>

#include "cli/commands.h"
#include "cli/console.h"

namespace millrace::cli {
namespace {

constexpr const char* about =
    "Millrace is a durable task queue. A store is a directory with a journal (./data, or\n"
    "journal:./data) or a file that a memory store saves itself to (memory:?snapshot=./tasks).";

constexpr const char* examples =
    "Examples:\n"
    "  millrace export ./data --output backup.jsonl    everything in ./data, as lines of JSON\n"
    "  millrace export ./data | gzip > backup.gz       the same, compressed\n"
    "  millrace import backup.jsonl --into ./data2     into another store\n"
    "  millrace import queue-state.json --into ./data --queue claude\n"
    "  millrace verify ./data                          is every byte of it sound?\n"
    "\n"
    "Exit codes: 0 it worked, 1 it failed, 2 it was not understood, 3 stored data is damaged.\n"
    "`millrace COMMAND --help` explains a command.";

constexpr const char* about_export =
    "Writes queues, schedules, memos and tasks in all states as lines of JSON, the oldest task\n"
    "first. Changes nothing, and the store must not be in use by another process.";

constexpr const char* about_import =
    "Adds what the file has and the store has not: what is there already stays as it is, so an\n"
    "import may be run again after anything. Tasks that were running are queued. Reads what\n"
    "`millrace export` wrote, and queue-state.json files.";

constexpr const char* about_verify =
    "Reads a journal from beginning to end, checks every checksum, builds the state again and\n"
    "recounts it. Changes nothing, and the journal must not be in use.";

// What the arguments ask for.
struct Asked {
  ExportOptions exporting;
  ImportOptions importing;
  std::string directory;
};

CLI::App* add_export(CLI::App& app, ExportOptions& options) {
  auto* command = app.add_subcommand("export", "Write everything in a store as lines of JSON");
  command->description(about_export);
  command
      ->add_option("SOURCE", options.source,
                   "The store: a directory, journal:DIR or memory:?snapshot=FILE")
      ->required();
  command->add_option("-o,--output", options.output,
                      "Write to this file (default: standard output)");
  command->add_flag("-f,--force", options.force, "Replace the file if it is there");
  command->footer("Example: millrace export ./data --output backup.jsonl");
  return command;
}

CLI::App* add_import(CLI::App& app, ImportOptions& options) {
  auto* command = app.add_subcommand("import", "Add what an export has to a store");
  command->description(about_import);
  command->add_option("FILE", options.file, "The file to read; - is standard input")->required();
  command->add_option("--into", options.target, "The store; a directory is made if there is none")
      ->required();
  command->add_option("--queue", options.queue,
                      "Where the tasks of a queue-state.json go (default: default)");
  command->footer("Example: zcat backup.gz | millrace import - --into ./data");
  return command;
}

CLI::App* add_verify(CLI::App& app, std::string& directory) {
  auto* command = app.add_subcommand("verify", "Check a journal for damage");
  command->description(about_verify);
  command->add_option("DIR", directory, "The directory of the journal")->required();
  command->footer("Example: millrace verify ./data || echo damaged or unreadable");
  return command;
}

// Help goes where results go; what was not understood goes where people look.
Exit answer(const CLI::App& app, const CLI::ParseError& error, Surroundings& with) {
  if (error.get_exit_code() == 0) {
    app.exit(error, with.out, with.err);
    return Exit::ok;
  }
  with.err << fmt::format("error: {}\nTry: millrace --help\n", error.what());
  return Exit::usage;
}

}  // namespace

Exit run(std::span<const std::string> arguments, Surroundings& with) {
  CLI::App app(about, "millrace");
  app.footer(examples);
  app.set_version_flag("--version", "millrace " + with.version);
  app.require_subcommand(1);
  Asked asked;
  const auto* exporting = add_export(app, asked.exporting);
  const auto* importing = add_import(app, asked.importing);
  const auto* verifying = add_verify(app, asked.directory);
  if (arguments.empty()) {
    with.err << app.help();
    return Exit::usage;
  }
  // CLI11 wants them last first.
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    return answer(app, error, with);
  }
  Console console(with);
  if (exporting->parsed()) return export_command(asked.exporting, with, console);
  if (importing->parsed()) return import_command(asked.importing, with, console);
  if (verifying->parsed()) return verify_command(asked.directory, with, console);
  return Exit::usage;
}

}  // namespace millrace::cli
