#include "core/cron.h"

#include <algorithm>
#include <bit>

namespace millrace {
namespace {

namespace chrono = std::chrono;
using chrono::local_days;
using chrono::local_seconds;
using chrono::seconds;
using chrono::year;
using chrono::year_month;
using namespace std::chrono_literals;

constexpr year_month first_month = year{-1} / chrono::January;
constexpr year_month last_month = year{10000} / chrono::December;
constexpr local_seconds first_second = local_days{first_month / 1};
constexpr local_seconds last_second = local_days{last_month / 31} + 24h - 1s;

constexpr std::uint32_t bit(unsigned n) {
  return std::uint32_t{1} << n;
}

// The lowest set bit at or above `from`, the highest at or below it; -1 if there is none.
constexpr int lowest_from(std::uint64_t set, int from) {
  if (from > 63) return -1;
  const std::uint64_t rest = from <= 0 ? set : set >> from << from;
  return rest == 0 ? -1 : std::countr_zero(rest);
}

constexpr int highest_until(std::uint64_t set, int until) {
  if (until < 0) return -1;
  const std::uint64_t rest = until >= 63 ? set : set & ((std::uint64_t{2} << until) - 1);
  return rest == 0 ? -1 : 63 - std::countl_zero(rest);
}

// A month as the day fields see it.
struct Month {
  unsigned length;
  unsigned first_weekday;  // of its first day; 0 is Sunday

  explicit Month(year_month month)
      : length(static_cast<unsigned>((month / chrono::last).day())),
        first_weekday(chrono::weekday{local_days{month / 1}}.c_encoding()) {}

  unsigned weekday_of(unsigned d) const { return (first_weekday + d - 1) % 7; }

  // The Monday to Friday nearest to day d, never in another month.
  unsigned nearest_weekday(unsigned d) const {
    const unsigned at = weekday_of(d);
    if (at == 6) return d == 1 ? 3 : d - 1;
    if (at == 0) return d == length ? d - 2 : d + 1;
    return d;
  }
};

std::uint32_t days_by_day_field(const Cron& cron, const Month& month) {
  std::uint32_t set = cron.days;
  for (unsigned d = 1; d <= month.length; ++d) {
    const unsigned before_last = month.length - d;
    if (cron.from_last & bit(before_last)) set |= bit(d);
    if (cron.nearest & bit(d)) set |= bit(month.nearest_weekday(d));
    if (cron.nearest_from_last & bit(before_last)) set |= bit(month.nearest_weekday(d));
  }
  return set;
}

std::uint32_t days_by_weekday_field(const Cron& cron, const Month& month) {
  std::uint32_t set = 0;
  for (unsigned d = 1; d <= month.length; ++d) {
    const std::uint8_t weeks = cron.weekdays[month.weekday_of(d)];
    const bool in_last_week = d + 7 > month.length;
    if ((weeks & bit((d - 1) / 7)) || (in_last_week && (weeks & Cron::last_week))) set |= bit(d);
  }
  return set;
}

// The days of a month that match, as bits 1 to 31.
std::uint32_t matching_days(const Cron& cron, year_month month) {
  if (!(cron.months & bit(static_cast<unsigned>(month.month())))) return 0;
  const Month shape{month};
  const std::uint32_t whole = (bit(shape.length) - 1) << 1;
  if (cron.any_day && cron.any_weekday) return whole;
  if (cron.any_weekday) return days_by_day_field(cron, shape) & whole;
  if (cron.any_day) return days_by_weekday_field(cron, shape) & whole;
  return (days_by_day_field(cron, shape) | days_by_weekday_field(cron, shape)) & whole;
}

struct TimeOfDay {
  int hour;
  int minute;
  int second;

