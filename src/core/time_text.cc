#include "core/time_text.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include "core/ascii.h"
#include "core/quote.h"

namespace millrace {
namespace {

namespace chrono = std::chrono;

using ascii::is_digit;

// Text, how far it has been read, and the reason why it cannot be read on.
class TextReader {
 public:
  TextReader(std::string_view what, std::string_view text) : what_(what), text_(text) {}

  std::size_t at() const { return at_; }
  bool at_end() const { return at_ == text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }
  void skip(std::size_t count) { at_ += count; }
  std::string_view rest() const { return text_.substr(at_); }

  bool take(char wanted) {
    if (at_end() || peek() != wanted) return false;
    ++at_;
    return true;
  }

  bool expect(char wanted) {
    return take(wanted) || refuse(fmt::format("expected '{}', found {}", wanted, here()));
  }

  // Exactly `count` digits that make a number in the range.
  bool digits(std::size_t count, std::string_view name, int least, int most, int& number) {
    number = 0;
    const std::size_t begin = at_;
    for (; at_ < begin + count; ++at_) {
      if (!is_digit(peek())) {
        return refuse(fmt::format("the {} needs {} digits, found {}", name, count, here()));
      }
      number = number * 10 + (peek() - '0');
    }
    if (number >= least && number <= most) return true;
    at_ = begin;
    return refuse(
        fmt::format("{} {} is out of range {}-{}", name, text_.substr(begin, count), least, most));
  }

  std::string here() const { return at_end() ? "the end" : in_quotes(text_.substr(at_, 1)); }

  // Always false, so that it can be returned.
  bool refuse(std::string_view why) {
    error_ = {
        .code = ErrorCode::invalid,
        .message = fmt::format("{} {}: column {}: {}", what_, in_quotes(text_), at_ + 1, why)};
    return false;
  }

  std::unexpected<Error> error() const { return std::unexpected(error_); }

