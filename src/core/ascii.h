// Letters and digits of ASCII. What the C library offers depends on the locale, and a locale must
// not decide what a name or a header is.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace millrace::ascii {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || is_upper(c);
}
constexpr bool is_letter_or_digit(char c) {
  return is_letter(c) || is_digit(c);
}

// The value of a hexadecimal digit in either case; -1: it is none.
constexpr int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr char lower(char c) {
  return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
}
constexpr std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = lower(c);
  return result;
}

constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

// A token of HTTP: a method, or the name of a header.
constexpr bool is_http_token(std::string_view text) {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return is_letter_or_digit(c) || marks.contains(c);
  });
}

}  // namespace millrace::ascii