  explicit TimeOfDay(seconds since_midnight)
      : hour(static_cast<int>(since_midnight.count() / 3600)),
        minute(static_cast<int>(since_midnight.count() / 60 % 60)),
        second(static_cast<int>(since_midnight.count() % 60)) {}
};

seconds since_midnight(int hour, int minute, int second) {
  return chrono::hours{hour} + chrono::minutes{minute} + seconds{second};
}

std::optional<seconds> first_time_from(const Cron& cron, seconds from) {
  const TimeOfDay at{from};
  if (lowest_from(cron.hours, at.hour) == at.hour) {
    if (lowest_from(cron.minutes, at.minute) == at.minute) {
      if (const int second = lowest_from(cron.seconds, at.second); second >= 0)
        return since_midnight(at.hour, at.minute, second);
    }
    if (const int minute = lowest_from(cron.minutes, at.minute + 1); minute >= 0)
      return since_midnight(at.hour, minute, lowest_from(cron.seconds, 0));
  }
  const int hour = lowest_from(cron.hours, at.hour + 1);
  if (hour < 0) return std::nullopt;
  return since_midnight(hour, lowest_from(cron.minutes, 0), lowest_from(cron.seconds, 0));
}

std::optional<seconds> last_time_until(const Cron& cron, seconds until) {
  const TimeOfDay at{until};
  if (highest_until(cron.hours, at.hour) == at.hour) {
    if (highest_until(cron.minutes, at.minute) == at.minute) {
      if (const int second = highest_until(cron.seconds, at.second); second >= 0)
        return since_midnight(at.hour, at.minute, second);
    }
    if (const int minute = highest_until(cron.minutes, at.minute - 1); minute >= 0)
      return since_midnight(at.hour, minute, highest_until(cron.seconds, 59));
  }
  const int hour = highest_until(cron.hours, at.hour - 1);
  if (hour < 0) return std::nullopt;
  return since_midnight(hour, highest_until(cron.minutes, 59), highest_until(cron.seconds, 59));
}

bool has_times(const Cron& cron) {
  return cron.hours && cron.minutes && cron.seconds;
}

}  // namespace

bool Cron::matches(local_seconds at) const {
  if (at < first_second || at > last_second) return false;
  const local_days today = chrono::floor<chrono::days>(at);
  const chrono::year_month_day date{today};
  const TimeOfDay time{at - today};
  return (hours >> time.hour & 1) && (minutes >> time.minute & 1) && (seconds >> time.second & 1) &&
         (matching_days(*this, date.year() / date.month()) &
          bit(static_cast<unsigned>(date.day())));
}

std::optional<local_seconds> Cron::first_from(local_seconds at) const {
  if (at > last_second || !has_times(*this)) return std::nullopt;
  at = std::max(at, first_second);
  const local_days today = chrono::floor<chrono::days>(at);
  const chrono::year_month_day date{today};
  year_month month = date.year() / date.month();
  int from_day = static_cast<int>(static_cast<unsigned>(date.day()));
  std::uint32_t set = matching_days(*this, month);
  if (set & bit(static_cast<unsigned>(from_day))) {
    if (const auto time = first_time_from(*this, at - today)) return today + *time;
    ++from_day;
  }
  while (true) {
    if (const int found = lowest_from(set, from_day); found >= 0)
      return local_days{month / found} + *first_time_from(*this, 0s);
    if (month == last_month) return std::nullopt;
    month += chrono::months{1};
    set = matching_days(*this, month);
    from_day = 1;
  }
}

std::optional<local_seconds> Cron::last_until(local_seconds at) const {
  if (at < first_second || !has_times(*this)) return std::nullopt;
  at = std::min(at, last_second);
  const local_days today = chrono::floor<chrono::days>(at);
  const chrono::year_month_day date{today};
  year_month month = date.year() / date.month();
  int until_day = static_cast<int>(static_cast<unsigned>(date.day()));
  std::uint32_t set = matching_days(*this, month);
  if (set & bit(static_cast<unsigned>(until_day))) {
    if (const auto time = last_time_until(*this, at - today)) return today + *time;
    --until_day;
  }
  while (true) {
    if (const int found = highest_until(set, until_day); found >= 0)
      return local_days{month / found} + *last_time_until(*this, 24h - 1s);
    if (month == first_month) return std::nullopt;
    month -= chrono::months{1};
    set = matching_days(*this, month);
    until_day = 31;
  }
}

}  // namespace millrace
