#include "core/zone_rule.h"

#include <gtest/gtest.h>
#include <string>
#include "core/time_text.h"

namespace millrace {
namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;
using namespace std::chrono_literals;

sys_seconds at(const std::string& text) {
  return std::chrono::floor<seconds>(parse_time(text).value());
}

std::string text(sys_seconds time) {
  return format_time(time).substr(0, 19) + "Z";
}

ZoneRule rule(std::string_view text) {
  const Result<ZoneRule> parsed = ZoneRule::parse(text);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed.value_or(ZoneRule{});
}

TEST(ZoneRule, without_summer_time_there_is_one_period_for_ever) {
  const ZoneRule moscow = rule("MSK-3");
  EXPECT_EQ(moscow.period_at(at("2100-07-01T00:00:00Z")),
            (ZonePeriod{zone_time_begin, zone_time_end, 3h}));
  EXPECT_EQ(rule("<-03>3").standard, -3h);
  EXPECT_EQ(rule("<+0545>-5:45").standard, 5h + 45min);
  EXPECT_EQ(rule("XXX-0:00:44").standard, 44s);
  EXPECT_EQ(rule("UTC+0").standard, 0s);
}

struct Summer {
  const char* rule;
  const char* inside;
  const char* begin;
  const char* end;
  seconds offset;
};

// Every kind of date, and times of day that are negative or later than midnight.
TEST(ZoneRule, summer_time_begins_and_ends_as_the_rule_says) {
  const Summer table[] = {
      {"CET-1CEST,M3.5.0,M10.5.0/3", "2050-07-01T00:00:00Z", "2050-03-27T01:00:00Z",
       "2050-10-30T01:00:00Z", 2h},
      {"CET-1CEST,M3.5.0,M10.5.0/3", "2050-12-31T00:00:00Z", "2050-10-30T01:00:00Z",
       "2051-03-26T01:00:00Z", 1h},
      {"EST5EDT,M3.2.0,M11.1.0", "2100-07-01T00:00:00Z", "2100-03-14T07:00:00Z",
       "2100-11-07T06:00:00Z", -4h},
      {"<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "2050-01-01T00:00:00Z", "2049-10-02T15:30:00Z",
       "2050-04-02T15:00:00Z", 11h},
      // Negative summer time: Ireland's is its winter.
      {"IST-1GMT0,M10.5.0,M3.5.0/1", "2050-01-01T00:00:00Z", "2049-10-31T01:00:00Z",
       "2050-03-27T01:00:00Z", 0h},
      // The day before the last Sunday of March, at 23 o'clock.
      {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2050-07-01T00:00:00Z", "2050-03-27T01:00:00Z",
       "2050-10-30T01:00:00Z", -1h},
      // The Friday after the fourth Thursday of March at 2; the end of a Thursday.
      {"IST-2IDT,M3.4.4/26,M10.5.0", "2050-07-01T00:00:00Z", "2050-03-25T00:00:00Z",
       "2050-10-29T23:00:00Z", 3h},
      {"EET-2EEST,M4.5.5/0,M10.5.4/24", "2050-07-01T00:00:00Z", "2050-04-28T22:00:00Z",
       "2050-10-27T21:00:00Z", 3h},
      // Day 60 is 1 March in every year, also in a leap year.
      {"AAA0BBB,J60/0,J300/0", "2048-05-01T00:00:00Z", "2048-03-01T00:00:00Z",
       "2048-10-26T23:00:00Z", 1h},
      {"AAA0BBB,J59/0,J300/0", "2048-05-01T00:00:00Z", "2048-02-28T00:00:00Z",
       "2048-10-26T23:00:00Z", 1h},
      {"AAA0BBB,J60/0,J300/0", "2049-05-01T00:00:00Z", "2049-03-01T00:00:00Z",
       "2049-10-26T23:00:00Z", 1h},
      // Day 59, from 0, is 29 February in a leap year.
      {"AAA0BBB,59/0,300/0", "2048-05-01T00:00:00Z", "2048-02-29T00:00:00Z", "2048-10-26T23:00:00Z",
       1h},
      {"AAA0BBB,59/0,300/0", "2049-05-01T00:00:00Z", "2049-03-01T00:00:00Z", "2049-10-27T23:00:00Z",
       1h},
      // An offset of its own, in hours, minutes and seconds.
      {"AAA1BBB-0:30:15,M1.1.1,M2.1.1/3:04:05", "2049-01-10T00:00:00Z", "2049-01-04T03:00:00Z",
       "2049-02-01T02:33:50Z", 30min + 15s},
  };
  for (const Summer& row : table) {
    const ZonePeriod period = rule(row.rule).period_at(at(row.inside));
    EXPECT_EQ(text(period.begin), row.begin) << row.rule;
    EXPECT_EQ(text(period.end), row.end) << row.rule;
    EXPECT_EQ(period.offset, row.offset) << row.rule;
  }
}

// RFC 8536 section 3.3.1: summer time that lasts all year, written so that it never ends.
TEST(ZoneRule, summer_time_may_last_all_year) {
  const ZoneRule always = rule("XXX3EDT4,0/0,J365/23");
  for (const char* moment : {"2050-01-01T00:00:00Z", "2050-01-01T03:00:00Z", "2050-06-01T00:00:00Z",
                             "2050-12-31T23:59:59Z", "2051-01-01T02:59:59Z"}) {
    EXPECT_EQ(always.period_at(at(moment)).offset, -4h) << moment;
  }
}

TEST(ZoneRule, changes_a_week_outside_their_year_are_found) {
  const ZoneRule late = rule("AAA0BBB,J364/167,J365/167");
  EXPECT_EQ(late.period_at(at("2050-01-01T00:00:00Z")).offset, 0h);
  EXPECT_EQ(late.period_at(at("2050-01-06T00:00:00Z")).offset, 1h);
  EXPECT_EQ(late.period_at(at("2050-01-07T00:00:00Z")).offset, 0h);
  // Summer time that ends a week after the next one has begun: the end counts.
  const ZoneRule tangled = rule("AAA0BBB,0/0,J365/167");
  EXPECT_EQ(tangled.period_at(at("2050-01-03T00:00:00Z")).offset, 1h);
  EXPECT_EQ(tangled.period_at(at("2050-06-01T00:00:00Z")).offset, 0h);
}

TEST(ZoneRule, periods_follow_one_another_without_a_hole) {
  for (const char* written : {"CET-1CEST,M3.5.0,M10.5.0/3", "IST-1GMT0,M10.5.0,M3.5.0/1",
                              "<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "AAA0BBB,59/0,300/0"}) {
    const ZoneRule tested = rule(written);
    ZonePeriod period = tested.period_at(at("1999-06-01T00:00:00Z"));
    for (int i = 0; i < 400; ++i) {
      ASSERT_EQ(tested.period_at(period.begin), period);
      ASSERT_EQ(tested.period_at(period.end - 1s), period);
      const ZonePeriod next = tested.period_at(period.end);
      ASSERT_EQ(next.begin, period.end);
      ASSERT_NE(next.offset, period.offset);
      period = next;
    }
  }
}

TEST(ZoneRule, what_is_not_a_rule_is_corrupt) {
  for (const char* text : {"",
                           "CE-1",
                           "CET",
                           "CET-",
                           "CET-25",
                           "CET-1:60",
                           "CET-1:00:60",
                           "<+01-1",
                           "<+0>-1",
                           "C1T-1",
                           "CET-1CEST",
                           "CET-1CEST,M3.5.0",
                           "CET-1CEST,M3.5.0,",
                           "CET-1CEST,M0.5.0,M10.5.0",
                           "CET-1CEST,M13.5.0,J1",
                           "CET-1CEST,M3.0.0,J1",
                           "CET-1CEST,M3.6.0,J1",
                           "CET-1CEST,M3.5.7,J1",
                           "CET-1CEST,J0,J1",
                           "CET-1CEST,J366,J1",
                           "CET-1CEST,366,J1",
                           "CET-1CEST,M3.5.0/168,J1",
                           "CET-1CEST,M3.5.0/-168,J1",
                           "CET-1CEST,M3.5.0,M10.5.0/3x",
                           "CET-1CEST,M3-5-0,J1",
                           "CET-1CES,M,J",
                           "CET-99999999999999999999"}) {
    const Result<ZoneRule> parsed = ZoneRule::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::corrupt);
  }
}

}  // namespace
}  // namespace millrace
