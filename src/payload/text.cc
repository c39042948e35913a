#include "payload/text.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <iterator>

#include "core/time_text.h"
#include "core/utf8.h"

namespace millrace::json {
namespace {

constexpr std::string_view hex = "0123456789abcdef";

// Characters that a string may hold as they are.
constexpr auto plain = [] {
  std::array<bool, 256> table{};
  for (unsigned c = 0x20; c < 0x80; ++c) table[c] = c != '"' && c != '\\';
  return table;
}();

void append_escaped(std::string& out, unsigned char c) {
  constexpr std::string_view from = "\"\\\b\f\n\r\t";
  constexpr std::string_view to = "\"\\bfnrt";
  out += '\\';
  if (const std::size_t at = from.find(static_cast<char>(c)); at != std::string_view::npos) {
    out += to[at];
    return;
  }
  out += "u00";
  out += hex[c >> 4U];
  out += hex[c & 15U];
}

template <class T>
void append_digits(std::string& out, T number) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

template <class T>
void append_real(std::string& out, T number) {
  if (std::isfinite(number)) {
    fmt::format_to(std::back_inserter(out), "{}", number);
  } else {
    out += "null";
  }
}

void write_two(char* to, unsigned number) {
  to[0] = static_cast<char>('0' + number / 10);
  to[1] = static_cast<char>('0' + number % 10);
}

void append_utf8(std::string& to, unsigned code) {
  const auto add = [&](unsigned byte) { to += static_cast<char>(byte); };
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xC0U | (code >> 6U));
  } else if (code < 0x10000) {
    add(0xE0U | (code >> 12U)), add(0x80U | ((code >> 6U) & 0x3FU));
  } else {
    add(0xF0U | (code >> 18U)), add(0x80U | ((code >> 12U) & 0x3FU));
    add(0x80U | ((code >> 6U) & 0x3FU));
  }
  add(0x80U | (code & 0x3FU));
}

unsigned unit_at(std::string_view text, std::size_t at) {
  unsigned unit = 0;
  std::from_chars(text.data() + at, text.data() + at + 4, unit, 16);
  return unit;
}

}  // namespace

void append_text(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    std::size_t good = 0;
    while (good < text.size() && plain[static_cast<unsigned char>(text[good])]) ++good;
    out.append(text.data(), good);
    text.remove_prefix(good);
    if (text.empty()) break;
    const auto c = static_cast<unsigned char>(text.front());
    std::size_t bytes = 1;
    if (c < 0x80) {
      append_escaped(out, c);
    } else if (bytes = utf8_character(text); bytes == 0) {
      out += "\xEF\xBF\xBD";
      bytes = 1;
    } else {
      out.append(text.data(), bytes);
    }
    text.remove_prefix(bytes);
  }
  out += '"';
}

void append_number(std::string& out, std::int64_t number) {
  append_digits(out, number);
}

void append_number(std::string& out, std::uint64_t number) {
  append_digits(out, number);
}

void append_number(std::string& out, double number) {
  append_real(out, number);
}

void append_number(std::string& out, float number) {
  append_real(out, number);
}

void append_time(std::string& out, TimePoint moment) {
  if (moment == never) {
    out += "\"never\"";
    return;
  }
  moment = std::clamp(moment, first_time, last_time);
  const auto day = std::chrono::floor<std::chrono::days>(moment);
  const std::chrono::year_month_day date(day);
  const auto rest = static_cast<unsigned>((moment - day).count());
  std::array<char, 26> text{};
  std::copy_n("\"0000-00-00T00:00:00.000Z\"", text.size(), text.begin());
  const auto year = static_cast<unsigned>(static_cast<int>(date.year()));
  write_two(&text[1], year / 100);
  write_two(&text[3], year % 100);
  write_two(&text[6], static_cast<unsigned>(date.month()));
  write_two(&text[9], static_cast<unsigned>(date.day()));
  write_two(&text[12], rest / 3'600'000);
  write_two(&text[15], rest / 60'000 % 60);
  write_two(&text[18], rest / 1000 % 60);
  text[21] = static_cast<char>('0' + rest / 100 % 10);
  write_two(&text[22], rest % 100);
  out.append(text.data(), text.size());
}

void unescape(std::string_view text, std::string& to) {
  to.clear();
  to.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    // What lies between two escapes goes along in one piece.
    const std::size_t escape = std::min(text.find('\\', i), text.size());
    to.append(text, i, escape - i);
    if (escape == text.size()) return;
    i = escape + 1;
    const char c = text[i];
    constexpr std::string_view from = "bfnrt";
    if (c == '"' || c == '\\' || c == '/') {
      to += c;
    } else if (c == 'u') {
      unsigned code = unit_at(text, i + 1);
      i += 4;
      if (code >= 0xD800 && code <= 0xDBFF) {
        code = 0x10000 + ((code - 0xD800) << 10U) + (unit_at(text, i + 3) - 0xDC00);
        i += 6;
      }
      append_utf8(to, code);
    } else {
      to += "\b\f\n\r\t"[from.find(c)];
    }
  }
}

}  // namespace millrace::json
