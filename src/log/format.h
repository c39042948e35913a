// An entry as a line of text.
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

// One line with its end, whatever the entry holds. Control characters and bytes that are not UTF-8
// are escaped, so an entry can neither forge a second line nor control the terminal. The secret
// part of an API key is left out.
std::string format_line(const LogEntry& entry, TimePoint now, LogFormat format,
                        bool colours = false);

}  // namespace millrace
