// Cron expressions: which seconds of a local calendar a rule names. Zones and daylight saving are
// not known here; core/tick.h puts the two together. docs/schedules.md is the page for users.
//
//   ┌─────────── second   0-59           optional: with five fields it is 0
//   │ ┌───────── minute   0-59
//   │ │ ┌─────── hour     0-23
//   │ │ │ ┌───── day      1-31           also L, L-n, nW, LW, L-nW
//   │ │ │ │ ┌─── month    1-12, JAN-DEC
//   │ │ │ │ │ ┌─ weekday  0-7, SUN-SAT   0 and 7 are Sunday; also 5L, FRI#2
//   * * * * * *
//
// Any field: `*` or `?` (every value), lists, ranges, steps (`*/5`, `1-30/7`, `5/15` = from 5 to
// the end). A range may not run backwards: FRI-MON is refused, FRI-SUN is fine.
//
// Days: if both day fields are restricted, a day that matches either of them matches. A field is
// unrestricted if it says `*`, `?` or `*/1`; `*/2` restricts. (crontab(5) of Vixie cron counts
// every field that begins with a star as unrestricted, so that "0 0 */2 * MON" means odd days that
// are Mondays. Here, as in the libraries people come from, it means odd days and Mondays.)
#pragma once

#include <millrace/result.h>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace millrace {

struct Cron {
  static constexpr std::uint32_t every_hour = (1U << 24) - 1;
  static constexpr std::uint8_t every_week = 0b011111;
  static constexpr std::uint8_t last_week = 0b100000;

  std::uint64_t seconds = 0;            // bit n: second n
  std::uint64_t minutes = 0;            // bit n: minute n
  std::uint32_t hours = 0;              // bit n: hour n
  std::uint32_t days = 0;               // bit n: day n of the month, from 1
  std::uint32_t from_last = 0;          // bit n: L-n, n days before the last; bit 0 is L
  std::uint32_t nearest = 0;            // bit n: nW, the weekday nearest to day n
  std::uint32_t nearest_from_last = 0;  // bit n: L-nW; bit 0 is LW
  std::uint32_t months = 0;             // bit n: month n, from 1
  // Sunday first. Bit k-1: the k-th such weekday of the month; last_week: the last one.
  std::array<std::uint8_t, 7> weekdays{};
  bool any_day = false;      // the day field is unrestricted
  bool any_weekday = false;  // the weekday field is unrestricted

  // `invalid` with the column, what was found there and what is allowed; `too_large` beyond
  // limits::max_cron. Refuses expressions that can never fire, such as 30 February.
  static Result<Cron> parse(std::string_view text);

  bool matches(std::chrono::local_seconds at) const;

  // The first matching second at or after `at`, the last one at or before it. Years -1 to 10000,
  // so that every zone's reading of the years 0 to 9999 is inside; nothing outside.
  std::optional<std::chrono::local_seconds> first_from(std::chrono::local_seconds at) const;
  std::optional<std::chrono::local_seconds> last_until(std::chrono::local_seconds at) const;

  friend bool operator==(const Cron&, const Cron&) = default;
};

}  // namespace millrace
