// Time as Millrace counts it: milliseconds, UTC. Calendars and zones belong to core/zone.
#pragma once

#include <chrono>
#include <compare>

namespace millrace {

using Duration = std::chrono::milliseconds;
using TimePoint = std::chrono::sys_time<Duration>;

// "For ever": a pause without an end, a lease that is never overdue.
inline constexpr TimePoint never = TimePoint::max();

// Adds without overflow, so that now + ten years + ten years is a moment, not a crash.
constexpr TimePoint later(TimePoint from, Duration by) {
  if (by > Duration::zero() && from > never - by) return never;
  if (by < Duration::zero() && from < TimePoint::min() - by) return TimePoint::min();
  return from + by;
}

}  // namespace millrace
