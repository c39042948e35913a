// Scans JSON as text, without building values: where a value ends, and whether a text is JSON.
//
// Strict as RFC 8259 is, and as Boost.JSON, which our own client reads with: UTF-8 only, no control
// characters in strings, no half of a surrogate pair. Nothing is recursive, so depth costs nothing.
#pragma once

#include <cstddef>
#include <string_view>

namespace millrace::json {

// Lists and objects inside each other.
inline constexpr std::size_t max_depth = 512;

constexpr bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

// Skips one value that begins at `from` (no space before it). nullptr: it is not JSON, and `wrong`
// is the place of the error, which is the end of the text if the text is incomplete.
const char* skip_value(const char* from, const char* end, const char*& wrong);

// Skips a string, from after its opening quote to after the closing one. `escaped`: it has
// backslashes. nullptr as above.
const char* skip_string(const char* from, const char* end, bool& escaped, const char*& wrong);

// One JSON value and nothing else but white space.
bool is_json(std::string_view text);
// The same, and it is an object.
bool is_json_object(std::string_view text);

// Whether a content type is JSON's; empty is.
bool is_json_type(std::string_view content_type);

}  // namespace millrace::json
