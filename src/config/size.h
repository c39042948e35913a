// Bytes as text: 512, 16KiB, 8MiB, 1.5GiB, 10MB.
#pragma once

#include <millrace/result.h>
#include <cstdint>
#include <string>
#include <string_view>

namespace millrace::config {

struct Size {
  std::uint64_t bytes = 0;

  friend bool operator==(const Size&, const Size&) = default;
};

// B, KiB, MiB, GiB, TiB are powers of 1024; kB, MB, GB, TB powers of 1000; any case of letters. A
// number without a unit is bytes. A fraction must come out as whole bytes. Spaces are not allowed.
Result<Size> parse_size(std::string_view text);

// The shortest exact text in units of 1024: 8MiB, 1536, 0.
std::string to_text(Size size);

}  // namespace millrace::config
