#include "log/log_writer.h"

#include <fmt/format.h>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "core/mutex.h"

namespace millrace {

struct LogWriter::Shared {
  Shared(Clock& c, LogOptions o, Sink s) : clock(c), options(o), sink(std::move(s)) {}

  void add(std::string_view line) {
    const Lock lock(mutex);
    if (stopping) return;
    if (waiting.size() + line.size() > options.most_bytes) {
      ++dropped;
      return;
    }
    waiting += line;
    changed.notify_one();
  }

  // The text to write next; empty: the writer has stopped.
  std::string next() {
    const Lock lock(mutex);
    changed.wait(mutex,
                 [this]() REQUIRES(mutex) { return stopping || !waiting.empty() || dropped > 0; });
    std::string lines = std::exchange(waiting, {});
    if (const auto lost = std::exchange(dropped, 0); lost > 0) {
      const LogEntry entry{
          .level = LogLevel::warning,
          .message =
              fmt::format("{} log lines were dropped: the reader of the log is too slow", lost)};
      lines += format_line(entry, clock.now(), options.format, options.colours);
    }
    return lines;
  }

  // Has run() end; whether it did so within the time.
  bool end(Duration within) {
    const Lock lock(mutex);
    stopping = true;
    changed.notify_all();
    return changed.wait_for(mutex, within, [this]() REQUIRES(mutex) { return ended; });
  }

  void run() {
    for (std::string lines = next(); !lines.empty(); lines = next()) sink(lines);
    const Lock lock(mutex);
    ended = true;
    changed.notify_all();
  }

  Clock& clock;
  const LogOptions options;
  const Sink sink;
  Mutex mutex{LockRank::log};
  Condition changed;
  std::string waiting GUARDED_BY(mutex);
  std::uint64_t dropped GUARDED_BY(mutex) = 0;
  bool stopping GUARDED_BY(mutex) = false;
  bool ended GUARDED_BY(mutex) = false;
};

LogWriter::LogWriter(Clock& clock, LogOptions options, Sink sink)
    : shared_(std::make_shared<Shared>(clock, options, std::move(sink))),
      thread_([shared = shared_] { shared->run(); }) {}

LogWriter::~LogWriter() {
  constexpr Duration patience = std::chrono::seconds(5);
  stop(patience);
}

Log LogWriter::log() const {
  return {.least = shared_->options.least, .write = [shared = shared_](const LogEntry& entry) {
            shared->add(format_line(entry, shared->clock.now(), shared->options.format,
                                    shared->options.colours));
          }};
}

void LogWriter::plain(std::string_view text) {
  shared_->add(text);
}

bool LogWriter::stop(Duration within) {
  if (!thread_.joinable()) return true;
  const bool ended = shared_->end(within);
  if (ended) {
    thread_.join();
  } else {
    thread_.detach();
  }
  return ended;
}

void write_to_standard_error(std::string_view lines) {
  // One call, so that lines of other processes do not come between. An error cannot be reported
  // anywhere.
  std::fwrite(lines.data(), 1, lines.size(), stderr);
}

}  // namespace millrace
