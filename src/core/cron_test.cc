#include "core/cron.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>
#include "core/limits.h"
#include "core/time_text.h"

namespace millrace {
namespace {

using std::chrono::days;
using std::chrono::local_days;
using std::chrono::local_seconds;
using std::chrono::seconds;
using std::chrono::sys_seconds;
using std::chrono::year;
using namespace std::chrono_literals;

local_seconds at(const std::string& text) {
  return local_seconds{
      std::chrono::floor<seconds>(parse_time(text + "Z").value()).time_since_epoch()};
}

std::string text(local_seconds time) {
  return format_time(sys_seconds{time.time_since_epoch()}).substr(0, 19);
}

Cron cron(std::string_view expression) {
  const Result<Cron> parsed = Cron::parse(expression);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed.value_or(Cron{});
}

// The first ticks from a moment on, by date only or in full.
std::vector<std::string> ticks(std::string_view expression, const std::string& from, int count,
                               std::size_t digits = 19) {
  const Cron rule = cron(expression);
  std::vector<std::string> found;
  for (auto tick = rule.first_from(at(from)); tick && count-- > 0;
       tick = rule.first_from(*tick + 1s)) {
    found.push_back(text(*tick).substr(0, digits));
  }
  return found;
}

std::vector<std::string> dates(std::string_view expression, const std::string& from, int count) {
  return ticks(expression, from + "T00:00:00", count, 10);
}

using Texts = std::vector<std::string>;

// S2-029 S2-038 S3-050 S3-051 S3-052
TEST(Cron, fires_when_the_well_known_expressions_say) {
  EXPECT_EQ(ticks("*/5 * * * *", "2026-01-01T10:01:00", 2),
            (Texts{"2026-01-01T10:05:00", "2026-01-01T10:10:00"}));
  EXPECT_EQ(ticks("0 2 * * *", "2026-01-01T10:00:00", 2),
            (Texts{"2026-01-02T02:00:00", "2026-01-03T02:00:00"}));
  EXPECT_EQ(ticks("0 * * * *", "2026-01-01T10:00:01", 2),
            (Texts{"2026-01-01T11:00:00", "2026-01-01T12:00:00"}));
  EXPECT_EQ(ticks("0 3 * * *", "2026-12-31T03:00:01", 1), (Texts{"2027-01-01T03:00:00"}));
  EXPECT_EQ(ticks("*/15 * * * *", "2026-01-01T23:46:00", 2),
            (Texts{"2026-01-02T00:00:00", "2026-01-02T00:15:00"}));
}

TEST(Cron, a_sixth_field_in_front_is_the_second) {
  EXPECT_EQ(ticks("*/20 30 12 * * *", "2026-01-01T12:30:01", 4),
            (Texts{"2026-01-01T12:30:20", "2026-01-01T12:30:40", "2026-01-02T12:30:00",
                   "2026-01-02T12:30:20"}));
  EXPECT_EQ(cron("0 5 4 * * *"), cron("5 4 * * *"));
}

TEST(Cron, a_moment_that_matches_is_its_own_first_and_last_tick) {
  const Cron rule = cron("30 12 * * *");
  EXPECT_EQ(rule.first_from(at("2026-01-01T12:30:00")), at("2026-01-01T12:30:00"));
  EXPECT_EQ(rule.last_until(at("2026-01-01T12:30:00")), at("2026-01-01T12:30:00"));
  EXPECT_EQ(rule.last_until(at("2026-01-01T12:29:59")), at("2025-12-31T12:30:00"));
  EXPECT_TRUE(rule.matches(at("2026-01-01T12:30:00")));
  EXPECT_FALSE(rule.matches(at("2026-01-01T12:30:01")));
}

struct Same {
  const char* one;
  const char* other;
};

TEST(Cron, different_spellings_of_the_same_rule_are_equal) {
  const Same pairs[] = {
      {"* * * * *", "? ? ? ? ?"},
      {"*/15 * * * *", "0,15,30,45 * * * *"},
      {"?/15 * * * *", "*/15 * * * *"},
      {"*/1 * * * *", "* * * * *"},
      {"0 0 */1 * */1", "0 0 * * *"},
      {"0 0 *,5 * MON", "0 0 * * 1"},
      {"1-30/7 * * * *", "1,8,15,22,29 * * * *"},
      {"5/15 * * * *", "5,20,35,50 * * * *"},
      {"0 7/5 * * *", "0 7,12,17,22 * * *"},
      {"0 0 10/9 * *", "0 0 10,19,28 * *"},
      {"0 0 * * 5/1", "0 0 * * FRI,SAT"},
      {"0 0 * * 7/2", "0 0 * * SUN"},
      {"05 04 * * *", "5 4 * * *"},
      {"5,5,3-5 * * * *", "3-5 * * * *"},
      {"0 0 1 jan,Feb,DEC *", "0 0 1 1,2,12 *"},
      {"0 0 1 MAR-may *", "0 0 1 3-5 *"},
      {"0 0 * * sun", "0 0 * * 0"},
      {"0 0 * * 7", "0 0 * * 0"},
      {"0 0 * * MON-SUN", "0 0 * * 0-6"},
      {"0 0 * * SAT-SUN", "0 0 * * 6,0"},
      {"0 0 * * 5-7", "0 0 * * FRI-SUN"},
      {"0 0 * * SUN-TUE", "0 0 * * 0-2"},
      {"0 0 * * SUN-SUN", "0 0 * * 0"},
      {"0 0 * * 0-7", "0 0 * * 0-6"},
      {"0 0 * * 1-7/2", "0 0 * * 0,1,3,5"},
      {"0 0 * * 5l", "0 0 * * FRIL"},
      {"0 0 * * fri#L", "0 0 * * 5L"},
      {"0 0 * * 7#2", "0 0 * * SUN#2"},
      {"0 0 lw * *", "0 0 LW * *"},
      {"0 0 15w,l * *", "0 0 L,15W * *"},
      {" \t0  0 * *\t* ", "0 0 * * *"},
      {"@yearly", "0 0 1 1 *"},
      {"@annually", "0 0 1 1 *"},
      {"@monthly", "0 0 1 * *"},
      {"@weekly", "0 0 * * 0"},
      {"@daily", "0 0 * * *"},
      {" @Midnight ", "0 0 * * *"},
      {"@HOURLY", "0 * * * *"},
  };
  for (const auto& [one, other] : pairs) EXPECT_EQ(cron(one), cron(other)) << one;
}

TEST(Cron, both_day_fields_restricted_means_either) {
  // August 2026: the 1st is a Saturday, the 13th a Thursday, Fridays are 7, 14, 21, 28.
  EXPECT_EQ(dates("0 0 13 * FRI", "2026-08-01", 5),
            (Texts{"2026-08-07", "2026-08-13", "2026-08-14", "2026-08-21", "2026-08-28"}));
  EXPECT_EQ(dates("0 0 * * FRI", "2026-08-01", 2), (Texts{"2026-08-07", "2026-08-14"}));
  EXPECT_EQ(dates("0 0 13 * *", "2026-08-01", 2), (Texts{"2026-08-13", "2026-09-13"}));
  EXPECT_EQ(dates("0 0 13 * ?", "2026-08-01", 2), (Texts{"2026-08-13", "2026-09-13"}));
}

TEST(Cron, a_stepped_star_restricts_a_day_field) {
  EXPECT_EQ(dates("0 0 */10 * FRI", "2026-08-01", 5),
            (Texts{"2026-08-01", "2026-08-07", "2026-08-11", "2026-08-14", "2026-08-21"}));
}

TEST(Cron, L_is_the_last_day_of_the_month_and_L_minus_n_counts_back) {
  EXPECT_EQ(dates("0 0 L * *", "2028-01-31", 4),
            (Texts{"2028-01-31", "2028-02-29", "2028-03-31", "2028-04-30"}));
  EXPECT_EQ(dates("0 0 L-3 * *", "2026-02-01", 2), (Texts{"2026-02-25", "2026-03-28"}));
  EXPECT_EQ(dates("0 0 1,L * *", "2026-02-02", 3),
            (Texts{"2026-02-28", "2026-03-01", "2026-03-31"}));
  // Only months of 31 days have a day that is 30 before the last.
  EXPECT_EQ(dates("0 0 L-30 * *", "2026-02-01", 3),
            (Texts{"2026-03-01", "2026-05-01", "2026-07-01"}));
}

TEST(Cron, W_is_the_nearest_weekday_and_stays_in_its_month) {
  // 15 August 2026 is a Saturday, 15 November a Sunday, 15 October a Thursday.
  EXPECT_EQ(dates("0 0 15W 8,10,11 *", "2026-01-01", 3),
            (Texts{"2026-08-14", "2026-10-15", "2026-11-16"}));
  // 1 August 2026 is a Saturday, 31 May a Sunday, 1 November a Sunday, 31 January a Saturday.
  EXPECT_EQ(dates("0 0 1W 8,11 *", "2026-01-01", 2), (Texts{"2026-08-03", "2026-11-02"}));
  EXPECT_EQ(dates("0 0 31W 1,5 *", "2026-01-01", 2), (Texts{"2026-01-30", "2026-05-29"}));
  EXPECT_EQ(dates("0 0 31W * *", "2026-02-01", 1), (Texts{"2026-03-31"}));
  EXPECT_EQ(dates("0 0 LW * *", "2026-01-01", 5),
            (Texts{"2026-01-30", "2026-02-27", "2026-03-31", "2026-04-30", "2026-05-29"}));
  EXPECT_EQ(dates("0 0 L-1W * *", "2026-05-01", 1), (Texts{"2026-05-29"}));
  EXPECT_EQ(dates("0 0 10,LW * *", "2026-01-01", 2), (Texts{"2026-01-10", "2026-01-30"}));
}

TEST(Cron, hash_is_the_nth_weekday_and_L_the_last) {
  EXPECT_EQ(dates("0 0 * * MON#2", "2026-01-01", 2), (Texts{"2026-01-12", "2026-02-09"}));
  EXPECT_EQ(dates("0 0 * * 5L", "2026-01-01", 2), (Texts{"2026-01-30", "2026-02-27"}));
  EXPECT_EQ(dates("0 0 * * THU#5", "2026-01-01", 3),
            (Texts{"2026-01-29", "2026-04-30", "2026-07-30"}));
  EXPECT_EQ(dates("0 0 * * MON#1,MON#3,SUN", "2026-02-01", 4),
            (Texts{"2026-02-01", "2026-02-02", "2026-02-08", "2026-02-15"}));
}

TEST(Cron, rare_days_are_found_however_far) {
  EXPECT_EQ(dates("0 0 29 2 *", "2026-01-01", 2), (Texts{"2028-02-29", "2032-02-29"}));
  EXPECT_EQ(dates("0 0 29 2 *", "2097-01-01", 1), (Texts{"2104-02-29"}));
  EXPECT_EQ(dates("0 0 * 2 MON#5", "2072-03-01", 1), (Texts{"2112-02-29"}));
  EXPECT_EQ(cron("0 0 29 2 *").last_until(at("2103-01-01T00:00:00")), at("2096-02-29T00:00:00"));
}

struct Bad {
  const char* expression;
  const char* message;
};

TEST(Cron, a_bad_expression_is_refused_with_the_column_what_is_there_and_what_may_be) {
  const Bad table[] = {
      {"0 25 * * *", R"(cron "0 25 * * *": column 3: hour 25 is out of range 0-23)"},
      {"60 * * * *", R"(column 1: minute 60 is out of range 0-59)"},
      {"99 0 0 * * *", R"(column 1: second 99 is out of range 0-59)"},
      {"0 0 0 * *", R"(column 5: day 0 is out of range 1-31)"},
      {"0 0 * 13 *", R"(column 7: month 13 is out of range 1-12)"},
      {"0 0 * * 1-8", R"(column 11: weekday 8 is out of range 0-7)"},
      {"0 0 * * 99999999999", R"(column 9: weekday 99999999999 is out of range 0-7)"},
      {"",
       R"(cron "": column 1: the rule is empty; write 5 fields (minute hour day month weekday), )"
       R"(or 6 with the second first)"},
      {" \t ", R"(the rule is empty; write 5 fields)"},
      {"* * * *", R"(column 8: found 4 fields; write 5 fields)"},
      {"0 0 0 1 1 * 2026", R"(column 13: found 7 fields; write 5 fields)"},
      {"x * * * *", R"(column 1: the minute field needs a number 0-59 or *, found "x")"},
      {"0 0 * FOO *",
       R"(column 7: the month field needs a number 1-12, JAN-DEC or *, found "FOO")"},
      {"0 0 * * MONDAY", R"(column 9: the weekday field needs a number 0-7, SUN-SAT, *, FRI#2 or )"
                         R"(FRIL, found "MONDAY")"},
      {"0 0 * * L", R"(column 9: the weekday field needs a number 0-7, SUN-SAT, *, FRI#2 or FRIL, )"
                    R"(found "L")"},
      {"0 0 W * *",
       R"(column 5: the day field needs a number 1-31, *, L, L-n, LW or nW, found "W")"},
      {"1,,2 * * * *", R"(column 3: the minute field needs a number 0-59 or *, found ",")"},
      {"1, * * * *", R"(column 3: the minute field needs a number 0-59 or *, found the end of the )"
                     R"(field)"},
      {"1-* * * * *", R"(column 3: the minute field needs a number 0-59 or *, found "*")"},
      {"1-2-3 * * * *", R"(column 4: unexpected "-" in the minute field)"},
      {"*5 * * * *", R"(column 2: unexpected "5" in the minute field)"},
      {"*-5 * * * *", R"(column 2: unexpected "-" in the minute field)"},
      {"0 0 1-5W * *", R"(column 8: unexpected "W" in the day field)"},
      {"0 0 LL * *", R"(column 6: unexpected "L" in the day field)"},
      {"0 0 * * 1-5#2", R"(column 12: unexpected "#" in the weekday field)"},
      {"0 0 1W-5 * *", R"(column 7: 1W is one day and takes no range or step)"},
      {"0 0 L-0 * *", R"(column 7: L-n takes a number 1-30, found "0")"},
      {"0 0 L-31 * *", R"(column 7: L-n takes a number 1-30, found "31")"},
      {"0 0 L- * *", R"(column 7: L-n takes a number 1-30, found the end of the field)"},
      {"0 0 * * 5#6", R"(column 11: # takes a week 1-5 or L, found "6")"},
      {"0 0 * * 5#0", R"(column 11: # takes a week 1-5 or L, found "0")"},
      {"0 0 * * 5#", R"(column 11: # takes a week 1-5 or L, found the end of the field)"},
      {"*/0 * * * *", R"(column 3: step 0 of the minute field is out of range 1-60)"},
      {"0 */25 * * *", R"(column 5: step 25 of the hour field is out of range 1-24)"},
      {"*/ * * * *", R"(column 3: a step is a number 1-60, found the end of the field)"},
      {"0 22-2 * * *", R"(column 3: the range 22-2 runs backwards; write 22-23,0-2)"},
      {"0 0 * NOV-FEB *", R"(column 7: the range 11-2 runs backwards; write 11-12,1-2)"},
      {"0 0 * * FRI-MON", R"(column 9: the range 5-1 runs backwards; write 5-6,0-1)"},
      {"@every 5m", R"(column 1: @every is not a cron rule; use an interval schedule)"},
      {"@fortnightly", R"(column 1: unknown name "@fortnightly"; there are @yearly,)"},
      {"@reboot", R"(column 1: unknown name "@reboot"; there are @yearly,)"},
      {"@daily 5", R"(column 8: nothing may follow "@daily")"},
      {"0\n0 * * *", R"(cron "0\x0a0 * * *": column 10: found 4 fields)"},
      {"0 0 \xd0\x94 * *", R"(cron "0 0 \xd0\x94 * *": column 5: the day field needs)"},
  };
  for (const auto& [expression, message] : table) {
    const Result<Cron> parsed = Cron::parse(expression);
    ASSERT_FALSE(parsed) << expression;
    EXPECT_EQ(parsed.error().code, ErrorCode::invalid);
    EXPECT_NE(parsed.error().message.find(message), std::string::npos) << parsed.error().message;
  }
}

TEST(Cron, an_expression_that_never_fires_is_refused) {
  for (const char* expression : {"0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 L-30 2-4/2 *",
                                 "0 0 31W 2 ?", "0 0 0 30,31 FEB *"}) {
    const Result<Cron> parsed = Cron::parse(expression);
    ASSERT_FALSE(parsed) << expression;
    EXPECT_EQ(parsed.error().code, ErrorCode::invalid);
    EXPECT_NE(parsed.error().message.find("no year has this day in these months"),
              std::string::npos);
  }
}

TEST(Cron, an_expression_that_is_too_long_is_refused) {
  const std::string longest = "0 0 * * *" + std::string(limits::max_cron - 9, ' ');
  EXPECT_TRUE(Cron::parse(longest));
  EXPECT_EQ(Cron::parse(longest + " ").error().code, ErrorCode::too_large);
}

TEST(Cron, the_search_ends_at_the_ends_of_the_calendar) {
  const Cron rule = cron("0 0 1 1 *");
  EXPECT_EQ(rule.first_from(local_seconds::min()), local_days{year{-1} / 1 / 1});
  EXPECT_EQ(rule.last_until(local_seconds::max()), local_days{year{10000} / 1 / 1});
  EXPECT_EQ(rule.first_from(local_days{year{10000} / 1 / 2}), std::nullopt);
  EXPECT_EQ(rule.first_from(local_seconds::max()), std::nullopt);
  EXPECT_EQ(rule.last_until(local_seconds::min()), std::nullopt);
  EXPECT_EQ(cron("0 0 2 1 *").last_until(local_days{year{-1} / 1 / 1}), std::nullopt);
  EXPECT_FALSE(rule.matches(local_seconds::min()));
  EXPECT_FALSE(rule.matches(local_seconds::max()));
  EXPECT_EQ(Cron{}.first_from(at("2026-01-01T00:00:00")), std::nullopt);
  EXPECT_EQ(Cron{}.last_until(at("2026-01-01T00:00:00")), std::nullopt);
}

// The day rules once more, the slow and obvious way: one day at a time, from the words of cron.h.
class SlowDays {
 public:
  SlowDays(const Cron& rule, local_days day)
      : rule_(rule),
        date_(day),
        day_(static_cast<unsigned>(date_.day())),
        last_(static_cast<unsigned>((date_.year() / date_.month() / std::chrono::last).day())),
        weekday_(weekday_of(day_)) {}

  bool match() const {
    if (!(rule_.months >> static_cast<unsigned>(date_.month()) & 1)) return false;
    if (rule_.any_day && rule_.any_weekday) return true;
    if (rule_.any_day) return by_weekday();
    if (rule_.any_weekday) return by_day();
    return by_day() || by_weekday();
  }

 private:
  unsigned weekday_of(unsigned day) const {
    return std::chrono::weekday{local_days{date_.year() / date_.month() / day}}.c_encoding();
  }

  bool by_weekday() const {
    const unsigned weeks = rule_.weekdays[weekday_];
    for (unsigned n = 1; n <= 5; ++n) {
      if ((weeks >> (n - 1) & 1) && day_ > (n - 1) * 7 && day_ <= n * 7) return true;
    }
    return (weeks & Cron::last_week) && day_ > last_ - 7;
  }

  bool by_day() const {
    if (rule_.days >> day_ & 1 || rule_.from_last >> (last_ - day_) & 1) return true;
    for (unsigned wanted = 1; wanted <= last_; ++wanted) {
      if (!(rule_.nearest >> wanted & 1) && !(rule_.nearest_from_last >> (last_ - wanted) & 1))
        continue;
      if (nearest(wanted) == day_) return true;
    }
    return false;
  }

  // Tries the distances 0, -1, +1, -2, +2 until there is a weekday of this month.
  unsigned nearest(unsigned wanted) const {
    for (const int distance : {0, -1, 1, -2, 2}) {
      const int day = static_cast<int>(wanted) + distance;
      if (day < 1 || day > static_cast<int>(last_)) continue;
      const unsigned weekday = weekday_of(static_cast<unsigned>(day));
      if (weekday != 0 && weekday != 6) return static_cast<unsigned>(day);
    }
    return 0;
  }

  const Cron& rule_;
  std::chrono::year_month_day date_;
  unsigned day_;
  unsigned last_;
  unsigned weekday_;
};

Cron random_days(std::mt19937& random) {
  const auto bits = [&](std::uint32_t mask) {
    return static_cast<std::uint32_t>(random() & random() & random() & mask);
  };
  Cron rule{.seconds = 1, .minutes = 1, .hours = 1};
  rule.any_day = random() % 3 == 0;
  rule.any_weekday = random() % 3 == 0;
  rule.months = bits(0b1111111111110) | 1U << (random() % 12 + 1);
  if (random() % 2) rule.days = bits(0xfffffffe);
  if (random() % 3 == 0) rule.from_last = bits(0x7fffffff);
  if (random() % 3 == 0) rule.nearest = bits(0xfffffffe);
  if (random() % 3 == 0) rule.nearest_from_last = bits(0x7fffffff);
  for (std::uint8_t& weeks : rule.weekdays) weeks = static_cast<std::uint8_t>(bits(0x3f));
  return rule;
}

TEST(Cron, every_day_field_agrees_with_the_slow_and_obvious_way) {
  std::mt19937 random{1};
  for (int round = 0; round < 300; ++round) {
    const Cron rule = random_days(random);
    const local_days begin = local_days{year{1896} / 1 / 1} + days{random() % 150'000};
    for (local_days day = begin; day < begin + days{800}; day += days{1}) {
      ASSERT_EQ(rule.matches(day), SlowDays(rule, day).match())
          << text(day) << " in round " << round;
    }
  }
}

std::string random_field(std::mt19937& random, unsigned least, unsigned most) {
  const unsigned from = least + static_cast<unsigned>(random()) % (most - least + 1);
  const unsigned to = from + static_cast<unsigned>(random()) % (most - from + 1);
  const unsigned step = 1 + static_cast<unsigned>(random()) % (most - least);
  switch (random() % 5) {
    case 0:
      return fmt::format("{}", from);
    case 1:
      return fmt::format("{}-{}", from, to);
    case 2:
      return fmt::format("*/{}", step);
    case 3:
      return fmt::format("{}-{}/{}", from, to, step);
    default:
      return "*";
  }
}

TEST(Cron, ticks_match_increase_and_are_found_again_on_the_way_back) {
  std::mt19937 random{2};
  int checked = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string expression;
    for (const auto& [least, most] :
         {std::pair{0U, 59U}, {0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}}) {
      expression += random_field(random, least, most) + " ";
    }
    const Result<Cron> rule = Cron::parse(expression);
    if (!rule) continue;  // a day that never comes
    local_seconds from = at("2000-01-01T00:00:00") + seconds{random()};
    for (int i = 0; i < 5; ++i, ++checked) {
      const auto tick = rule->first_from(from);
      ASSERT_TRUE(tick) << expression;
      ASSERT_GE(*tick, from) << expression;
      ASSERT_TRUE(rule->matches(*tick)) << expression;
      ASSERT_EQ(rule->last_until(*tick), tick) << expression;
      const auto before = rule->last_until(*tick - 1s);
      ASSERT_TRUE(before && *before < from) << expression;
      ASSERT_TRUE(rule->matches(*before)) << expression;
      from = *tick + 1s;
    }
  }
  EXPECT_GT(checked, 10'000);
}

}  // namespace
}  // namespace millrace
