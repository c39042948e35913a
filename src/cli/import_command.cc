// `millrace import`: what an export has, into a store.
#include <fmt/format.h>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "cli/commands.h"
#include "store/save.h"
#include "transfer/import.h"

namespace millrace::cli {
namespace {

struct Options {
  std::string file = {};  // "-": standard input
  std::string target = {};
  std::string queue = "default";
};

std::string line(std::string_view what, const transfer::Counts& counts) {
  return fmt::format("{} {}, {}, {} and {}", what, counted(counts.queues, "queue", "queues"),
                     counted(counts.schedules, "schedule", "schedules"),
                     counted(counts.memos, "memo", "memos"),
                     counted(counts.tasks, "task", "tasks"));
}

void tell(const transfer::ImportReport& report, Console& console) {
  console.say(line("added", report.added));
  if (report.existing != transfer::Counts{}) {
    console.say(line("left as they were:", report.existing));
  }
  if (report.key_held != 0) {
    console.warn(fmt::format("left out {}: another one in the target holds the same unique key",
                             counted(report.key_held, "task", "tasks")));
  }
  if (report.expired != 0) {
    console.say(fmt::format("left out {} whose lifetime is over",
                            counted(report.expired, "memo", "memos")));
  }
}

std::uint64_t size_of(const std::string& file) {
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  return error ? 0 : size;
}

bool is_directory(const std::string& file) {
  std::error_code error;
  return std::filesystem::is_directory(file, error);
}

Exit import_from(std::istream& in, std::uint64_t size, const Options& options, Store& store,
                 Surroundings& with, Console& console) {
  const auto report = transfer::import_store(
      in, store, with.clock.now(),
      {.queue = options.queue, .progress = [&](const auto&, std::uint64_t bytes) {
         console.progress("importing", bytes, size);
       }});
  const auto saved = save(store, with.clock.now());
  tell(report, console);
  if (!saved) return console.fail(saved.error(), "What was added is lost. Run the import again.");
  if (!report.error) return Exit::ok;
  console.fail(*report.error,
               "What is added is safe. Running the import again goes on from there.");
  // A bad file is the file's fault; the store says `corrupt` when it is its own.
  return report.error->code == ErrorCode::corrupt ? Exit::corrupt : Exit::failed;
}

Exit import_store(const Options& options, Surroundings& with, Console& console) {
  const auto url = parse_store_url(options.target);
  if (!url) {
    console.fail(url.error());
    return Exit::usage;
  }
  std::ifstream file;
  const bool from_file = options.file != "-";
  if (from_file) {
    file.open(options.file, std::ios::binary);
    if (!file || is_directory(options.file)) {
      return console.fail({ErrorCode::not_found, fmt::format("cannot read {}", options.file)},
                          "Give the file that `millrace export` wrote, or - for standard input.");
    }
  }
  auto store = with.open_store(
      *url, Access::write,
      [&](std::uint64_t done, std::uint64_t total) { console.progress("opening", done, total); },
      [&](std::string_view notice) { console.warn(notice); });
  if (!store) return console.fail(store.error());
  return import_from(from_file ? file : with.in, from_file ? size_of(options.file) : 0, options,
                     **store, with, console);
}

}  // namespace

void add_import(Command& millrace) {
  auto options = std::make_shared<Options>();
  millrace.add("import", "Add what an export has to a store")
      .word("FILE", options->file, "What to read; - is standard input")
      .value("--into", options->target, "STORE", "The store; a directory is made if there is none")
      .required()
      .value("--queue", options->queue, "NAME",
             "Where the tasks of a queue-state.json go [default]")
      .explain(
          "Adds what the store has not; what is there already stays as it is, so an import may be\n"
          "run again after anything. Tasks that were running are queued. Reads what\n"
          "`millrace export` wrote, and queue-state.json files.")
      .example("millrace import backup.jsonl --into ./data")
      .example("zcat backup.gz | millrace import - --into ./data")
      .example("millrace import queue-state.json --into ./data --queue claude")
      .does([options](Surroundings& with, Console& console) {
        return import_store(*options, with, console);
      });
}

}  // namespace millrace::cli
