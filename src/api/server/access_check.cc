#include "api/server/access_check.h"

#include <algorithm>

namespace millrace::api {

std::string_view name_of(Scope scope) {
  switch (scope) {
    case Scope::open:
      return "open";
    case Scope::put:
      return "put";
    case Scope::work:
      return "work";
    case Scope::read:
      return "read";
    case Scope::admin:
      return "admin";
    case Scope::anyone:
      return "anyone";
  }
  return "open";
}

bool Principal::may_touch(std::string_view queue) const {
  if (queues.empty()) return true;
  return std::ranges::any_of(queues, [&](const auto& pattern) { return matches(pattern, queue); });
}

// Goes back to the last star only, which is enough: an earlier one could not do better.
bool matches(std::string_view pattern, std::string_view name) {
  std::size_t at = 0;
  std::size_t in = 0;
  std::size_t star = std::string_view::npos;
  std::size_t after = 0;
  while (in < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      after = in;
    } else if (at < pattern.size() && pattern[at] == name[in]) {
      ++at, ++in;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      in = ++after;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

}  // namespace millrace::api
