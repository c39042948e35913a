#include "log/format.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string_view>

#include "core/ascii.h"
#include "core/time_text.h"
#include "core/utf8.h"

namespace millrace {
namespace {

constexpr auto npos = std::string_view::npos;
// Lines longer than this are cut; entries may contain text that callers sent.
constexpr std::size_t most_text = 16U << 10U;

struct Level {
  std::string_view word;
  std::string_view padded;
  std::string_view colour;
};
constexpr auto levels = std::to_array<Level>({{"debug", "DEBUG", "\x1b[2m"},
                                              {"info", "INFO ", "\x1b[32m"},
                                              {"warning", "WARN ", "\x1b[33m"},
                                              {"error", "ERROR", "\x1b[1;31m"}});

const Level& level_of(LogLevel level) {
  return levels[std::min<std::size_t>(static_cast<std::size_t>(level), levels.size() - 1)];
}

bool is_url_safe(char c) {
  return ascii::is_letter_or_digit(c) || c == '-' || c == '_';
}

bool is_hex(char c) {
  return ascii::is_digit(c) || (c >= 'a' && c <= 'f');
}

// Cuts every mr_<id>_<secret> down to the part that names the key.
std::string without_secrets(std::string_view text) {
  constexpr std::string_view mark = "mr_";
  constexpr std::size_t id_size = 16;
  std::string out;
  for (std::size_t at = text.find(mark); at != npos; at = text.find(mark)) {
    const std::size_t end = at + mark.size() + id_size;
    const bool key = end < text.size() && text[end] == '_' &&
                     std::ranges::all_of(text.substr(at + mark.size(), id_size), is_hex);
    const std::size_t kept = key ? end + 1 : at + mark.size();
    out += text.substr(0, kept);
    text.remove_prefix(kept);
    if (!key) continue;
    const auto* after = std::ranges::find_if_not(text, is_url_safe);
    text.remove_prefix(static_cast<std::size_t>(after - text.begin()));
    out += "***";
  }
  out += text;
  return out;
}

// Marks that change the writing direction: U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069; and
// those that end a line or a paragraph, U+2028 and U+2029.
bool moves_writing(std::string_view character) {
  if (!character.starts_with("\xE2\x80") && !character.starts_with("\xE2\x81")) return false;
  const auto last = static_cast<unsigned char>(character[2]);
  if (character[1] == '\x81') return last >= 0xA6 && last <= 0xA9;
  return last == 0x8E || last == 0x8F || (last >= 0xA8 && last <= 0xAE);
}

// A character of `size` bytes that may be printed as it is. C1 controls (U+0080 to U+009F) may not.
bool printable(std::string_view text, std::size_t size) {
  if (size == 1) return text[0] >= ' ' && text[0] != 0x7F;
  if (size == 3 && moves_writing(text.substr(0, size))) return false;
  return !(size == 2 && text[0] == '\xC2' && static_cast<unsigned char>(text[1]) < 0xA0);
}

// Calls plain(character) or odd(byte) for every part of a text.
template <class Plain, class Odd>
void walk(std::string_view text, Plain plain, Odd odd) {
  while (!text.empty()) {
    const std::size_t size = utf8_character(text);
    if (size > 0 && printable(text, size)) {
      plain(text.substr(0, size));
    } else {
      odd(static_cast<unsigned char>(text[0]));
    }
    text.remove_prefix(size > 0 && printable(text, size) ? size : 1);
  }
}

std::string clipped(std::string_view text) {
  std::string safe = without_secrets(text.substr(0, most_text));
  if (text.size() > most_text) safe += "...";
  return safe;
}

void escape_text(std::string& out, std::string_view text, bool quoted) {
  walk(
      text,
      [&](std::string_view character) {
        if (character == "\\" || (quoted && character == "\"")) out += '\\';
        out += character;
      },
      [&](unsigned char byte) {
        if (byte == '\n') {
          out += "\\n";
        } else if (byte == '\t') {
          out += "\\t";
        } else {
          fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
        }
      });
}

void escape_json(std::string& out, std::string_view text) {
  walk(
      text,
      [&](std::string_view character) {
        if (character == "\\" || character == "\"") out += '\\';
        out += character;
      },
      // A byte that is not part of a character is shown as the code point of its number.
      [&](unsigned char byte) { fmt::format_to(std::back_inserter(out), "\\u{:04x}", byte); });
}

bool needs_quotes(std::string_view text) {
  return text.empty() || std::ranges::any_of(text, [](char c) {
           return c <= ' ' || c == '"' || c == '=' || c == '\\' || c == 0x7F;
         });
}

struct TextValue {
  std::string& out;

  void operator()(const std::string& value) const {
    const std::string safe = clipped(value);
    if (!needs_quotes(safe)) return escape_text(out, safe, false);
    out += '"';
    escape_text(out, safe, true);
    out += '"';
  }
  void operator()(bool value) const { out += value ? "true" : "false"; }
  void operator()(auto value) const { fmt::format_to(std::back_inserter(out), "{}", value); }
};

struct JsonValue {
  std::string& out;

  void operator()(const std::string& value) const {
    out += '"';
    escape_json(out, clipped(value));
    out += '"';
  }
  void operator()(bool value) const { out += value ? "true" : "false"; }
  void operator()(std::int64_t value) const {
    fmt::format_to(std::back_inserter(out), "{}", value);
  }
  void operator()(double value) const {
    if (!std::isfinite(value)) {
      out += "null";  // JSON has no NaN and no infinity
    } else {
      fmt::format_to(std::back_inserter(out), "{}", value);
    }
  }
};

std::string text_line(const LogEntry& entry, TimePoint now, bool colours) {
  const Level& level = level_of(entry.level);
  std::string out = format_time(now);
  out += ' ';
  if (colours) out += level.colour;
  out += level.padded;
  if (colours) out += "\x1b[0m";
  out += ' ';
  escape_text(out, clipped(entry.message), false);
  for (const auto& [name, value] : entry.facts) {
    out += ' ';
    out += name;
    out += '=';
    std::visit(TextValue{out}, value);
  }
  out += '\n';
  return out;
}

std::string json_line(const LogEntry& entry, TimePoint now) {
  std::string out = fmt::format(R"({{"time":"{}","level":"{}","message":")", format_time(now),
                                level_of(entry.level).word);
  escape_json(out, clipped(entry.message));
  out += '"';
  for (const auto& [name, value] : entry.facts) {
    out += ",\"";
    escape_json(out, name);
    out += "\":";
    std::visit(JsonValue{out}, value);
  }
  out += "}\n";
  return out;
}

}  // namespace

std::string format_line(const LogEntry& entry, TimePoint now, LogFormat format, bool colours) {
  return format == LogFormat::json ? json_line(entry, now) : text_line(entry, now, colours);
}

}  // namespace millrace
