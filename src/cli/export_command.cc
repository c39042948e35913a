// `millrace export`: everything in a store, as lines of JSON.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/output_file.h"
#include "transfer/export.h"

namespace millrace::cli {
namespace {

struct Options {
  std::string source = {};
  std::string output = {};  // empty: standard output
  bool force = false;       // replace the output file
};

std::string summary(const transfer::Counts& counts) {
  return fmt::format("{}, {}, {} and {}", counted(counts.queues, "queue", "queues"),
                     counted(counts.schedules, "schedule", "schedules"),
                     counted(counts.memos, "memo", "memos"),
                     counted(counts.tasks, "task", "tasks"));
}

Result<transfer::ExportReport> write_to(std::ostream& out, Store& store, Surroundings& with,
                                        Console& console) {
  return transfer::export_store(
      store, out, with.clock.now(),
      [&](std::uint64_t done, std::uint64_t total) { console.progress("exporting", done, total); });
}

Result<transfer::ExportReport> write(const Options& options, Store& store, Surroundings& with,
                                     Console& console) {
  if (options.output.empty()) return write_to(with.out, store, with, console);
  OutputFile file(options.output);
  if (auto opened = file.open(options.force); !opened) {
    return std::unexpected(std::move(opened.error()));
  }
  auto report = write_to(file.stream(), store, with, console);
  if (!report) return report;
  if (auto done = file.finish(); !done) return std::unexpected(std::move(done.error()));
  return report;
}

Exit export_store(const Options& options, Surroundings& with, Console& console) {
  const auto url = parse_store_url(options.source);
  if (!url) {
    console.fail(url.error());
    return Exit::usage;
  }
  auto store = with.open_store(
      *url, Access::read,
      [&](std::uint64_t done, std::uint64_t total) { console.progress("opening", done, total); },
      [&](std::string_view notice) { console.warn(notice); });
  if (!store) return console.fail(store.error());
  const auto report = write(options, **store, with, console);
  if (!report) return console.fail(report.error());
  for (const std::string& each : report->left_out) console.warn(fmt::format("left out {}", each));
  console.say(fmt::format("exported {}{}", summary(report->written),
                          options.output.empty() ? "" : " to " + options.output));
  return Exit::ok;
}

}  // namespace

void add_export(Command& millrace) {
  auto options = std::make_shared<Options>();
  millrace.add("export", "Write everything in a store as lines of JSON")
      .word("SOURCE", options->source,
            "The store: a directory, journal:DIR or memory:?snapshot=FILE")
      .value("-o,--output", options->output, "FILE", "Where to (default: standard output)")
      .flag("-f,--force", options->force, "Replace the file if it is there")
      .explain(
          "Writes queues, schedules, memos and tasks in all states, the oldest task first. "
          "Changes\n"
          "nothing. The store must not be in use by another process.")
      .example("millrace export ./data --output backup.jsonl")
      .example("millrace export ./data | gzip > backup.gz")
      .does([options](Surroundings& with, Console& console) {
        return export_store(*options, with, console);
      });
}

}  // namespace millrace::cli
