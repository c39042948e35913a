// How a message shows text that came from outside.
#pragma once

#include <string>
#include <string_view>

namespace millrace {

// The text in double quotes, safe to print and to log: bytes that are not printable ASCII become
// \xNN, a quote or backslash gets a backslash, and text longer than 80 bytes ends in "...".
std::string in_quotes(std::string_view text);

}  // namespace millrace
