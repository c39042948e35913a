#include "core/zone_rule.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include "core/ascii.h"
#include "core/quote.h"

namespace millrace {
namespace {

namespace chrono = std::chrono;
using chrono::days;
using chrono::local_days;
using chrono::local_seconds;
using chrono::seconds;
using chrono::sys_seconds;
using chrono::year;

using ascii::is_digit;
using ascii::is_letter;

sys_seconds utc_by_rule(local_seconds at, seconds offset) {
  return sys_seconds{(at - offset).time_since_epoch()};
}

// Reads the rule from left to right; each read_ function is false if its part is not there.
class RuleReader {
 public:
  explicit RuleReader(std::string_view text) : rest_(text) {}

  bool read(ZoneRule& rule) {
    if (!read_name() || !read_offset(rule.standard)) return false;
    if (rest_.empty()) return true;
    ZoneRule::Summer summer{.offset = rule.standard + chrono::hours{1}, .start = {}, .end = {}};
    if (!read_name()) return false;
    if (!rest_.empty() && rest_[0] != ',' && !read_offset(summer.offset)) return false;
    if (!take(',') || !read_change(summer.start)) return false;
    if (!take(',') || !read_change(summer.end)) return false;
    rule.summer = summer;
    return rest_.empty();
  }

 private:
  // CET, or <+0330>
  bool read_name() {
    const bool bracketed = take('<');
    std::size_t size = 0;
    while (size < rest_.size() &&
           (is_letter(rest_[size]) ||
            (bracketed && (is_digit(rest_[size]) || rest_[size] == '+' || rest_[size] == '-')))) {
      ++size;
    }
    rest_.remove_prefix(size);
    return size >= 3 && (!bracketed || take('>'));
  }

  // An offset west of Greenwich is written as a positive number.
  bool read_offset(seconds& offset) {
    seconds west{};
    if (!read_time(west, 24)) return false;
    offset = -west;
    return true;
  }

  // [+|-]hh[:mm[:ss]]
  bool read_time(seconds& time, int hours_most) {
    const bool negative = take('-');
    if (!negative) take('+');
    int hours = 0;
    int minutes = 0;
    int secs = 0;
    if (!read_number(hours, 0, hours_most)) return false;
    if (take(':')) {
      if (!read_number(minutes, 0, 59)) return false;
      if (take(':') && !read_number(secs, 0, 59)) return false;
    }
    time = chrono::hours{hours} + chrono::minutes{minutes} + seconds{secs};
    if (negative) time = -time;
    return true;
  }

  bool read_change(ZoneRule::Change& change) {
    using Kind = ZoneRule::Change::Kind;
    if (take('M')) {
      change.kind = Kind::month_week_day;
      if (!read_number(change.month, 1, 12) || !take('.')) return false;
      if (!read_number(change.week, 1, 5) || !take('.')) return false;
      if (!read_number(change.day, 0, 6)) return false;
    } else if (take('J')) {
      change.kind = Kind::julian;
      if (!read_number(change.day, 1, 365)) return false;
    } else {
      change.kind = Kind::day_of_year;
      if (!read_number(change.day, 0, 365)) return false;
    }
    change.time = chrono::hours{2};
    return !take('/') || read_time(change.time, 167);
  }

  bool read_number(int& number, int least, int most) {
    if (rest_.empty() || !is_digit(rest_[0])) return false;
    number = 0;
    while (!rest_.empty() && is_digit(rest_[0])) {
      number = std::min(number * 10 + (rest_[0] - '0'), 9999);
      rest_.remove_prefix(1);
    }
    return number >= least && number <= most;
  }

  bool take(char wanted) {
    if (rest_.empty() || rest_[0] != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::string_view rest_;
};

}  // namespace

local_seconds ZoneRule::Change::in(year y) const {
  const local_days new_year{y / 1 / 1};
  switch (kind) {
    case Kind::month_week_day: {
      const chrono::weekday wanted{static_cast<unsigned>(day)};
      const auto of_month = y / month;
      if (week == 5) return local_days{of_month / wanted[chrono::last]} + time;
      return local_days{of_month / wanted[static_cast<unsigned>(week)]} + time;
    }
    case Kind::julian: {
      const bool after_february = day >= 60;
      return new_year + days{day - 1 + (after_february && y.is_leap() ? 1 : 0)} + time;
    }
    case Kind::day_of_year:
      return new_year + days{day} + time;
  }
  return new_year;
}

Result<ZoneRule> ZoneRule::parse(std::string_view text) {
  ZoneRule rule;
  if (RuleReader{text}.read(rule)) return rule;
  return fail(ErrorCode::corrupt, fmt::format("zone: {} is not a POSIX TZ rule", in_quotes(text)));
}

ZonePeriod ZoneRule::period_at(sys_seconds at) const {
  ZonePeriod period{.begin = zone_time_begin, .end = zone_time_end, .offset = standard};
  if (!summer) return period;

  // The changes of a year may fall a week outside it, so two years on each side are looked at.
  struct Turn {
    sys_seconds at;
    seconds offset;
  };
  std::array<Turn, 10> events;
  std::size_t count = 0;
  const year middle = chrono::year_month_day{chrono::floor<days>(at)}.year();
  for (year y = middle - chrono::years{2}; y <= middle + chrono::years{2}; ++y) {
    const sys_seconds start = utc_by_rule(summer->start.in(y), standard);
    const sys_seconds end = utc_by_rule(summer->end.in(y), summer->offset);
    const bool start_first = start <= end;
    events[count++] = start_first ? Turn{start, summer->offset} : Turn{end, standard};
    events[count++] = start_first ? Turn{end, standard} : Turn{start, summer->offset};
  }
  // Stable: where summer time lasts all year, the start of a year's is at the end of the last one's
  // and must come after it.
  if (!std::ranges::is_sorted(events, {}, &Turn::at))
    std::ranges::stable_sort(events, {}, &Turn::at);
  for (const Turn& event : events) {
    if (event.at > at) {
      period.end = event.at;
      break;
    }
    period.begin = event.at;
    period.offset = event.offset;
  }
  return period;
}

}  // namespace millrace
