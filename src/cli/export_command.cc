// `millrace export`: everything in a store, as lines of JSON.
#include <fmt/format.h>
#include <algorithm>
#include <functional>
#include <optional>
#include <sstream>
#include <variant>

#include "cli/commands.h"
#include "cli/output_file.h"
#include "cli/session.h"
#include "core/quote.h"
#include "store/store.h"
#include "transfer/export.h"
#include "transfer/line.h"
#include "transfer/queue_state_writer.h"

namespace millrace::cli {
namespace {

constexpr std::string_view lines_format = "lines";
constexpr std::string_view queue_state_format = "queue-state";

struct Options {
  std::string source = {};
  std::string output = {};  // empty: standard output
  bool force = false;       // replace the output file
  std::string format = std::string(lines_format);
  std::string queue = {};  // of a queue-state.json; empty: the only one
  ServerOptions server = {};
};

std::string summary(const transfer::Counts& counts) {
  return fmt::format("{}{}, {}, {} and {}", counted(counts.queues, "queue", "queues"),
                     counts.groups == 0 ? "" : ", " + counted(counts.groups, "group", "groups"),
                     counted(counts.schedules, "schedule", "schedules"),
                     counted(counts.memos, "memo", "memos"),
                     counted(counts.tasks, "task", "tasks"));
}

using ExportTo = std::function<Result<transfer::ExportReport>(std::ostream&)>;

Result<transfer::ExportReport> as_queue_state(const Options& options, std::ostream& out,
                                              const ExportTo& export_to) {
  std::stringstream lines;
  if (auto report = export_to(lines); !report) return report;
  return transfer::write_queue_state(lines, out, options.queue);
}

// Writes to a file that appears only when it is complete, or to standard output.
Result<transfer::ExportReport> write(const Options& options, Surroundings& with,
                                     const ExportTo& lines_to) {
  const ExportTo export_to = [&](std::ostream& out) {
    return options.format == lines_format ? lines_to(out) : as_queue_state(options, out, lines_to);
  };
  if (options.output.empty()) return export_to(with.out);
  OutputFile file(options.output);
  if (auto opened = file.open(options.force); !opened) {
    return std::unexpected(std::move(opened.error()));
  }
  auto report = export_to(file.stream());
  if (!report) return report;
  if (auto done = file.finish(); !done) return std::unexpected(std::move(done.error()));
  return report;
}

Exit tell(const Result<transfer::ExportReport>& report, const Options& options, Surroundings& with,
          Console& console) {
  // Errors of standard output are reported at the end, as for every command.
  if (options.output.empty() && !with.out.flush()) return Exit::failed;
  if (!report) return console.fail(report.error());
  for (const std::string& each : report->left_out) console.warn(fmt::format("left out {}", each));
  console.say(fmt::format("exported {}{}", summary(report->written),
                          options.output.empty() ? "" : " to " + options.output));
  return Exit::ok;
}

Exit export_store(const Options& options, Surroundings& with, Console& console) {
  const auto url = parse_store_url(options.source);
  if (!url) {
    console.fail(url.error());
    return Exit::usage;
  }
  auto store = with.host.open_store(
      *url, Access::read,
      [&](std::uint64_t done, std::uint64_t total) { console.progress("opening", done, total); },
      [&](std::string_view warning) { console.warn(warning); });
  if (!store) return tell_store_error(store.error(), "export {}", with, console);
  const auto report = write(options, with, [&](std::ostream& out) {
    return transfer::export_store(**store, out, with.clock.now(),
                                  [&](std::uint64_t done, std::uint64_t total) {
                                    console.progress("exporting", done, total);
                                  });
  });
  return tell(report, options, with, console);
}

// The lines from a server, and the last of them, which holds the counts.
class Download {
 public:
  explicit Download(std::ostream& out) : out_(out) {}

  Result<void> take(std::string_view piece) {
    out_ << piece;
    if (!out_) {
      return fail(ErrorCode::unavailable,
                  "the output cannot be written; is the disk full, or was the reader closed?");
    }
    bytes_ += piece.size();
    lines_ += static_cast<std::uint64_t>(std::ranges::count(piece, '\n'));
    // The closing line is short, so the end of the text is enough.
    tail_ += piece;
    if (tail_.size() > 2 * kept) tail_.erase(0, tail_.size() - kept);
    return {};
  }

