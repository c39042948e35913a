// Writes entries as lines, from a thread of its own: whoever logs never waits for a terminal or a
// pipe. What does not fit is dropped and counted, and the count is written as soon as it can be.
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
  std::size_t most_bytes = 4U << 20U;  // that wait to be written
};

class LogWriter {
 public:
  // Called on the writer's thread with one or more whole lines; may block.
  using Sink = std::function<void(std::string_view lines)>;

  // The clock must outlive everybody who logs.
  LogWriter(Clock& clock, LogOptions options, Sink sink);
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;
  ~LogWriter();  // as stop(5 s)

  // May be used as long as anybody likes; after stop() entries go nowhere.
  Log log() const;

  // Text for people that is no entry, in its turn; escape what came from outside.
  void plain(std::string_view text);

  // Writes what waits. False: the sink was still blocked after `within`, and is left to itself.
  bool stop(Duration within);

 private:
  struct Shared;

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

// The usual sink.
void write_to_standard_error(std::string_view lines);

}  // namespace millrace
