// Text made to fit.
#pragma once

#include <cstddef>
#include <string>

namespace millrace {

// The first `most` bytes at most, cut between characters where the text is UTF-8.
std::string clip(std::string text, std::size_t most);

}  // namespace millrace
