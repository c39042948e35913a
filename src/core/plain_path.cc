#include "core/plain_path.h"

#include <algorithm>

#include "core/ascii.h"

namespace millrace {
namespace {

bool is_plain(char c) {
  return ascii::is_letter_or_digit(c) || c == '.' || c == '_' || c == '~' || c == '-';
}

bool is_escape_digit(char c) {
  return ascii::hex_digit(c) >= 0;
}

bool is_plain_part(std::string_view part) {
  return std::ranges::all_of(part, is_plain);
}

bool is_cookie_part(std::string_view part) {
  constexpr std::string_view marks = "!$&'()*+=:@";
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] == '%') {
      if (part.size() - i < 3 || !is_escape_digit(part[i + 1]) || !is_escape_digit(part[i + 2]))
        return false;
      i += 2;
    } else if (!is_plain(part[i]) && !marks.contains(part[i])) {
      return false;
    }
  }
  return true;
}

bool is_path_of(std::string_view path, bool (*is_good)(std::string_view part)) {
  if (path.empty() || path.front() != '/' || path.size() > 256) return false;
  if (path == "/") return true;
  if (path.ends_with('/')) path.remove_suffix(1);
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::string_view part = path.substr(0, std::min(path.find('/'), path.size()));
    if (part.empty() || part == "." || part == ".." || !is_good(part)) return false;
    path.remove_prefix(part.size());
  }
  return true;
}

}  // namespace

bool is_plain_path(std::string_view path) {
  return is_path_of(path, is_plain_part);
}

bool is_cookie_path(std::string_view path) {
  return is_path_of(path, is_cookie_part);
}

}  // namespace millrace
