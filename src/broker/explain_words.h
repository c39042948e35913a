// How explanations say numbers, moments and durations.
#pragma once

#include <fmt/format.h>
#include <millrace/time.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/time_text.h"

namespace millrace {

// 1,234,567
inline std::string number_text(std::uint64_t number) {
  std::string text = fmt::format("{}", number);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), ",");
  }
  return text;
}

// As people say it, with the one or two largest units: 5 min, 2 h 30 min, 3 days.
inline std::string about(Duration duration) {
  using namespace std::chrono;
  if (duration < seconds(1)) return "less than a second";
  if (duration < minutes(2)) return fmt::format("{} s", duration_cast<seconds>(duration).count());
  if (duration < hours(2)) return fmt::format("{} min", duration_cast<minutes>(duration).count());
  const auto whole_hours = duration_cast<hours>(duration).count();
  if (duration < hours(48)) {
    const auto rest = duration_cast<minutes>(duration % hours(1)).count();
    return rest == 0 ? fmt::format("{} h", whole_hours)
                     : fmt::format("{} h {} min", whole_hours, rest);
  }
  return fmt::format("{} days", whole_hours / 24);
}

inline std::string moment_text(TimePoint moment, TimePoint now) {
  return fmt::format("{} (in {})", format_time(moment), about(moment - now));
}

}  // namespace millrace