 private:
  std::string_view what_;
  std::string_view text_;
  std::size_t at_ = 0;
  Error error_;
};

struct DateTime {
  int year = 0;
  int month = 0;
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  int millisecond = 0;
  int offset_minutes = 0;  // east is positive
};

bool read_date(TextReader& in, DateTime& out) {
  if (!in.digits(4, "year", 0, 9999, out.year) || !in.expect('-')) return false;
  if (!in.digits(2, "month", 1, 12, out.month) || !in.expect('-')) return false;
  const auto month = chrono::year{out.year} / out.month;
  const unsigned last = static_cast<unsigned>((month / chrono::last).day());
  return in.digits(2, "day", 1, static_cast<int>(last), out.day);
}

bool read_clock(TextReader& in, DateTime& out) {
  if (!in.digits(2, "hour", 0, 23, out.hour) || !in.expect(':')) return false;
  if (!in.digits(2, "minute", 0, 59, out.minute) || !in.expect(':')) return false;
  if (!in.digits(2, "second", 0, 60, out.second)) return false;
  if (!in.take('.')) return true;
  if (!is_digit(in.peek()))
    return in.refuse(fmt::format("no digits after '.', found {}", in.here()));
  for (int weight = 100; is_digit(in.peek()); weight /= 10, in.skip(1))
    out.millisecond += (in.peek() - '0') * weight;
  return true;
}

bool read_offset(TextReader& in, DateTime& out) {
  if (in.take('Z') || in.take('z')) return true;
  const bool west = in.peek() == '-';
  if (!in.take('+') && !in.take('-'))
    return in.refuse(fmt::format("expected Z or an offset such as +02:00, found {}", in.here()));
  int hours = 0;
  int minutes = 0;
  if (!in.digits(2, "offset hour", 0, 23, hours) || !in.expect(':')) return false;
  if (!in.digits(2, "offset minute", 0, 59, minutes)) return false;
  out.offset_minutes = (hours * 60 + minutes) * (west ? -1 : 1);
  return true;
}

bool read_date_time(TextReader& in, DateTime& out) {
  if (!read_date(in, out)) return false;
  if (!in.take('T') && !in.take('t') && !in.take(' '))
    return in.refuse(fmt::format("expected 'T' and a time of day, found {}", in.here()));
  if (!read_clock(in, out) || !read_offset(in, out)) return false;
  return in.at_end() || in.refuse(fmt::format("nothing may follow, found {}", in.here()));
}

struct Unit {
  std::string_view name;
  std::uint64_t milliseconds;
};

// Greatest first, the order in which they must be written.
constexpr std::array<Unit, 6> units{{{"w", 604'800'000},
                                     {"d", 86'400'000},
                                     {"h", 3'600'000},
                                     {"m", 60'000},
                                     {"s", 1'000},
                                     {"ms", 1}}};
constexpr std::string_view unit_list = "w, d, h, m, s, ms";

// A number as written: 1.25 is 1 and 25 at scale 100.
struct Decimal {
  std::uint64_t whole = 0;
  std::uint64_t fraction = 0;
  std::uint64_t scale = 1;
};

bool read_decimal(TextReader& in, Decimal& out) {
  constexpr std::uint64_t whole_most = std::numeric_limits<std::int64_t>::max();
  constexpr std::uint64_t scale_most = 1'000'000'000;  // no unit needs more decimals
  if (!is_digit(in.peek()))
    return in.refuse(fmt::format("expected a number, as in 5m or 1h30m, found {}", in.here()));
  for (; is_digit(in.peek()); in.skip(1)) {
    const auto digit = static_cast<std::uint64_t>(in.peek() - '0');
    if (out.whole > (whole_most - digit) / 10) return in.refuse("too long for a duration");
    out.whole = out.whole * 10 + digit;
  }
  if (!in.take('.')) return true;
  if (!is_digit(in.peek()))
    return in.refuse(fmt::format("no digits after '.', found {}", in.here()));
  for (; is_digit(in.peek()); in.skip(1)) {
    if (out.scale == scale_most) return in.refuse("more than 9 decimals");
    out.fraction = out.fraction * 10 + static_cast<std::uint64_t>(in.peek() - '0');
    out.scale *= 10;
  }
  return true;
}

// The index of the unit that comes next.
bool read_unit(TextReader& in, std::size_t number_at, std::size_t& index) {
  std::size_t size = 0;
  const std::string_view rest = in.rest();
  while (size < rest.size() && !is_digit(rest[size]) && rest[size] != '.') ++size;
  const std::string_view name = rest.substr(0, size);
  const auto found = std::ranges::find(units, name, &Unit::name);
  if (found != units.end()) {
    index = static_cast<std::size_t>(found - units.begin());
    in.skip(size);
    return true;
  }
  if (!name.empty())
    return in.refuse(fmt::format("unknown unit {}; there are {}", in_quotes(name), unit_list));
  return in.refuse(
      fmt::format("the number at column {} has no unit; add one of {}", number_at + 1, unit_list));
}

// total += number * unit, if that is whole and fits.
bool add(TextReader& in, const Decimal& number, const Unit& unit, Duration& total) {
  const std::uint64_t part = number.fraction * unit.milliseconds;  // < 10^9 * 10^9
  if (part % number.scale != 0) return in.refuse("finer than a millisecond");
  const auto room = static_cast<std::uint64_t>((Duration::max() - total).count());
  const std::uint64_t from_fraction = part / number.scale;
  if (from_fraction > room || number.whole > (room - from_fraction) / unit.milliseconds)
    return in.refuse("too long for a duration");
  total += Duration{static_cast<std::int64_t>(number.whole * unit.milliseconds + from_fraction)};
  return true;
}

bool read_duration(TextReader& in, Duration& total) {
  std::size_t next_unit = 0;
  bool last = false;
  do {
    const std::size_t number_at = in.at();
    if (last) return in.refuse("only the last number may have a fraction");
    Decimal number;
    if (!read_decimal(in, number)) return false;
    last = number.scale > 1;
    const std::size_t unit_at = in.at();
    std::size_t unit = 0;
    if (!read_unit(in, number_at, unit)) return false;
    if (unit < next_unit) {
      return in.refuse(
          fmt::format("the unit {} at column {} comes too late; write each unit once, "
                      "in the order {}",
                      units[unit].name, unit_at + 1, unit_list));
    }
    next_unit = unit + 1;
    if (!add(in, number, units[unit], total)) return false;
  } while (!in.at_end());
  return true;
}

}  // namespace

namespace {

// The form that format_time() writes, by far the most common; nullopt: another one.
std::optional<TimePoint> parse_usual(std::string_view text) {
  constexpr std::string_view form = "0000-00-00T00:00:00.000Z";
  if (text.size() != form.size()) return std::nullopt;
  std::array<unsigned, form.size()> digit{};
  for (std::size_t i = 0; i < form.size(); ++i) {
    digit[i] = static_cast<unsigned char>(text[i]) - unsigned{'0'};
    if (form[i] == '0' ? digit[i] > 9 : text[i] != form[i]) return std::nullopt;
  }
  const auto two = [&](std::size_t at) { return digit[at] * 10 + digit[at + 1]; };
  const chrono::year_month_day date{chrono::year(static_cast<int>(two(0) * 100 + two(2))),
                                    chrono::month(two(5)), chrono::day(two(8))};
  const unsigned hour = two(11);
  const unsigned minute = two(14);
  const unsigned second = two(17);
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  return chrono::sys_days{date} + chrono::hours(hour) + chrono::minutes(minute) +
         chrono::seconds(second) + Duration(digit[20] * 100 + two(21));
}

}  // namespace

Result<TimePoint> parse_time(std::string_view text) {
  if (const auto usual = parse_usual(text)) return *usual;
  TextReader in{"time", text};
  DateTime read;
  if (!read_date_time(in, read)) return in.error();
  const chrono::sys_days day{chrono::year{read.year} / read.month / read.day};
  const TimePoint time = day + chrono::hours{read.hour} +
                         chrono::minutes{read.minute - read.offset_minutes} +
                         chrono::seconds{read.second} + Duration{read.millisecond};
  if (read.second == 60 &&
      (time - Duration{read.millisecond}).time_since_epoch() % chrono::days{1} != Duration{0}) {
    in.refuse("second 60 is only a leap second at 23:59:60 UTC");
    return in.error();
  }
  if (time < first_time || time > last_time) {
    in.refuse("the moment is outside the years 0000-9999 in UTC");
    return in.error();
  }
  return time;
}

std::string format_time(TimePoint time) {
  time = std::clamp(time, first_time, last_time);
  const auto day = chrono::floor<chrono::days>(time);
  const chrono::year_month_day date{day};
  const chrono::hh_mm_ss clock{time - day};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

Result<Duration> parse_duration(std::string_view text) {
  if (text == "0") return Duration{0};
  TextReader in{"duration", text};
  Duration total{0};
  if (in.peek() == '-') {
    in.refuse("a duration cannot be negative");
    return in.error();
  }
  if (!read_duration(in, total)) return in.error();
  return total;
}

std::string format_duration(Duration duration) {
  if (duration == Duration{0}) return "0s";
  std::string out = duration < Duration{0} ? "-" : "";
  auto rest = static_cast<std::uint64_t>(duration.count());
  if (duration < Duration{0}) rest = 0 - rest;
  for (const Unit& unit : units) {
    if (unit.name == "w") continue;  // 30d says more than 4w2d
    if (rest >= unit.milliseconds) out += fmt::format("{}{}", rest / unit.milliseconds, unit.name);
    rest %= unit.milliseconds;
  }
  return out;
}

}  // namespace millrace
