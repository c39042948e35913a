#include "payload/raw.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "core/ascii.h"
#include "core/utf8.h"

namespace millrace::json {
namespace {

constexpr std::uint64_t each = 0x0101010101010101ULL;
constexpr std::uint64_t high = 0x8080808080808080ULL;

// Eight characters at once: sets the high bit of each that needs a closer look (quotes,
// backslashes, control characters, anything beyond ASCII). May mark too many after the first one,
// never too few.
inline std::uint64_t special(std::uint64_t word) {
  const auto zero = [](std::uint64_t x) { return (x - each) & ~x; };
  const std::uint64_t control = (word - each * 0x20) & ~word;
  return (zero(word ^ (each * '"')) | zero(word ^ (each * '\\')) | control | word) & high;
}

inline const char* skip_plain(const char* at, const char* end) {
  if constexpr (std::endian::native == std::endian::little) {
    while (end - at >= 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, at, 8);
      const std::uint64_t found = special(word);
      if (found != 0) return at + std::countr_zero(found) / 8;
      at += 8;
    }
  }
  while (at != end) {
    const auto c = static_cast<unsigned char>(*at);
    if (c < 0x20 || c >= 0x80 || c == '"' || c == '\\') return at;
    ++at;
  }
  return at;
}

// The code unit of four hexadecimal digits; -1: they are not digits.
int code_unit(const char* at, const char* end) {
  if (end - at < 4) return -1;
  int unit = 0;
  for (int i = 0; i < 4; ++i) {
    const int digit = ascii::hex_digit(at[i]);
    if (digit < 0) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

// From after a backslash to after what it escapes; nullptr if it escapes nothing.
const char* skip_escape(const char* at, const char* end) {
  if (at == end) return nullptr;
  switch (*at) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
      return at + 1;
    case 'u':
      break;
    default:
      return nullptr;
  }
  const int unit = code_unit(++at, end);
  if (unit < 0 || (unit >= 0xDC00 && unit <= 0xDFFF)) return nullptr;
  at += 4;
  if (unit < 0xD800 || unit > 0xDBFF) return at;
  if (end - at < 6 || at[0] != '\\' || at[1] != 'u') return nullptr;
  const int low = code_unit(at + 2, end);
  return low >= 0xDC00 && low <= 0xDFFF ? at + 6 : nullptr;
}

const char* skip_number(const char* at, const char* end, const char*& wrong) {
  const auto digits = [&] {
    const char* const from = at;
    while (at != end && ascii::is_digit(*at)) ++at;
    return at != from;
  };
  wrong = at;
  if (at != end && *at == '-') ++at;
  if (at != end && *at == '0') {
    ++at;
  } else if (!digits()) {
    wrong = at;
    return nullptr;
  }
  if (at != end && *at == '.') {
    ++at;
    wrong = at;
    if (!digits()) return nullptr;
  }
  if (at != end && (*at == 'e' || *at == 'E')) {
    ++at;
    if (at != end && (*at == '+' || *at == '-')) ++at;
    wrong = at;
    if (!digits()) return nullptr;
  }
  return at;
}

const char* skip_word(const char* at, const char* end, std::string_view word, const char*& wrong) {
  const auto left = static_cast<std::size_t>(end - at);
  if (left >= word.size() && std::memcmp(at, word.data(), word.size()) == 0) {
    return at + word.size();
  }
  wrong = at;
  return nullptr;
}

inline const char* skip_spaces(const char* at, const char* end) {
  while (at != end && is_space(*at)) ++at;
  return at;
}

const char* skip_scalar(const char* at, const char* end, const char*& wrong) {
  bool escaped = false;
  switch (*at) {
    case '"':
      return skip_string(at + 1, end, escaped, wrong);
    case 't':
      return skip_word(at, end, "true", wrong);
    case 'f':
      return skip_word(at, end, "false", wrong);
    case 'n':
      return skip_word(at, end, "null", wrong);
    default:
      return skip_number(at, end, wrong);
  }
}

// The open lists and objects: one bit per level, set for objects.
class Levels {
 public:
  bool empty() const { return depth_ == 0; }
  bool push(bool object) {
    if (depth_ == max_depth) return false;
    const std::uint64_t bit = std::uint64_t{1} << (depth_ % 64);
    std::uint64_t& word = bits_[depth_ / 64];
    word = object ? word | bit : word & ~bit;
    ++depth_;
    return true;
  }
  void pop() { --depth_; }
  bool object() const { return (bits_[(depth_ - 1) / 64] >> ((depth_ - 1) % 64) & 1U) != 0; }

 private:
  std::array<std::uint64_t, max_depth / 64> bits_{};
  std::size_t depth_ = 0;
};

// A key and its colon, up to the value after them.
const char* skip_key(const char* at, const char* end, const char*& wrong) {
  at = skip_spaces(at, end);
  wrong = at;
  if (at == end || *at != '"') return nullptr;
  bool escaped = false;
  at = skip_string(at + 1, end, escaped, wrong);
  if (at == nullptr) return nullptr;
  at = skip_spaces(at, end);
  wrong = at;
  return at != end && *at == ':' ? at + 1 : nullptr;
}

// From after a value to where the next one begins, closing what ends in between. Done: nothing is
// open any more.
const char* skip_to_next(const char* at, const char* end, Levels& open, const char*& wrong) {
  while (!open.empty()) {
    at = skip_spaces(at, end);
    wrong = at;
    if (at == end) return nullptr;
    const bool object = open.object();
    if (*at == ',') return object ? skip_key(at + 1, end, wrong) : at + 1;
    if (*at != (object ? '}' : ']')) return nullptr;
    open.pop();
    ++at;
  }
  return at;
}

}  // namespace

const char* skip_string(const char* at, const char* end, bool& escaped, const char*& wrong) {
  escaped = false;
  for (;;) {
    at = skip_plain(at, end);
    wrong = at;
    if (at == end) return nullptr;
    if (*at == '"') return at + 1;
    if (*at == '\\') {
      escaped = true;
      at = skip_escape(at + 1, end);
      if (at == nullptr) return nullptr;
      continue;
    }
    const std::size_t bytes = utf8_character({at, static_cast<std::size_t>(end - at)});
    if (static_cast<unsigned char>(*at) < 0x20 || bytes == 0) return nullptr;
    at += bytes;
  }
}

const char* skip_value(const char* at, const char* end, const char*& wrong) {
  Levels open;
  for (;;) {
    at = skip_spaces(at, end);
    wrong = at;
    if (at == end) return nullptr;
    if (*at == '{' || *at == '[') {
      const bool object = *at == '{';
      if (!open.push(object)) return nullptr;
      at = skip_spaces(at + 1, end);
      wrong = at;
      if (at == end) return nullptr;
      if (*at != (object ? '}' : ']')) {
        if (object) at = skip_key(at, end, wrong);
        if (at == nullptr) return nullptr;
        continue;
      }
      open.pop();
      ++at;
    } else {
      at = skip_scalar(at, end, wrong);
      if (at == nullptr) return nullptr;
    }
    at = skip_to_next(at, end, open, wrong);
    if (at == nullptr || open.empty()) return at;
  }
}

bool is_json(std::string_view text) {
  const char* wrong = nullptr;
  const char* const end = text.data() + text.size();
  const char* at = skip_spaces(text.data(), end);
  if (at == end) return false;
  at = skip_value(at, end, wrong);
  return at != nullptr && skip_spaces(at, end) == end;
}

bool is_json_object(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' && is_json(text);
}

bool is_json_type(std::string_view type) {
  if (const std::size_t end = type.find(';'); end != std::string_view::npos) {
    type = type.substr(0, end);
  }
  while (type.ends_with(' ')) type.remove_suffix(1);
  if (type.empty() || ascii::equal_ignoring_case(type, "application/json")) return true;
  constexpr std::string_view suffix = "+json";
  return type.size() > suffix.size() &&
         ascii::equal_ignoring_case(type.substr(type.size() - suffix.size()), suffix);
}

}  // namespace millrace::json
