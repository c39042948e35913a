// CRC-32C (Castagnoli), the checksum of everything on disk.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace {

// The checksum of `bytes` after `seed`, so that it can be computed piece by piece: the checksum of
// a + b is crc32c(crc32c(0, a), b).
std::uint32_t crc32c(std::uint32_t seed, std::string_view bytes);

// The same without the processor's instruction; the tests compare the two.
std::uint32_t crc32c_portable(std::uint32_t seed, std::string_view bytes);

}  // namespace millrace
