#include "config/size.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <utility>

#include "core/ascii.h"
#include "core/quote.h"

namespace millrace::config {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t bytes;
};

constexpr std::uint64_t k = 1024;
constexpr auto units = std::to_array<Unit>({{"", 1},
                                            {"b", 1},
                                            {"kib", k},
                                            {"mib", k* k},
                                            {"gib", k* k* k},
                                            {"tib", k* k* k* k},
                                            {"kb", 1'000},
                                            {"mb", 1'000'000},
                                            {"gb", 1'000'000'000},
                                            {"tb", 1'000'000'000'000}});
// Digits of a number; enough for every size and few enough for exact arithmetic.
constexpr std::size_t most_digits = 18;

std::unexpected<Error> bad(std::string_view text, std::string_view why) {
  return fail(
      ErrorCode::invalid,
      fmt::format("{} is not a size: {}; write bytes (4096) or a number with a unit (64KiB, "
                  "8MiB, 1.5GiB, 10MB)",
                  in_quotes(text), why));
}

}  // namespace

Result<Size> parse_size(std::string_view text) {
  std::uint64_t digits = 0;
  std::uint64_t scale = 1;
  std::size_t count = 0;
  std::size_t at = 0;
  bool fraction = false;
  for (; at < text.size() && (ascii::is_digit(text[at]) || (text[at] == '.' && !fraction)); ++at) {
    if (text[at] == '.') {
      fraction = true;
      continue;
    }
    if (++count > most_digits) return bad(text, "the number is too long");
    digits = digits * 10 + static_cast<std::uint64_t>(text[at] - '0');
    if (fraction) scale *= 10;
  }
  if (count == 0 || text[0] == '.' || text[at - 1] == '.') {
    return bad(text, "it does not begin with a number");
  }
  const std::string name = ascii::lower(text.substr(at));
  const auto* unit = std::ranges::find(units, name, &Unit::name);
  if (unit == units.end()) return bad(text, "there is no such unit");
  __extension__ using Wide = unsigned __int128;
  const Wide bytes = Wide{digits} * unit->bytes;
  if (bytes % scale != 0) return bad(text, "that is not a whole number of bytes");
  if (bytes / scale > std::uint64_t{1} << 62U) return bad(text, "the size is too large");
  return Size{static_cast<std::uint64_t>(bytes / scale)};
}

std::string to_text(Size size) {
  constexpr auto names = std::to_array<std::pair<std::string_view, std::uint64_t>>(
      {{"TiB", k * k * k * k}, {"GiB", k * k * k}, {"MiB", k * k}, {"KiB", k}});
  for (const auto& [name, bytes] : names) {
    if (size.bytes >= bytes && size.bytes % bytes == 0) {
      return fmt::format("{}{}", size.bytes / bytes, name);
    }
  }
  return fmt::format("{}", size.bytes);
}

}  // namespace millrace::config
