#include "cli/look.h"

#include <algorithm>

namespace millrace::cli {
namespace {

// Whether the terminal shows more than ASCII: decided by the first of these variables that is set,
// and yes if none is.
bool shows_unicode(const Surroundings& with) {
  for (const std::string_view name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string value = variable(with, name);
    if (value.empty()) continue;
    return value.contains("UTF-8") || value.contains("utf8") || value.contains("UTF8") ||
           value.contains("utf-8");
  }
  return true;
}

}  // namespace

std::string variable(const Surroundings& with, std::string_view name) {
  const auto found =
      std::ranges::find(with.environment, name, &std::pair<std::string, std::string>::first);
  return found == with.environment.end() ? "" : found->second;
}

Look look_of(const Surroundings& with) {
  return {.colours = with.out_colours,
          .unicode = shows_unicode(with),
          .width = with.out_terminal ? with.host.columns() : 0};
}

}  // namespace millrace::cli
