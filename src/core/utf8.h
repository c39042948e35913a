// UTF-8, as far as text must be checked.
#pragma once

#include <cstddef>
#include <string_view>

namespace millrace {

// The number of bytes of the character at the start of `text`; 0 if there is none. Overlong forms,
// halves of surrogate pairs and code points beyond the last are not characters.
std::size_t utf8_character(std::string_view text);

bool is_utf8(std::string_view text);

}  // namespace millrace
