// Text as a terminal shows it: how wide it is, and nothing in it that the terminal would obey.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace millrace::cli {

// On one line and harmless: control characters, also those of C1, become a space or "?", and so do
// bytes that are no UTF-8 and marks that would turn the direction of writing.
std::string printable(std::string_view text);

// The same over several lines: line ends and tabs stay.
std::string harmless(std::string_view text);

// JSON that means the same, with what a terminal would obey written as \u....
std::string harmless_json(std::string_view json);

// The columns that a printable text takes: two for wide characters of East Asia and pictures, none
// for marks that combine.
std::size_t columns_of(std::string_view text);

// At most so many columns; what is cut off is told by "…" ("..." where only ASCII will do).
std::string shortened(std::string_view text, std::size_t columns, bool unicode = true);

}  // namespace millrace::cli
