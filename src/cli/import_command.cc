// `millrace import`: adds the contents of an export to a store.
#include <fmt/format.h>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "access/key_book.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "store/save.h"
#include "store/store.h"
#include "transfer/import.h"
#include "transfer/upload.h"

namespace millrace::cli {
namespace {

struct Options {
  std::string file = {};  // "-": standard input
  std::string target = {};
  std::string queue = "default";
  ServerOptions server = {};
};

std::string line(std::string_view what, const transfer::Counts& counts) {
  return fmt::format("{} {}{}, {}, {} and {}", what, counted(counts.queues, "queue", "queues"),
                     counts.groups == 0 ? "" : ", " + counted(counts.groups, "group", "groups"),
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
    console.say(
        fmt::format("left out {} whose time is over", counted(report.expired, "entry", "entries")));
  }
}

// Reports an import that stopped. If it stopped at the first line, running it again does not help.
Exit tell_error(const transfer::ImportReport& report, Console& console) {
  const bool began = report.added != transfer::Counts{} || report.existing != transfer::Counts{};
  const Exit exit =
      began
          ? console.fail(*report.error, "What was added is safe. Run the import again to continue.")
          : console.fail(*report.error);
  return exit;
}

// With its first key a server no longer accepts requests without one.
void tell_keys(std::uint64_t keys, Console& console) {
  if (keys == 0) return;
  console.warn(fmt::format("{} came with the import; from now on requests need a key",
                           counted(keys, "API key", "API keys")));
}

std::uint64_t keys_in(Store& store, TimePoint now) {
  const auto keys = access::all_memos(
      access::memo_prefix, [&](const Recall& recall) { return store.recall(recall, now); });
  return keys ? keys->size() : 0;
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

// A key that cannot be read would close the server to every caller.
Result<void> check_key(const Memo& memo) {
  if (!memo.key.starts_with(access::memo_prefix)) return {};
  auto key = access::from_memo(memo);
  if (!key) return fail(ErrorCode::invalid, std::move(key.error().message));
  return {};
}

Exit import_from(std::istream& in, std::uint64_t size, const Options& options, Store& store,
                 Surroundings& with, Console& console) {
  const std::uint64_t keys = keys_in(store, with.clock.now());
  const auto report = transfer::import_store(
      in, store, with.clock.now(),
      {.queue = options.queue,
       .progress = [&](const auto&,
                       std::uint64_t bytes) { console.progress("importing", bytes, size); },
       .check_memo = check_key});
  const auto saved = save(store, with.clock.now());
  tell(report, console);
  if (!saved) return console.fail(saved.error(), "What was added is lost. Run the import again.");
  if (report.added.memos != 0) tell_keys(keys_in(store, with.clock.now()) - keys, console);
  // An error here is an error of the file; a damaged store says `corrupt`.
  return report.error ? tell_error(report, console) : Exit::ok;
}

transfer::ImportReport report_of(const wire::Imported& imported) {
  const auto counts = [](const wire::ImportedCounts& of) {
    return transfer::Counts{of.queues, of.schedules, of.memos, of.tasks, of.groups};
  };
  transfer::ImportReport report{.added = counts(imported.added),
                                .existing = counts(imported.existing),
                                .key_held = imported.key_held,
                                .expired = imported.expired,
                                .error = imported.error};
  if (report.error && imported.line != 0) {
    report.error->message = fmt::format("line {}: {}", imported.line, report.error->message);
  }
  return report;
}

// The file is sent to the server unchanged; the server finds its errors.
Exit send_to_server(std::istream& in, std::uint64_t size, const Options& options,
                    Session& session) {
  Console& console = session.console();
  transfer::Upload upload(in, options.queue, session.now());
  if (auto good = upload.begin(); !good) return console.fail(good.error());
  using More = std::function<Result<std::size_t>(std::span<char>)>;
  const More more = [&](std::span<char> room) {
    console.progress("importing", upload.bytes(), size);
    return upload.fill(room);
  };
  const auto imported = session.ask<wire::Imported>(&HttpBroker::import_lines, more);
  if (!imported) {
    const Exit exit = session.fail(imported.error());
    if (imported.error().code == ErrorCode::unavailable && upload.bytes() != 0) {
      console.say("What was added is safe. Run the import again to continue.");
    }
    return exit;
  }
  const transfer::ImportReport report = report_of(*imported);
  tell(report, console);
  tell_keys(std::min(upload.keys(), report.added.memos), console);
  return report.error ? tell_error(report, console) : Exit::ok;
}

Exit import_into_store(std::istream& in, std::uint64_t size, const Options& options,
                       Surroundings& with, Console& console) {
  const auto url = parse_store_url(options.target);
  if (!url) {
    console.fail(url.error());
    return Exit::usage;
  }
  auto store = with.host.open_store(
      *url, Access::write,
      [&](std::uint64_t done, std::uint64_t total) { console.progress("opening", done, total); },
      [&](std::string_view warning) { console.warn(warning); });
  if (!store) return tell_store_error(store.error(), "import FILE --into {}", with, console);
  return import_from(in, size, options, **store, with, console);
}

Exit import_file(const Options& options, Surroundings& with, Console& console) {
  std::ifstream file;
  const bool from_file = options.file != "-";
  if (from_file) {
    file.open(options.file, std::ios::binary);
    if (!file || is_directory(options.file)) {
      return console.fail({ErrorCode::not_found, fmt::format("cannot read {}", options.file)},
                          "Give the file that `millrace export` wrote, or - for standard input.");
    }
  }
  std::istream& in = from_file ? file : with.in;
  constexpr int gzip = 0x1f;  // the first byte of gzip; JSON cannot begin with it
  if (in.peek() == gzip) {
    return console.fail(
        {ErrorCode::invalid, "the input is compressed"},
        fmt::format("Decompress it first: zcat {} | millrace import - --into {}",
                    from_file ? options.file : "FILE", without_password(options.target)));
  }
  in.clear();  // an empty file is reported as such
  const std::uint64_t size = from_file ? size_of(options.file) : 0;
  if (!is_server(options.target)) return import_into_store(in, size, options, with, console);
  ServerOptions server = options.server;
  server.server = options.target;
  const auto session = Session::open(server, with, console);
  return session ? send_to_server(in, size, options, *session) : Exit::usage;
}

}  // namespace

void add_import(Command& millrace) {
  auto options = std::make_shared<Options>();
  millrace.add("import", "Add the contents of an export to a store or a server")
      .word("FILE", options->file, "The file to read; - is standard input")
      .value("--into", options->target, "STORE",
             "The store, a directory that is made if there is none; or a server, http://...")
      .required()
      .value("--queue", options->queue, "NAME",
             "The queue for the tasks of a queue-state.json [default]")
      .value("--key-file", options->server.key_file, "FILE",
             "A file with the server's API key (else MILLRACE_KEY)")
      .value("--ca-file", options->server.ca_file, "FILE",
             "The certificate of a private authority to trust (else MILLRACE_CA_FILE, else "
             "SSL_CERT_FILE)")
      .explain(
          "Adds what the store does not have and changes nothing that it has, so an import may be\n"
          "run again after any failure. Tasks that were running are queued. Reads what\n"
          "`millrace export` wrote, and queue-state.json files.")
      .example("millrace import backup.jsonl --into ./data")
      .example("zcat backup.gz | millrace import - --into ./data")
      .example("millrace import backup.jsonl --into http://127.0.0.1:7070", "into a running server")
      .example("millrace import queue-state.json --into ./data --queue emails")
      .does([options](Surroundings& with, Console& console) {
        return import_file(*options, with, console);
      });
}

}  // namespace millrace::cli
