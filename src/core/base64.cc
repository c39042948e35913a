#include "core/base64.h"

#include <fmt/format.h>
#include <array>
#include <cstdint>

namespace millrace {
namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t not_base64 = 0xFF;

constexpr std::array<std::uint8_t, 256> make_digits() {
  std::array<std::uint8_t, 256> digits{};
  digits.fill(not_base64);
  for (std::size_t i = 0; i < alphabet.size(); ++i) {
    digits[static_cast<unsigned char>(alphabet[i])] = static_cast<std::uint8_t>(i);
  }
  return digits;
}
constexpr std::array<std::uint8_t, 256> digits = make_digits();

std::unexpected<Error> bad(std::size_t position) {
  return fail(ErrorCode::invalid,
              fmt::format("the base64 text is wrong at position {}; allowed are groups of four of "
                          "A-Z a-z 0-9 + /, the last one filled up with =",
                          position));
}

}  // namespace

std::string base64_encode(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view group = bytes.substr(at, 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      bits = (bits << 8U) | (i < group.size() ? static_cast<unsigned char>(group[i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text += i <= group.size() ? alphabet[(bits >> (18U - 6U * i)) & 63U] : '=';
    }
  }
  return text;
}

Result<std::string> base64_decode(std::string_view text) {
  if (text.size() % 4 != 0) return bad(text.size() + 1);
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  const std::string_view given = text.substr(0, text.size() - padding);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (std::size_t at = 0; at < given.size(); ++at) {
    const std::uint8_t digit = digits[static_cast<unsigned char>(given[at])];
    if (digit == not_base64) return bad(at + 1);
    bits = (bits << 6U) | digit;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>((bits >> count) & 0xFFU);
  }
  if ((bits & ((1U << count) - 1U)) != 0) return bad(given.size());
  return bytes;
}

}  // namespace millrace
