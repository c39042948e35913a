// How an entry looks as a line.
#pragma once

#include <millrace/time.h>
#include <cstdint>
#include <string>

#include "core/log.h"

namespace millrace {

enum class LogFormat : std::uint8_t {
  text,  // 2026-01-02T03:04:05.678Z INFO  message key=value
  json,  // {"time":"...","level":"info","message":"...","key":"value"}
};

// One line with its end, whatever the entry holds: control characters and what is not UTF-8 are
// escaped, so that nobody can write a second line or speak to the terminal. The secret part of an
// API key that got into an entry is left out.
std::string format_line(const LogEntry& entry, TimePoint now, LogFormat format,
                        bool colours = false);

}  // namespace millrace
