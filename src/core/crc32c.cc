#include "core/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

namespace millrace {
namespace {

constexpr std::uint32_t polynomial = 0x82F6'3B78;  // reflected

// Eight tables, so that eight bytes take eight look-ups that do not wait for each other.
using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? polynomial : 0U);
    tables[0][byte] = crc;
  }
  for (std::size_t table = 1; table < tables.size(); ++table) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[table - 1][byte];
      tables[table][byte] = (before >> 8U) ^ tables[0][before & 0xFFU];
    }
  }
  return tables;
}

constexpr Tables tables = make_tables();

std::uint64_t load_eight(const char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof(word));
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

#if defined(__x86_64__)
// The instruction takes three cycles but can begin every cycle, so long inputs go in three lanes at
// once. Appending the lanes behind it changes a lane's checksum by a linear map, which is kept as
// tables.
constexpr std::size_t lane = 512;

struct LaneTables {
  std::array<std::array<std::uint32_t, 256>, 4> append{};

  constexpr LaneTables() {
    std::array<std::uint32_t, 32> of_bit{};
    for (std::size_t bit = 0; bit < 32; ++bit) {
      std::uint32_t crc = 1U << bit;
      for (std::size_t i = 0; i < lane; ++i) crc = (crc >> 8U) ^ tables[0][crc & 0xFFU];
      of_bit[bit] = crc;
    }
    for (std::size_t byte = 0; byte < 4; ++byte) {
      for (std::size_t value = 0; value < 256; ++value) {
        for (std::size_t bit = 0; bit < 8; ++bit) {
          if ((value >> bit & 1U) != 0) append[byte][value] ^= of_bit[byte * 8 + bit];
        }
      }
    }
  }

  // The checksum after `lane` more zeros.
  std::uint32_t operator()(std::uint64_t crc) const {
    return append[0][crc & 0xFFU] ^ append[1][crc >> 8U & 0xFFU] ^ append[2][crc >> 16U & 0xFFU] ^
           append[3][crc >> 24U & 0xFFU];
  }
};
constexpr LaneTables append_lane;

__attribute__((target("sse4.2"))) std::uint32_t crc32c_fast(std::uint32_t seed,
                                                            std::string_view bytes) {
  std::uint64_t crc = ~seed;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 3 * lane; at += 3 * lane, left -= 3 * lane) {
    std::uint64_t second = 0;
    std::uint64_t third = 0;
    for (const char* end = at + lane; at != end; at += 8) {
      crc = __builtin_ia32_crc32di(crc, load_eight(at));
      second = __builtin_ia32_crc32di(second, load_eight(at + lane));
      third = __builtin_ia32_crc32di(third, load_eight(at + 2 * lane));
    }
    crc = append_lane(append_lane(crc) ^ second) ^ third;
    at -= lane;
  }
  for (; left >= 8; at += 8, left -= 8) crc = __builtin_ia32_crc32di(crc, load_eight(at));
  auto narrow = static_cast<std::uint32_t>(crc);
  for (; left > 0; ++at, --left) {
    narrow = __builtin_ia32_crc32qi(narrow, static_cast<unsigned char>(*at));
  }
  return ~narrow;
}

const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
#endif

}  // namespace

std::uint32_t crc32c_portable(std::uint32_t seed, std::string_view bytes) {
  std::uint32_t crc = ~seed;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) {
    const std::uint64_t word = load_eight(at) ^ crc;
    crc = 0;
    for (std::size_t byte = 0; byte < 8; ++byte) {
      crc ^= tables[7 - byte][(word >> (8 * byte)) & 0xFFU];
    }
  }
  for (; left > 0; ++at, --left) {
    crc = (crc >> 8U) ^ tables[0][(crc ^ static_cast<unsigned char>(*at)) & 0xFFU];
  }
  return ~crc;
}

std::uint32_t crc32c(std::uint32_t seed, std::string_view bytes) {
#if defined(__x86_64__)
  if (has_instruction) return crc32c_fast(seed, bytes);
#endif
  return crc32c_portable(seed, bytes);
}

}  // namespace millrace
