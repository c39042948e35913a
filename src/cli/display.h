// Text for a terminal: how wide it is, and nothing in it that the terminal would act on.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace millrace::cli {

// One harmless line: control characters, also those of C1, become a space or "?", and so do bytes
// that are not UTF-8 and marks that would change the writing direction.
std::string printable(std::string_view text);

// The same over several lines: line ends and tabs stay.
std::string harmless(std::string_view text);

// JSON with the same meaning, in which everything that a terminal would act on is escaped as \u....
std::string harmless_json(std::string_view json);

// The columns that a printable text takes: two for wide characters of East Asia and pictures, none
// for marks that combine.
std::size_t columns_of(std::string_view text);

// At most this many columns; "…" ("..." in ASCII) marks what is cut off.
std::string shortened(std::string_view text, std::size_t columns, bool unicode = true);

}  // namespace millrace::cli
