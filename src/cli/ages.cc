#include "cli/ages.h"

#include <fmt/format.h>
#include <array>
#include <string_view>

#include "core/time_text.h"

namespace millrace::cli {
namespace {

struct Unit {
  std::int64_t ms;
  std::string_view name;
};
constexpr auto units = std::to_array<Unit>(
    {{86'400'000, "d"}, {3'600'000, "h"}, {60'000, "m"}, {1000, "s"}, {1, "ms"}});

// With a first number below this the second one matters.
constexpr std::int64_t small = 10;

}  // namespace

std::string brief(Duration duration) {
  if (duration < Duration{}) return "-" + brief(-duration);
  const std::int64_t ms = duration.count();
  for (std::size_t i = 0; i + 1 < units.size(); ++i) {
    const std::int64_t first = ms / units[i].ms;
    if (first == 0) continue;
    const std::int64_t second = ms % units[i].ms / units[i + 1].ms;
    const bool both = first < small && second != 0 && units[i].ms > 1000;
    return both ? fmt::format("{}{}{}{}", first, units[i].name, second, units[i + 1].name)
                : fmt::format("{}{}", first, units[i].name);
  }
  return fmt::format("{}ms", ms);
}

std::string age(TimePoint moment, TimePoint now) {
  if (moment == never) return "never";
  const Duration since = now - moment;
  if (since > std::chrono::seconds(-1) && since < std::chrono::seconds(1)) return "just now";
  return since > Duration{} ? brief(since) + " ago" : "in " + brief(-since);
}

std::string moment_and_age(TimePoint moment, TimePoint now) {
  if (moment == never) return "never";
  std::string text = format_time(moment);  // 2026-01-02T03:04:05.678Z
  text[10] = ' ';
  text.erase(19, 4);
  return fmt::format("{} ({})", text, age(moment, now));
}

}  // namespace millrace::cli
