#include "log/log_writer.h"

#include <fmt/format.h>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>
#include <utility>

namespace millrace {

struct LogWriter::Shared {
  Shared(Clock& c, LogOptions o, Sink s) : clock(c), options(o), sink(std::move(s)) {}

  void add(std::string_view line) {
    const std::lock_guard lock(mutex);
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
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return stopping || !waiting.empty() || dropped > 0; });
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

  void run() {
    for (std::string lines = next(); !lines.empty(); lines = next()) sink(lines);
    const std::lock_guard lock(mutex);
    ended = true;
    changed.notify_all();
  }

  Clock& clock;
  const LogOptions options;
  const Sink sink;
  std::mutex mutex;
  std::condition_variable changed;
  std::string waiting;
  std::uint64_t dropped = 0;
  bool stopping = false;
  bool ended = false;
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
  std::unique_lock lock(shared_->mutex);
  shared_->stopping = true;
  shared_->changed.notify_all();
  const bool ended = shared_->changed.wait_for(lock, within, [&] { return shared_->ended; });
  lock.unlock();
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
