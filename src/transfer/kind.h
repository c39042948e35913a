// Which format a file to be imported has.
#pragma once

#include <millrace/result.h>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace millrace::transfer {

enum class Kind : std::uint8_t {
  lines,     // an export
  document,  // a queue-state.json
};

// How many bytes are needed to tell.
inline constexpr std::size_t look_ahead = 4096;
// A queue-state.json is one JSON document and has to fit into memory.
inline constexpr std::size_t largest_document = std::size_t{1} << 30U;
inline constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

// By its first key.
Result<Kind> kind_of(std::string_view beginning);

}  // namespace millrace::transfer
