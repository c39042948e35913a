#include "core/uuid.h"

#include "core/quote.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <optional>
#include <system_error>

namespace millrace {
namespace {

constexpr std::uint64_t ms_most = (std::uint64_t{1} << 48) - 1;

// Half of the counter's range stays free above the random start, to count into.
constexpr std::uint64_t counter_start_most = (std::uint64_t{1} << 19) - 1;
constexpr std::uint64_t counter_most = (std::uint64_t{1} << 20) - 1;

std::uint64_t split_mix(std::uint64_t& state) {
  state += 0x9E3779B97F4A7C15ULL;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

void write_big_endian(std::uint64_t value, std::uint8_t* out) {
  if constexpr (std::endian::native == std::endian::little) value = std::byteswap(value);
  std::memcpy(out, &value, sizeof value);
}

constexpr std::string_view hex_digits = "0123456789abcdef";

// By byte; no_digit for what is none. Ids are read for every task of an import.
constexpr std::uint8_t no_digit = 16;
constexpr std::array<std::uint8_t, 256> hex_values = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(no_digit);
  for (std::uint8_t i = 0; i < 16; ++i) {
    values[static_cast<std::uint8_t>("0123456789abcdef"[i])] = i;
    values[static_cast<std::uint8_t>("0123456789ABCDEF"[i])] = i;
  }
  return values;
}();

std::uint8_t hex_value(char c) {
  return hex_values[static_cast<std::uint8_t>(c)];
}

constexpr std::size_t uuid_text_size = 36;

constexpr bool is_dash_position(std::size_t at) {
  return at == 8 || at == 13 || at == 18 || at == 23;
}

}  // namespace

UuidSource::UuidSource(std::uint64_t seed) {
  for (std::uint64_t& word : state_) word = split_mix(seed);
}

// xoshiro256**: fast, and good enough to keep processes apart; ids are not secrets.
std::uint64_t UuidSource::random() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

Uuid UuidSource::next(TimePoint now) {
  const auto since_epoch = std::max<std::int64_t>(now.time_since_epoch().count(), 0);
  const std::uint64_t ms = std::min(static_cast<std::uint64_t>(since_epoch), ms_most);
  const std::uint64_t bits = random();
  if (ms > last_ms_) {
    last_ms_ = ms;
    counter_ = random() & counter_start_most;
  } else if (counter_ < counter_most) {
    ++counter_;
  } else {  // half a million ids without a tick of the clock: borrow the next millisecond
    ++last_ms_;
    counter_ = random() & counter_start_most;
  }

  constexpr std::uint64_t version = std::uint64_t{7} << 12;
  constexpr std::uint64_t variant = std::uint64_t{2} << 62;
  constexpr std::uint64_t low_8 = 0xFF;
  constexpr std::uint64_t low_54 = (std::uint64_t{1} << 54) - 1;
  Uuid id;
  write_big_endian((last_ms_ << 16) | version | (counter_ >> 8), id.bytes.data());
  write_big_endian(variant | ((counter_ & low_8) << 54) | (bits & low_54), id.bytes.data() + 8);
  return id;
}

std::string to_text(const Uuid& id) {
  std::string text(uuid_text_size, '-');
  std::size_t at = 0;
  for (const std::uint8_t byte : id.bytes) {
    if (is_dash_position(at)) ++at;
    text[at++] = hex_digits[byte >> 4];
    text[at++] = hex_digits[byte & 15U];
  }
  return text;
}

namespace {

std::optional<Uuid> well_formed_uuid(std::string_view text) {
  if (text.size() != uuid_text_size) return std::nullopt;
  Uuid id;
  std::size_t at = 0;
  std::uint8_t wrong = 0;
  for (std::uint8_t& byte : id.bytes) {
    if (is_dash_position(at) && text[at++] != '-') return std::nullopt;
    const std::uint8_t high = hex_value(text[at]);
    const std::uint8_t low = hex_value(text[at + 1]);
    wrong |= high | low;
    byte = static_cast<std::uint8_t>(high << 4 | low);
    at += 2;
  }
  if ((wrong & no_digit) != 0) return std::nullopt;
  return id;
}

Error no_uuid(std::string_view text) {
  constexpr std::string_view allowed =
      "a UUID is 32 hexadecimal digits written 8-4-4-4-12, as in "
      "01890a5d-ac96-774b-bcce-b302099a8057";
  for (std::size_t at = 0; at < std::min(text.size(), uuid_text_size); ++at) {
    const bool dash = is_dash_position(at);
    if (dash ? text[at] == '-' : hex_value(text[at]) != no_digit) continue;
    return {ErrorCode::invalid,
            fmt::format("id {} has {} at position {}, where {} should be; {}", in_quotes(text),
                        in_quotes(text.substr(at, 1)), at + 1, dash ? "'-'" : "a digit", allowed)};
  }
  return {ErrorCode::invalid, fmt::format("id {} has {} characters instead of {}; {}",
                                          in_quotes(text), text.size(), uuid_text_size, allowed)};
}

}  // namespace

Result<Uuid> uuid_from_text(std::string_view text) {
  if (const auto id = well_formed_uuid(text)) return *id;
  return std::unexpected(no_uuid(text));
}

Result<TaskId> task_id_from_text(std::string_view text) {
  constexpr std::string_view prefix = "task-";
  if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  const Result<Uuid> id = uuid_from_text(text);
  if (!id) return std::unexpected(id.error());
  if (id->is_nil()) return fail(ErrorCode::invalid, "the nil UUID is not the id of a task");
  return TaskId{*id};
}

std::string to_text(Token token) {
  return fmt::format("{:016x}", token.value);
}

Result<Token> token_from_text(std::string_view text) {
  constexpr std::size_t digits = 16;
  Token token;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, token.value, 16);
  if (text.size() != digits || rest != end || error != std::errc{}) {
    return fail(ErrorCode::invalid,
                fmt::format("token {} is not a token; one is {} hexadecimal digits, as it came "
                            "with the lease",
                            in_quotes(text), digits));
  }
  return token;
}

}  // namespace millrace
