// The rule at the end of a zone file: POSIX TZ text such as "CET-1CEST,M3.5.0,M10.5.0/3", which
// says what the zone does after its last recorded change, for ever (RFC 8536, section 3.3).
#pragma once

#include <millrace/result.h>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace millrace {

// A stretch of time with one offset: local time = UTC + offset for begin <= UTC < end.
struct ZonePeriod {
  std::chrono::sys_seconds begin;
  std::chrono::sys_seconds end;
  std::chrono::seconds offset;

  friend bool operator==(const ZonePeriod&, const ZonePeriod&) = default;
};

// The ends of periods that have none; far enough from the ends of the type to add offsets to them.
inline constexpr std::chrono::sys_seconds zone_time_begin{-(std::chrono::seconds{1LL << 40})};
inline constexpr std::chrono::sys_seconds zone_time_end{std::chrono::seconds{1LL << 40}};

struct ZoneRule {
  // When a change comes, in the local time before it.
  struct Change {
    enum class Kind : std::uint8_t {
      month_week_day,  // Mm.w.d: the w-th (5: last) weekday d of month m
      julian,          // Jn: day 1-365, 29 February is never counted
      day_of_year,     // n: day 0-365, 29 February is counted
    };
    Kind kind = Kind::month_week_day;
    int month = 0;
    int week = 0;
    int day = 0;
    std::chrono::seconds time{};  // since midnight of that day; -167 to 167 hours

    // The local moment in a year.
    std::chrono::local_seconds in(std::chrono::year year) const;
  };

  struct Summer {
    std::chrono::seconds offset;
    Change start;
    Change end;
  };

  std::chrono::seconds standard{};  // east of Greenwich is positive, unlike in the text
  std::optional<Summer> summer = std::nullopt;

  // `corrupt` if the text is not such a rule. Summer time without dates is refused too: POSIX
  // leaves them to the implementation, and zone files always give them.
  static Result<ZoneRule> parse(std::string_view text);

  // The period that contains `at`. REQUIRES: years -2 to 10001.
  ZonePeriod period_at(std::chrono::sys_seconds at) const;
};

}  // namespace millrace
