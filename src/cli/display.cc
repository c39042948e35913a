#include "cli/display.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cstdint>

#include "core/utf8.h"

namespace millrace::cli {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// East Asian Wide and Fullwidth, and what is shown as a picture; in large steps.
constexpr auto wide = std::to_array<Range>(
    {{0x1100, 0x115f},   {0x231a, 0x231b},   {0x2329, 0x232a},   {0x23e9, 0x23ec},
     {0x25fd, 0x25fe},   {0x2614, 0x2615},   {0x2648, 0x2653},   {0x26a1, 0x26a1},
     {0x26bd, 0x26be},   {0x2705, 0x2705},   {0x270a, 0x270b},   {0x274c, 0x274c},
     {0x2753, 0x2755},   {0x2795, 0x2797},   {0x2b1b, 0x2b1c},   {0x2b50, 0x2b50},
     {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},   {0x4e00, 0x9fff},
     {0xa000, 0xa4cf},   {0xa960, 0xa97f},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},
     {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x1f004, 0x1f004},
     {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f19a}, {0x1f200, 0x1f265}, {0x1f300, 0x1f64f},
     {0x1f680, 0x1f6ff}, {0x1f7e0, 0x1f7eb}, {0x1f900, 0x1f9ff}, {0x1fa70, 0x1faff},
     {0x20000, 0x3fffd}});

// Marks that combine with what is before them, and joiners.
constexpr auto no_width = std::to_array<Range>({{0x0300, 0x036f},
                                                {0x0483, 0x0489},
                                                {0x0591, 0x05bd},
                                                {0x0610, 0x061a},
                                                {0x064b, 0x065f},
                                                {0x0900, 0x0902},
                                                {0x0e31, 0x0e31},
                                                {0x0e34, 0x0e3a},
                                                {0x0e47, 0x0e4e},
                                                {0x1ab0, 0x1aff},
                                                {0x1dc0, 0x1dff},
                                                {0x200b, 0x200d},
                                                {0x20d0, 0x20ff},
                                                {0xfe00, 0xfe0f},
                                                {0xfe20, 0xfe2f},
                                                {0xfeff, 0xfeff},
                                                {0xe0100, 0xe01ef}});

// Marks that change the direction of the text around them.
constexpr auto turning =
    std::to_array<Range>({{0x061c, 0x061c}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}});

template <std::size_t count>
bool in(const std::array<Range, count>& ranges, char32_t code) {
  const auto above = std::ranges::upper_bound(ranges, code, {}, &Range::first);
  return above != ranges.begin() && code <= std::prev(above)->last;
}

// Of a well-formed character.
char32_t code_of(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0);
  char32_t code = byte(0) & (0xffU >> (character.size() + 1));
  for (std::size_t i = 1; i < character.size(); ++i) code = code << 6U | (byte(i) & 0x3fU);
  return code;
}

std::size_t width_of(char32_t code) {
  if (in(no_width, code)) return 0;
  return in(wide, code) ? 2 : 1;
}

// The character at the start, or one byte that is not part of one.
std::string_view first_of(std::string_view text) {
  return text.substr(0, std::max<std::size_t>(1, utf8_character(text)));
}

// Whether a terminal would act on it instead of showing it.
bool is_obeyed(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || in(turning, code);
}

// Replaces each character that a terminal would act on, and bytes that are not UTF-8 (passed as 0).
template <class Instead>
std::string with_replaced(std::string_view text, Instead instead) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::string_view each = first_of(text);
    const char32_t code = utf8_character(text) == 0 ? 0 : code_of(each);
    if (is_obeyed(code)) {
      out += instead(code);
    } else {
      out += each;
    }
    text.remove_prefix(each.size());
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) {
  return with_replaced(
      text, [](char32_t code) { return code == '\n' || code == '\t' || code == '\r' ? " " : "?"; });
}

std::string harmless(std::string_view text) {
  return with_replaced(text, [](char32_t code) -> std::string {
    return code == '\n' || code == '\t' ? std::string(1, static_cast<char>(code)) : "?";
  });
}

std::string harmless_json(std::string_view json) {
  return with_replaced(json, [](char32_t code) -> std::string {
    if (code == '\n') return "\n";  // between two values; in a text it is written as one already
    return code == 0 ? "?" : fmt::format("\\u{:04x}", std::uint32_t{code});
  });
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const std::string_view each = first_of(text);
    columns += width_of(code_of(each));
    text.remove_prefix(each.size());
  }
  return columns;
}

std::string shortened(std::string_view text, std::size_t columns, bool unicode) {
  if (columns_of(text) <= columns) return std::string(text);
  const std::string_view end = unicode ? "…" : "...";
  const std::size_t room = columns - std::min(columns, unicode ? std::size_t{1} : std::size_t{3});
  std::string out;
  std::size_t taken = 0;
  while (!text.empty()) {
    const std::string_view each = first_of(text);
    const std::size_t width = width_of(code_of(each));
    if (taken + width > room) break;
    out += each;
    taken += width;
    text.remove_prefix(each.size());
  }
  if (columns >= (unicode ? 1U : 3U)) out += end;
  return out;
}

}  // namespace millrace::cli