  Result<transfer::ExportReport> end() {
    out_.flush();
    std::string_view last = tail_;
    if (last.ends_with('\n')) last.remove_suffix(1);
    last = last.substr(last.rfind('\n') + 1);
    const auto line = transfer::read_line(last, true);
    const auto* end = line ? std::get_if<transfer::End>(&*line) : nullptr;
    if (end == nullptr) {
      return fail(ErrorCode::unavailable, fmt::format("the server closed the connection after {}",
                                                      counted(lines_, "line", "lines")));
    }
    return transfer::ExportReport{.written = end->counts, .left_out = end->left_out};
  }

  std::uint64_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kept = 4096;
  std::ostream& out_;
  std::string tail_;
  std::uint64_t bytes_ = 0;
  std::uint64_t lines_ = 0;
};

Exit export_server(const Options& options, Session& session) {
  std::optional<Exit> refused;
  const auto report = write(options, session.with(), [&](std::ostream& out) {
    Download download(out);
    using Take = std::function<Result<void>(std::string_view)>;
    const Take take = [&](std::string_view piece) {
      session.console().progress("exporting, MiB", download.bytes() >> 20U, 0);
      return download.take(piece);
    };
    const auto done = session.ask<void>(&HttpBroker::export_lines, take);
    if (done) return download.end();
    // A local write error is not the server's.
    if (!out) return Result<transfer::ExportReport>(std::unexpected(done.error()));
    refused = session.fail(done.error());
    return Result<transfer::ExportReport>(std::unexpected(done.error()));
  });
  if (refused) return *refused;
  return tell(report, options, session.with(), session.console());
}

Result<void> check(const Options& options) {
  const bool lines = options.format == lines_format;
  if (!lines && options.format != queue_state_format) {
    return fail(ErrorCode::invalid,
                fmt::format("--format is {}; allowed are {} and {}", in_quotes(options.format),
                            lines_format, queue_state_format));
  }
  if (lines && !options.queue.empty()) {
    return fail(ErrorCode::invalid, fmt::format("--queue is for --format {}; lines have all queues",
                                                queue_state_format));
  }
  return {};
}

Exit export_from(const Options& options, Surroundings& with, Console& console) {
  if (const auto good = check(options); !good) {
    console.fail(good.error());
    return Exit::usage;
  }
  if (!is_server(options.source)) return export_store(options, with, console);
  ServerOptions server = options.server;
  server.server = options.source;
  const auto session = Session::open(server, with, console);
  return session ? export_server(options, *session) : Exit::usage;
}

}  // namespace

void add_export(Command& millrace) {
  auto options = std::make_shared<Options>();
  millrace.add("export", "Write everything in a store or a server as lines of JSON")
      .word("SOURCE", options->source,
            "The store: a directory, journal:DIR or memory:?snapshot=FILE; or a server, http://...")
      .value("-o,--output", options->output, "FILE", "The file to write (default: standard output)")
      .flag("-f,--force", options->force, "Replace the file if it exists")
      .value("--format", options->format, "lines|queue-state",
             "Lines, or the document {queues, tasks} of one queue")
      .value("--queue", options->queue, "NAME",
             "The queue to write, with queue-state; optional if only one queue has tasks")
      .value("--key-file", options->server.key_file, "FILE",
             "A file with the server's API key (else MILLRACE_KEY)")
      .value("--ca-file", options->server.ca_file, "FILE",
             "The certificate of a private authority to trust (else MILLRACE_CA_FILE, else "
             "SSL_CERT_FILE)")
      .explain(
          "Writes queues, schedules, memos and tasks in all states, the oldest task first. "
          "Changes\n"
          "nothing. A store must not be in use by another process; a server continues to work.")
      .example("millrace export ./data --output backup.jsonl")
      .example("millrace export http://127.0.0.1:7070 --output backup.jsonl", "of a running server")
      .example("millrace export ./data | gzip > backup.gz")
      .example("millrace export ./data --format queue-state -o queue-state.json")
      .does([options](Surroundings& with, Console& console) {
        return export_from(*options, with, console);
      });
}

}  // namespace millrace::cli
