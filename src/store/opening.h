// How a store is opened, whichever it is.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace millrace {

enum class Access : std::uint8_t {
  read,   // must be there; is not changed
  write,  // made if it is not there
  serve,  // the same, and may also begin empty and end with the process
};

// Receives how far a long opening has come.
using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;
// Receives what the operator of the opening process should know.
using OpeningWarning = std::function<void(std::string_view)>;

}  // namespace millrace
