// Moments and durations as text, both ways and exactly.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <string>
#include <string_view>

namespace millrace {

// The moments that RFC 3339 can write: years 0000 to 9999 in UTC.
inline constexpr TimePoint first_time =
    std::chrono::sys_days{std::chrono::year{0} / std::chrono::January / 1};
inline constexpr TimePoint last_time =
    std::chrono::sys_days{std::chrono::year{10000} / std::chrono::January / 1} - Duration{1};

// RFC 3339: 2026-01-02T03:04:05.678Z, 2026-01-02 03:04:05+02:00. The T and Z may be lower case, a
// space may stand for the T, the fraction may have any length and is cut to milliseconds. A leap
// second (23:59:60 UTC) is read as the second after it. `invalid` names the column.
Result<TimePoint> parse_time(std::string_view text);

// Always UTC with three decimals: 2026-01-02T03:04:05.678Z, so that text sorts as time does.
// Moments that have no text (`never`) become the nearest that has one.
std::string format_time(TimePoint time);

// Numbers with units, greatest first, each unit once: 250ms, 30s, 1h30m, 2w, 1d12h. Only the last
// number may have a fraction, and the sum must be whole milliseconds: 1.5h, 0.25s. A bare 0 is
// zero; any other number needs a unit. A day is 24 hours, a week 7 days. Never negative.
Result<Duration> parse_duration(std::string_view text);

// The shortest such text in days, hours, minutes, seconds and milliseconds: 1h30m, 1s500ms, 0s.
// A negative duration gets a minus sign in front (parse_duration refuses it).
std::string format_duration(Duration duration);

}  // namespace millrace
