// Single values as JSON text.
#pragma once

#include <millrace/time.h>
#include <cstdint>
#include <string>
#include <string_view>

namespace millrace::json {

// In quotes. JSON holds text only: what is not UTF-8 becomes U+FFFD.
void append_text(std::string& out, std::string_view text);
void append_number(std::string& out, std::int64_t number);
void append_number(std::string& out, std::uint64_t number);
// The shortest text that is read as the same number; null for NaN and infinity.
void append_number(std::string& out, double number);
void append_number(std::string& out, float number);
// UTC with milliseconds and a Z; "never" for `never`.
void append_time(std::string& out, TimePoint moment);

// Resolves the escapes of a string without its quotes. The string must be well-formed:
// skip_string() has checked it.
void unescape(std::string_view text, std::string& to);

}  // namespace millrace::json
