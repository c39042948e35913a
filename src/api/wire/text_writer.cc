#include "api/wire/text_writer.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>

#include "api/wire/raw.h"
#include "core/base64.h"
#include "core/time_text.h"
#include "core/utf8.h"

namespace millrace::wire {
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
void append_number(std::string& out, T number) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

void write_two(char* to, unsigned number) {
  to[0] = static_cast<char>('0' + number / 10);
  to[1] = static_cast<char>('0' + number % 10);
}

}  // namespace

void append(std::string& out, std::string_view text) {
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

void append(std::string& out, std::uint64_t number) {
  append_number(out, number);
}

void append(std::string& out, std::int64_t number) {
  append_number(out, number);
}

void append(std::string& out, double number) {
  if (std::isfinite(number)) {
    fmt::format_to(std::back_inserter(out), "{}", number);
  } else {
    out += "null";
  }
}

void append(std::string& out, TimePoint moment) {
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

void append(std::string& out, const Uuid& id) {
  std::array<char, 38> text{};
  text.fill('-');
  text.front() = text.back() = '"';
  std::size_t at = 1;
  for (std::size_t i = 0; i < id.bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) ++at;
    text[at++] = hex[id.bytes[i] >> 4U];
    text[at++] = hex[id.bytes[i] & 15U];
  }
  out.append(text.data(), text.size());
}

void append(std::string& out, Token token) {
  std::array<char, 18> text{};
  text.front() = text.back() = '"';
  for (std::size_t i = 0; i < 16; ++i) text[16 - i] = hex[token.value >> (4 * i) & 15U];
  out.append(text.data(), text.size());
}

// A name is a string, a number a number; a UUID could be a name and says that it is none.
void append(std::string& out, const QueueRef& queue) {
  if (const auto* name = std::get_if<std::string>(&queue)) return append(out, *name);
  if (const auto* number = std::get_if<QueueNumber>(&queue)) return append(out, number->value);
  out += "{\"id\":";
  append(out, std::get<Uuid>(queue));
  out += '}';
}

void append_events(std::string& out, unsigned bits) {
  out += '[';
  bool first = true;
  for (const auto& [name, bit] : callback_events) {
    if ((bits & static_cast<unsigned>(bit)) == 0) continue;
    if (!first) out += ',';
    first = false;
    append(out, name);
  }
  out += ']';
}

void TextWriter::embed(std::string_view name, std::string_view bytes, std::string_view type,
                       bool object) {
  if (bytes.empty()) return;
  if (object ? is_json_object(bytes) : is_json_type(type) && is_json(bytes)) {
    return raw(name, bytes);
  }
  key(name);
  out_.resize(out_.size() - 2);
  if (is_utf8(bytes)) {
    out_ += "_text\":";
    append(out_, bytes);
  } else {
    out_ += "_base64\":\"";
    out_ += base64_encode(bytes);
    out_ += '"';
  }
}

}  // namespace millrace::wire
