#include "core/plain_path.h"

#include <algorithm>

namespace millrace {

bool is_plain_path(std::string_view path) {
  if (path.empty() || path.front() != '/' || path.size() > 256) return false;
  if (path == "/") return true;
  if (path.ends_with('/')) path.remove_suffix(1);
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::string_view part = path.substr(0, std::min(path.find('/'), path.size()));
    if (part.empty() || part == "." || part == "..") return false;
    const auto plain = [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
             c == '.' || c == '_' || c == '~' || c == '-';
    };
    if (!std::ranges::all_of(part, plain)) return false;
    path.remove_prefix(part.size());
  }
  return true;
}

}  // namespace millrace
