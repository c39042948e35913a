#include "core/time_text.h"

#include <gtest/gtest.h>
#include <random>
#include <string>

namespace millrace {
namespace {

using namespace std::chrono_literals;

struct Good {
  const char* text;
  const char* in_utc;
};

TEST(TimeText, rfc_3339_is_read_in_all_its_forms) {
  const Good table[] = {
      {"2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05.678Z"},
      {"2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000Z"},
      {"2026-01-02t03:04:05z", "2026-01-02T03:04:05.000Z"},
      {"2026-01-02 03:04:05Z", "2026-01-02T03:04:05.000Z"},
      {"2026-01-02T03:04:05.6Z", "2026-01-02T03:04:05.600Z"},
      {"2026-01-02T03:04:05.67Z", "2026-01-02T03:04:05.670Z"},
      {"2026-01-02T03:04:05.6789999999999999999999999Z", "2026-01-02T03:04:05.678Z"},
      {"1969-12-31T23:59:59.9999Z", "1969-12-31T23:59:59.999Z"},
      {"2026-01-02T03:04:05+02:00", "2026-01-02T01:04:05.000Z"},
      {"2026-01-02T03:04:05-05:30", "2026-01-02T08:34:05.000Z"},
      {"2026-01-01T00:30:00+05:45", "2025-12-31T18:45:00.000Z"},
      {"2026-01-02T03:04:05-00:00", "2026-01-02T03:04:05.000Z"},
      {"2026-12-31T23:59:59-23:59", "2027-01-01T23:58:59.000Z"},
      {"2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"},
      {"2000-02-29T12:00:00Z", "2000-02-29T12:00:00.000Z"},
      {"0000-01-01T00:00:00Z", "0000-01-01T00:00:00.000Z"},
      {"9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"},
      {"2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"},
      {"2016-12-31T15:59:60.5-08:00", "2017-01-01T00:00:00.500Z"},
  };
  for (const auto& [text, in_utc] : table) {
    const Result<TimePoint> time = parse_time(text);
    ASSERT_TRUE(time) << time.error().message;
    EXPECT_EQ(format_time(*time), in_utc) << text;
  }
}

struct Bad {
  const char* text;
  const char* message;
};

TEST(TimeText, a_bad_time_is_refused_with_its_column) {
  const Bad table[] = {
      {"", R"(time "": column 1: the year needs 4 digits, found the end)"},
      {"26-01-02T03:04:05Z", R"(column 3: the year needs 4 digits, found "-")"},
      {"+2026-01-02T03:04:05Z", R"(column 1: the year needs 4 digits, found "+")"},
      {"2026/01/02T03:04:05Z", R"(column 5: expected '-', found "/")"},
      {"2026-13-02T03:04:05Z", R"(column 6: month 13 is out of range 1-12)"},
      {"2026-00-02T03:04:05Z", R"(column 6: month 00 is out of range 1-12)"},
      {"2026-02-29T03:04:05Z", R"(column 9: day 29 is out of range 1-28)"},
      {"1900-02-29T03:04:05Z", R"(column 9: day 29 is out of range 1-28)"},
      {"2026-04-31T03:04:05Z", R"(column 9: day 31 is out of range 1-30)"},
      {"2026-01-02", R"(column 11: expected 'T' and a time of day, found the end)"},
      {"2026-01-02_03:04:05Z", R"(column 11: expected 'T' and a time of day, found "_")"},
      {"2026-01-02T24:00:00Z", R"(column 12: hour 24 is out of range 0-23)"},
      {"2026-01-02T03:60:00Z", R"(column 15: minute 60 is out of range 0-59)"},
      {"2026-01-02T03:04:61Z", R"(column 18: second 61 is out of range 0-60)"},
      {"2026-01-02T03:04Z", R"(column 17: expected ':', found "Z")"},
      {"2026-01-02T3:04:05Z", R"(column 13: the hour needs 2 digits, found ":")"},
      {"2026-01-02T03:04:05",
       R"(column 20: expected Z or an offset such as +02:00, found the end)"},
      {"2026-01-02T03:04:05,5Z", R"(column 20: expected Z or an offset such as +02:00, found ",")"},
      {"2026-01-02T03:04:05.Z", R"(column 21: no digits after '.', found "Z")"},
      {"2026-01-02T03:04:05+24:00", R"(column 21: offset hour 24 is out of range 0-23)"},
      {"2026-01-02T03:04:05+02:60", R"(column 24: offset minute 60 is out of range 0-59)"},
      {"2026-01-02T03:04:05+0200", R"(column 23: expected ':', found "0")"},
      {"2026-01-02T03:04:05Z ", R"(column 21: nothing may follow, found " ")"},
      {" 2026-01-02T03:04:05Z", R"(column 1: the year needs 4 digits, found " ")"},
      {"2026-01-02T03:04:60Z", R"(second 60 is only a leap second at 23:59:60 UTC)"},
      {"2026-01-02T23:59:60+01:00", R"(second 60 is only a leap second at 23:59:60 UTC)"},
      {"0000-01-01T00:00:00+00:01", R"(the moment is outside the years 0000-9999 in UTC)"},
      {"9999-12-31T23:59:59-00:01", R"(the moment is outside the years 0000-9999 in UTC)"},
      {"9999-12-31T23:59:60Z", R"(the moment is outside the years 0000-9999 in UTC)"},
  };
  for (const auto& [text, message] : table) {
    const Result<TimePoint> time = parse_time(text);
    ASSERT_FALSE(time) << text;
    EXPECT_EQ(time.error().code, ErrorCode::invalid);
    EXPECT_NE(time.error().message.find(message), std::string::npos) << time.error().message;
  }
}

TEST(TimeText, moments_without_a_text_become_the_nearest_that_has_one) {
  EXPECT_EQ(format_time(never), "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(format_time(last_time + 1ms), "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(format_time(TimePoint::min()), "0000-01-01T00:00:00.000Z");
  EXPECT_EQ(format_time(TimePoint{}), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(format_time(TimePoint{} - 1ms), "1969-12-31T23:59:59.999Z");
}

TEST(TimeText, every_moment_comes_back_from_its_text_and_texts_sort_as_moments_do) {
  std::mt19937_64 random{3};
  std::uniform_int_distribution<Duration::rep> any{first_time.time_since_epoch().count(),
                                                   last_time.time_since_epoch().count()};
  for (int i = 0; i < 100'000; ++i) {
    const TimePoint one{Duration{any(random)}};
    const TimePoint other{Duration{any(random)}};
    ASSERT_EQ(parse_time(format_time(one)), one);
    ASSERT_EQ(format_time(one) < format_time(other), one < other);
  }
}

TEST(TimeText, dates_come_back_from_their_text_across_the_whole_calendar) {
  for (TimePoint day = first_time; day < last_time; day += std::chrono::days{13})
    ASSERT_EQ(parse_time(format_time(day)), day);
}

struct GoodDuration {
  const char* text;
  Duration value;
};

TEST(DurationText, numbers_with_units_are_added_up) {
  const GoodDuration table[] = {
      {"0", 0ms},         {"0s", 0ms},
      {"250ms", 250ms},   {"30s", 30s},
      {"5m", 5min},       {"1h30m", 90min},
      {"1d", 24h},        {"2w", 336h},
      {"1.5h", 90min},    {"0.25s", 250ms},
      {"1h0.5m", 3630s},  {"1w2d3h4m5s6ms", 604800s + 172800s + 3h + 4min + 5s + 6ms},
      {"90m", 90min},     {"007s", 7s},
      {"0.001s", 1ms},    {"1.000000000s", 1s},
      {"0.125m", 7500ms}, {"1d24h", 48h},
  };
  for (const auto& [text, value] : table) {
    const Result<Duration> read = parse_duration(text);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, value) << text;
  }
}

TEST(DurationText, a_bad_duration_is_refused_with_its_column) {
  const Bad table[] = {
      {"", R"(duration "": column 1: expected a number, as in 5m or 1h30m, found the end)"},
      {"90", R"(column 3: the number at column 1 has no unit; add one of w, d, h, m, s, ms)"},
      {"1h30", R"(column 5: the number at column 3 has no unit; add one of w, d, h, m, s, ms)"},
      {"-5s", R"(column 1: a duration cannot be negative)"},
      {"+5s", R"(column 1: expected a number, as in 5m or 1h30m, found "+")"},
      {"s", R"(column 1: expected a number, as in 5m or 1h30m, found "s")"},
      {" 5s", R"(column 1: expected a number, as in 5m or 1h30m, found " ")"},
      {"5s ", R"(column 2: unknown unit "s "; there are w, d, h, m, s, ms)"},
      {"1h 30m", R"(column 2: unknown unit "h "; there are)"},
      {"5 minutes", R"(column 2: unknown unit " minutes"; there are w, d, h, m, s, ms)"},
      {"5min", R"(column 2: unknown unit "min"; there are w, d, h, m, s, ms)"},
      {"5M", R"(column 2: unknown unit "M"; there are)"},
      {"5us", R"(column 2: unknown unit "us"; there are)"},
      {"1y", R"(column 2: unknown unit "y"; there are)"},
      {"30m1h",
       R"(the unit h at column 5 comes too late; write each unit once, in the order w, d, h,)"},
      {"1m1m", R"(the unit m at column 4 comes too late)"},
      {"1ms1s", R"(the unit s at column 5 comes too late)"},
      {"1.5h30m", R"(column 5: only the last number may have a fraction)"},
      {"1.h", R"(column 3: no digits after '.', found "h")"},
      {".5h", R"(column 1: expected a number, as in 5m or 1h30m, found ".")"},
      {"1.5.5h", R"(column 4: the number at column 1 has no unit)"},
      {"1.5ms", R"(column 6: finer than a millisecond)"},
      {"0.0001s", R"(finer than a millisecond)"},
      {"1.0000000001h", R"(more than 9 decimals)"},
      {"9223372036854775808ms", R"(too long for a duration)"},
      {"99999999999999999999999s", R"(too long for a duration)"},
      {"9223372036854775807s", R"(too long for a duration)"},
      {"106751991168d", R"(too long for a duration)"},
      {"9223372036854775s808ms", R"(too long for a duration)"},
      {"00", R"(the number at column 1 has no unit)"},
  };
  for (const auto& [text, message] : table) {
    const Result<Duration> read = parse_duration(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ErrorCode::invalid);
    EXPECT_NE(read.error().message.find(message), std::string::npos) << read.error().message;
  }
}

TEST(DurationText, the_largest_duration_can_be_written_in_full) {
  EXPECT_EQ(parse_duration("9223372036854775807ms"), Duration::max());
  EXPECT_EQ(parse_duration("9223372036854775s807ms"), Duration::max());
  EXPECT_EQ(parse_duration(format_duration(Duration::max())), Duration::max());
}

TEST(DurationText, a_duration_is_written_as_short_as_it_can_be) {
  EXPECT_EQ(format_duration(5400s), "1h30m");
  EXPECT_EQ(format_duration(0ms), "0s");
  EXPECT_EQ(format_duration(1500ms), "1s500ms");
  EXPECT_EQ(format_duration(24h * 30), "30d");
  EXPECT_EQ(format_duration(25h + 1ms), "1d1h1ms");
  EXPECT_EQ(format_duration(60s), "1m");
  EXPECT_EQ(format_duration(-90s), "-1m30s");
  EXPECT_EQ(format_duration(Duration::max()), "106751991167d7h12m55s807ms");
  EXPECT_EQ(format_duration(Duration::min()), "-106751991167d7h12m55s808ms");
}

TEST(DurationText, every_duration_comes_back_from_its_text) {
  std::mt19937_64 random{4};
  for (int i = 0; i < 100'000; ++i) {
    const auto bits = static_cast<Duration::rep>(random() >> 1);
    const Duration duration{bits >> (random() % 63)};
    ASSERT_EQ(parse_duration(format_duration(duration)), duration);
  }
}

}  // namespace
}  // namespace millrace
