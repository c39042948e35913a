// The zones are those of tests/cron_oracle/zones.hex, so that no update of the system's database
// can change what these tests say.
#include "core/tick.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>
#include "core/limits.h"
#include "core/time_text.h"
#include "tests/support/zone_database.h"

namespace millrace {
namespace {

using std::chrono::days;
using namespace std::chrono_literals;
using enum DstPolicy;

Zone zone(std::string_view name) {
  const Result<Zone> found = Zone::find(name, test::zone_database());
  EXPECT_TRUE(found) << found.error().message;
  return found.value_or(Zone{});
}

TimePoint at(const std::string& text) {
  return parse_time(text + "Z").value();
}

std::string text(std::optional<TimePoint> tick) {
  return tick ? format_time(*tick).substr(0, 16) : "none";
}

Ticks cron(std::string_view expression, std::string_view place, DstPolicy dst = once) {
  return Ticks{Cron::parse(expression).value(), zone(place), dst};
}

Ticks every(Duration interval, TimePoint anchor = {}) {
  return Ticks::of({.every = interval, .anchor = anchor}).value();
}

// The ticks from `from` (in it) to `until` (not in it), in UTC; both directions must agree.
std::string between(const Ticks& ticks, const std::string& from, const std::string& until) {
  std::vector<std::string> forward;
  for (auto tick = ticks.next_after(at(from) - 1ms); tick && *tick < at(until);
       tick = ticks.next_after(*tick)) {
    forward.push_back(text(tick));
  }
  std::vector<std::string> back;
  for (auto tick = ticks.previous_before(at(until)); tick && *tick >= at(from);
       tick = ticks.previous_before(*tick)) {
    back.insert(back.begin(), text(tick));
  }
  EXPECT_EQ(forward, back);
  return fmt::format("{}", fmt::join(forward, " "));
}

struct Change {
  const char* zone;
  const char* expression;
  DstPolicy dst;
  const char* from;
  const char* until;
  const char* ticks;  // in UTC
};

void check(const std::vector<Change>& table) {
  for (const Change& row : table) {
    SCOPED_TRACE(fmt::format("{} {} {}", row.expression, row.zone, static_cast<int>(row.dst)));
    EXPECT_EQ(between(cron(row.expression, row.zone, row.dst), row.from, row.until), row.ticks);
  }
}

// Berlin, 29 March 2026: 01:59:59 CET (00:59:59 UTC) is followed by 03:00:00 CEST.
TEST(Ticks, a_time_in_the_spring_gap_is_skipped_or_fires_once_after_the_gap) {
  const char* from = "2026-03-28T00:00:00";
  const char* until = "2026-03-31T00:00:00";
  const char* without = "2026-03-28T01:30 2026-03-30T00:30";
  const char* with = "2026-03-28T01:30 2026-03-29T01:00 2026-03-30T00:30";
  check({
      {"Europe/Berlin", "30 2 * * *", skip, from, until, without},
      {"Europe/Berlin", "30 2 * * *", once, from, until, with},
      {"Europe/Berlin", "30 2 * * *", both, from, until, with},
      // The first and the last second of the gap, and the seconds beside it.
      {"Europe/Berlin", "59 59 1 29 3 *", once, from, until, "2026-03-29T00:59"},
      {"Europe/Berlin", "0 0 2 29 3 *", once, from, until, "2026-03-29T01:00"},
      {"Europe/Berlin", "59 59 2 29 3 *", once, from, until, "2026-03-29T01:00"},
      {"Europe/Berlin", "0 0 3 29 3 *", once, from, until, "2026-03-29T01:00"},
      {"Europe/Berlin", "0 0 2 29 3 *", skip, from, until, ""},
      {"Europe/Berlin", "59 59 2 29 3 *", skip, from, until, ""},
      {"Europe/Berlin", "0 0 3 29 3 *", skip, from, until, "2026-03-29T01:00"},
  });
}

TEST(Ticks, several_ticks_in_one_gap_fire_once_together) {
  const char* from = "2026-03-29T00:00:00";
  const char* until = "2026-03-30T00:00:00";
  check({
      {"Europe/Berlin", "*/15 2 * * *", once, from, until, "2026-03-29T01:00"},
      {"Europe/Berlin", "*/15 2 * * *", skip, from, until, ""},
      // 03:00 is after the gap and a tick of its own: still one.
      {"Europe/Berlin", "0 2,3,5 * * *", once, from, until, "2026-03-29T01:00 2026-03-29T03:00"},
      {"Europe/Berlin", "0 */2 29 * *", once, from, "2026-03-29T04:30:00",
       "2026-03-29T01:00 2026-03-29T02:00 2026-03-29T04:00"},
      {"Europe/Berlin", "0 */2 29 * *", skip, from, "2026-03-29T04:30:00",
       "2026-03-29T02:00 2026-03-29T04:00"},
  });
}

// Berlin, 25 October 2026: 02:00 to 03:00 is shown twice, from 00:00 and from 01:00 UTC.
TEST(Ticks, a_time_in_the_autumn_overlap_fires_the_first_time_or_both_times) {
  const char* from = "2026-10-24T00:00:00";
  const char* until = "2026-10-27T00:00:00";
  const char* first = "2026-10-24T00:30 2026-10-25T00:30 2026-10-26T01:30";
  const char* all = "2026-10-24T00:30 2026-10-25T00:30 2026-10-25T01:30 2026-10-26T01:30";
  check({
      {"Europe/Berlin", "30 2 * * *", skip, from, until, first},
      {"Europe/Berlin", "30 2 * * *", once, from, until, first},
      {"Europe/Berlin", "30 2 * * *", both, from, until, all},
      // The first and the last second of the overlap, and the seconds beside it.
      {"Europe/Berlin", "59 59 1 25 10 *", both, from, until, "2026-10-24T23:59"},
      {"Europe/Berlin", "0 0 2 25 10 *", once, from, until, "2026-10-25T00:00"},
      {"Europe/Berlin", "0 0 2 25 10 *", both, from, until, "2026-10-25T00:00 2026-10-25T01:00"},
      {"Europe/Berlin", "59 59 2 25 10 *", once, from, until, "2026-10-25T00:59"},
      {"Europe/Berlin", "59 59 2 25 10 *", both, from, until, "2026-10-25T00:59 2026-10-25T01:59"},
      {"Europe/Berlin", "0 0 3 25 10 *", both, from, until, "2026-10-25T02:00"},
      {"Europe/Berlin", "*/30 2,3 25 10 *", once, from, until,
       "2026-10-25T00:00 2026-10-25T00:30 2026-10-25T02:00 2026-10-25T02:30"},
  });
}

TEST(Ticks, asking_from_inside_the_overlap_gives_the_same_answers) {
  const Ticks first = cron("30 2 * * *", "Europe/Berlin", once);
  const Ticks all = cron("30 2 * * *", "Europe/Berlin", both);
  // 02:15 and 02:45 by the clock, before and after it was set back.
  EXPECT_EQ(text(first.next_after(at("2026-10-25T00:45:00"))), "2026-10-26T01:30");
  EXPECT_EQ(text(first.next_after(at("2026-10-25T01:15:00"))), "2026-10-26T01:30");
  EXPECT_EQ(text(all.next_after(at("2026-10-25T00:45:00"))), "2026-10-25T01:30");
  EXPECT_EQ(text(all.next_after(at("2026-10-25T01:15:00"))), "2026-10-25T01:30");
  EXPECT_EQ(text(first.previous_before(at("2026-10-25T01:15:00"))), "2026-10-25T00:30");
  EXPECT_EQ(text(first.previous_before(at("2026-10-25T01:45:00"))), "2026-10-25T00:30");
  EXPECT_EQ(text(all.previous_before(at("2026-10-25T01:15:00"))), "2026-10-25T00:30");
  EXPECT_EQ(text(all.previous_before(at("2026-10-25T01:45:00"))), "2026-10-25T01:30");
}

// S3-050 S3-052
TEST(Ticks, a_rule_for_every_hour_keeps_its_pace_through_both_changes) {
  for (const DstPolicy dst : {skip, once, both}) {
    check({
        {"Europe/Berlin", "*/15 * * * *", dst, "2026-03-29T00:30:00", "2026-03-29T01:45:00",
         "2026-03-29T00:30 2026-03-29T00:45 2026-03-29T01:00 2026-03-29T01:15 2026-03-29T01:30"},
        {"Europe/Berlin", "*/15 * * * *", dst, "2026-10-25T00:30:00", "2026-10-25T01:45:00",
         "2026-10-25T00:30 2026-10-25T00:45 2026-10-25T01:00 2026-10-25T01:15 2026-10-25T01:30"},
        {"Europe/Berlin", "30 * * * *", dst, "2026-03-29T00:00:00", "2026-03-29T03:00:00",
         "2026-03-29T00:30 2026-03-29T01:30 2026-03-29T02:30"},
        {"Europe/Berlin", "30 0-23 * * *", dst, "2026-10-25T00:00:00", "2026-10-25T03:00:00",
         "2026-10-25T00:30 2026-10-25T01:30 2026-10-25T02:30"},
    });
  }
}

TEST(Ticks, the_changes_of_other_places) {
  check({
      // New York, 8 March 2026, 02:00 EST becomes 03:00; 1 November, 02:00 EDT becomes 01:00.
      {"America/New_York", "30 2 * * *", once, "2026-03-07T12:00:00", "2026-03-09T12:00:00",
       "2026-03-08T07:00 2026-03-09T06:30"},
      {"America/New_York", "30 1 * * *", both, "2026-11-01T00:00:00", "2026-11-02T12:00:00",
       "2026-11-01T05:30 2026-11-01T06:30 2026-11-02T06:30"},
      // Lord Howe moves by half an hour: 02:00 becomes 02:30, and 02:00 becomes 01:30.
      {"Australia/Lord_Howe", "15 2 * * *", once, "2026-10-03T00:00:00", "2026-10-04T20:00:00",
       "2026-10-03T15:30 2026-10-04T15:15"},
      {"Australia/Lord_Howe", "45 2 * * *", once, "2026-10-03T00:00:00", "2026-10-04T00:00:00",
       "2026-10-03T15:45"},
      {"Australia/Lord_Howe", "45 1 * * *", both, "2026-04-04T00:00:00", "2026-04-05T00:00:00",
       "2026-04-04T14:45 2026-04-04T15:15"},
      // Havana and Cairo jump over midnight.
      {"America/Havana", "0 0 * * *", once, "2026-03-08T00:00:00", "2026-03-09T12:00:00",
       "2026-03-08T05:00 2026-03-09T04:00"},
      {"America/Havana", "0 0 8 3 *", skip, "2026-03-01T00:00:00", "2026-04-01T00:00:00", ""},
      {"Africa/Cairo", "0 0 * * FRI", once, "2026-04-20T00:00:00", "2026-04-28T00:00:00",
       "2026-04-23T22:00"},
      // Dublin's summer time is its standard time; the clock does not care.
      {"Europe/Dublin", "30 1 * * *", once, "2026-03-28T12:00:00", "2026-03-30T12:00:00",
       "2026-03-29T01:00 2026-03-30T00:30"},
      // Casablanca turns back for Ramadan, 15 February to 22 March 2026.
      {"Africa/Casablanca", "30 2 * * *", both, "2026-02-15T00:00:00", "2026-02-16T00:00:00",
       "2026-02-15T01:30 2026-02-15T02:30"},
      {"Africa/Casablanca", "30 2 * * *", once, "2026-03-22T00:00:00", "2026-03-23T00:00:00",
       "2026-03-22T02:00"},
      // No changes today.
      {"America/Sao_Paulo", "30 0 * * *", once, "2026-10-17T12:00:00", "2026-10-19T12:00:00",
       "2026-10-18T03:30 2026-10-19T03:30"},
      {"America/Sao_Paulo", "30 0 * * *", once, "2018-11-03T12:00:00", "2018-11-05T12:00:00",
       "2018-11-04T03:00 2018-11-05T02:30"},
      {"Asia/Kathmandu", "0 0 * * *", once, "2026-01-01T00:00:00", "2026-01-02T00:00:00",
       "2026-01-01T18:15"},
  });
}

// Samoa left out 30 December 2011: 23:59:59 of the 29th was followed by midnight of the 31st.
TEST(Ticks, a_day_that_was_left_out_is_a_long_gap) {
  const char* from = "2011-12-29T00:00:00";
  const char* until = "2012-01-01T00:00:00";
  check({
      {"Pacific/Apia", "0 12 * * *", once, from, until,
       "2011-12-29T22:00 2011-12-30T10:00 2011-12-30T22:00 2011-12-31T22:00"},
      {"Pacific/Apia", "0 12 * * *", skip, from, until,
       "2011-12-29T22:00 2011-12-30T22:00 2011-12-31T22:00"},
      {"Pacific/Apia", "0 0 30 12 *", once, from, until, "2011-12-30T10:00"},
      {"Pacific/Apia", "0 0 30 12 *", skip, from, until, ""},
      {"Pacific/Apia", "0 */6 30 * *", both, from, until, "2011-12-30T10:00"},
  });
}

TEST(Ticks, the_changes_of_the_years_after_2037_are_known) {
  check({
      {"Europe/Berlin", "30 2 * * *", once, "2038-03-27T12:00:00", "2038-03-29T12:00:00",
       "2038-03-28T01:00 2038-03-29T00:30"},
      {"Europe/Berlin", "30 2 * * *", both, "2050-10-29T12:00:00", "2050-10-30T12:00:00",
       "2050-10-30T00:30 2050-10-30T01:30"},
      {"America/New_York", "30 2 * * *", once, "2100-03-13T12:00:00", "2100-03-15T12:00:00",
       "2100-03-14T07:00 2100-03-15T06:30"},
      {"Australia/Lord_Howe", "45 1 * * *", both, "2100-04-03T00:00:00", "2100-04-04T00:00:00",
       "2100-04-03T14:45 2100-04-03T15:15"},
      {"Asia/Jerusalem", "30 2 * * *", once, "2050-03-24T12:00:00", "2050-03-26T12:00:00",
       "2050-03-25T00:00 2050-03-25T23:30"},
      {"Europe/Berlin", "0 0 1 7 *", once, "9999-01-01T00:00:00", "9999-12-31T00:00:00",
       "9999-06-30T22:00"},
  });
}

// S2-028 S2-038
TEST(Ticks, an_interval_is_anchored_to_wall_time_and_does_not_drift) {
  EXPECT_EQ(between(every(60s), "2026-01-01T10:00:30", "2026-01-01T10:03:00"),
            "2026-01-01T10:01 2026-01-01T10:02");
  EXPECT_EQ(between(every(300s), "2026-01-01T10:00:00", "2026-01-01T10:11:00"),
            "2026-01-01T10:00 2026-01-01T10:05 2026-01-01T10:10");
  EXPECT_EQ(between(every(24h), "2026-01-01T10:00:00", "2026-01-03T10:00:00"),
            "2026-01-02T00:00 2026-01-03T00:00");
  EXPECT_EQ(between(every(90min, at("2026-01-01T08:10:00")), "2026-01-01T05:00:00",
                    "2026-01-01T10:00:00"),
            "2026-01-01T05:10 2026-01-01T06:40 2026-01-01T08:10 2026-01-01T09:40");
  EXPECT_EQ(every(1s).next_after(TimePoint{0ms}), TimePoint{1s});
  EXPECT_EQ(every(1s).next_after(TimePoint{-1ms}), TimePoint{0s});
  EXPECT_EQ(every(1s).previous_before(TimePoint{0ms}), TimePoint{-1s});
  EXPECT_EQ(every(1s).previous_before(TimePoint{1ms}), TimePoint{0s});
  EXPECT_EQ(every(1500ms).next_after(TimePoint{1499ms}), TimePoint{1500ms});
}

TEST(Ticks, a_moment_between_seconds_is_after_one_tick_and_before_the_next) {
  const Ticks ticks = cron("* * * * * *", "UTC");
  EXPECT_EQ(ticks.next_after(TimePoint{999ms}), TimePoint{1000ms});
  EXPECT_EQ(ticks.next_after(TimePoint{1000ms}), TimePoint{2000ms});
  EXPECT_EQ(ticks.previous_before(TimePoint{1001ms}), TimePoint{1000ms});
  EXPECT_EQ(ticks.previous_before(TimePoint{1000ms}), TimePoint{0ms});
  EXPECT_EQ(ticks.previous_before(TimePoint{-1ms}), TimePoint{-1000ms});
  EXPECT_EQ(ticks.next_after(TimePoint{-1ms}), TimePoint{0ms});
}

TEST(Ticks, there_are_ticks_to_the_end_of_9999_and_none_outside_the_calendar) {
  const Ticks all[] = {cron("* * * * * *", "UTC"),
                       cron("* * * * * *", "Europe/Berlin"),
                       cron("30 2 * * *", "Pacific/Apia"),
                       cron("0 0 29 2 *", "America/New_York"),
                       cron("0 0 29 2 *", "Asia/Kathmandu"),
                       every(100ms),
                       every(limits::max_delay)};
  for (const Ticks& ticks : all) {
    EXPECT_EQ(ticks.next_after(never), std::nullopt);
    EXPECT_EQ(ticks.next_after(last_time), std::nullopt);
    EXPECT_EQ(ticks.previous_before(TimePoint::min()), std::nullopt);
    EXPECT_EQ(ticks.previous_before(first_time), std::nullopt);
    const auto first = ticks.next_after(TimePoint::min());
    const auto last = ticks.previous_before(never);
    ASSERT_TRUE(first && last);
    EXPECT_GE(*first, first_time);
    EXPECT_LT(*first, first_time + limits::max_delay + days{1});
    EXPECT_LE(*last, last_time);
    EXPECT_GT(*last, last_time - limits::max_delay - days{1});
    EXPECT_EQ(ticks.previous_before(*first), std::nullopt);
    EXPECT_EQ(ticks.next_after(*last), std::nullopt);
  }
}

struct Bad {
  TickRule rule;
  ErrorCode code;
  const char* message;
};

TEST(Ticks, a_bad_rule_is_refused_with_the_reason) {
  const Bad table[] = {
      {{}, ErrorCode::invalid, "a schedule needs a cron rule or an interval"},
      {{.cron = "* * * * *", .every = 60s},
       ErrorCode::invalid,
       "a cron rule or an interval, not both"},
      {{.every = 99ms}, ErrorCode::invalid, "interval 99ms is out of range 100ms to 3653d"},
      {{.every = -1s}, ErrorCode::invalid, "interval -1s is out of range"},
      {{.every = limits::max_delay + 1ms}, ErrorCode::invalid, "is out of range 100ms to 3653d"},
      {{.every = 60s, .anchor = never}, ErrorCode::invalid, "the anchor of an interval"},
      {{.every = 60s, .anchor = TimePoint::min()}, ErrorCode::invalid, "the anchor of an interval"},
      {{.zone = "Europe/Berlin", .every = 60s}, ErrorCode::invalid, "an interval has no time zone"},
      {{.cron = "61 * * * *"}, ErrorCode::invalid, "minute 61 is out of range 0-59"},
      {{.cron = std::string(256, '*')}, ErrorCode::too_large, "256 bytes are too many"},
  };
  for (const auto& [rule, code, message] : table) {
    const Result<Ticks> ticks = Ticks::of(rule);
    ASSERT_FALSE(ticks) << message;
    EXPECT_EQ(ticks.error().code, code) << message;
    EXPECT_NE(ticks.error().message.find(message), std::string::npos) << ticks.error().message;
  }
  EXPECT_FALSE(Ticks::of({.cron = "* * * * *", .zone = "../../etc/passwd"}));
  EXPECT_TRUE(Ticks::of({.cron = "* * * * *", .zone = "UTC"}));
  EXPECT_TRUE(Ticks::of({.every = limits::min_every}));
  EXPECT_TRUE(Ticks::of({.every = limits::max_delay}));
}

}  // namespace
}  // namespace millrace
