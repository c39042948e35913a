// Writes entries as lines on a thread of its own, so a caller never waits for a terminal or a pipe.
// Entries that do not fit are dropped and counted; the count is written as soon as possible.
#pragma once

#include <millrace/time.h>
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>

#include "core/clock.h"
#include "core/log.h"
#include "log/format.h"

namespace millrace {

struct LogOptions {
  LogLevel least = LogLevel::info;
  LogFormat format = LogFormat::text;
  bool colours = false;
  std::size_t most_bytes = 4U << 20U;  // most bytes that wait to be written
};

class LogWriter {
 public:
  // Called on the writer's thread with one or more whole lines; may block.
  using Sink = std::function<void(std::string_view lines)>;

  // The clock must outlive every copy of log().
  LogWriter(Clock& clock, LogOptions options, Sink sink);
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;
  ~LogWriter();  // as stop(5 s)

  // The copies may outlive the writer; after stop() entries are discarded.
  Log log() const;

  // Text that is not an entry, such as a banner. The caller escapes what came from outside.
  void plain(std::string_view text);

  // Writes what waits. False: the sink was still blocked after `within`, and its thread is
  // abandoned.
  bool stop(Duration within);

 private:
  struct Shared;

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

// The usual sink.
void write_to_standard_error(std::string_view lines);

}  // namespace millrace
