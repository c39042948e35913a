// The zones are those of tests/cron_oracle/zones.hex, so that no update of the system's database
// can change what these tests say.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>
#include <set>
#include <string>
#include <utility>
#include "core/tick.h"
#include "core/time_text.h"
#include "tests/support/zone_database.h"

namespace millrace {
namespace {

using std::chrono::local_seconds;
using std::chrono::seconds;
using std::chrono::sys_seconds;
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

// The rules of tick.h once more, the slow and obvious way: looks at every minute of the clock
// around a change. REQUIRES: a rule without seconds.
std::set<TimePoint> slow_ticks(const Cron& rule, const Zone& place, DstPolicy dst, sys_seconds from,
                               sys_seconds until) {
  std::set<TimePoint> ticks;
  const bool every_hour = rule.hours == Cron::every_hour;
  const auto as_local = [](sys_seconds moment, seconds offset) {
    return local_seconds{(moment + offset).time_since_epoch()};
  };
  ZonePeriod period = place.period_at(from);
  for (sys_seconds moment = from; moment < until; moment += 1s) {
    if (moment == period.end) period = place.period_at(moment);
    const local_seconds local = as_local(moment, period.offset);
    if (local.time_since_epoch() % 60s == 0s && rule.matches(local) &&
        (every_hour || dst == both || place.from_local(local).first == moment)) {
      ticks.insert(moment);
    }
    if (every_hour || dst == skip || moment != period.begin) continue;
    local_seconds lost = as_local(moment, place.period_at(moment - 1s).offset);
    for (; lost < local; lost += 1s) {
      if (rule.matches(lost)) ticks.insert(moment);
    }
  }
  return ticks;
}

std::set<TimePoint> forward_ticks(const Ticks& ticks, TimePoint from, TimePoint until) {
  std::set<TimePoint> found;
  for (auto tick = ticks.next_after(from - 1ms); tick && *tick < until;
       tick = ticks.next_after(*tick)) {
    found.insert(*tick);
  }
  return found;
}

std::set<TimePoint> backward_ticks(const Ticks& ticks, TimePoint from, TimePoint until) {
  std::set<TimePoint> found;
  for (auto tick = ticks.previous_before(until); tick && *tick >= from;
       tick = ticks.previous_before(*tick)) {
    found.insert(*tick);
  }
  return found;
}

std::string random_expression(std::mt19937& random) {
  const auto number = [&](unsigned least, unsigned most) {
    return least + static_cast<unsigned>(random()) % (most - least + 1);
  };
  const auto field = [&](unsigned least, unsigned most) -> std::string {
    switch (random() % 4) {
      case 0:
        return "*";
      case 1:
        return fmt::format("{}", number(least, most));
      case 2:
        return fmt::format("{},{}", number(least, most), number(least, most));
      default:
        return fmt::format("*/{}", number(2, most / 2));
    }
  };
  const std::string hour = random() % 2 ? fmt::format("0-{}", number(0, 6)) : field(0, 23);
  return fmt::format("{} {} {} * *", field(0, 59), hour, random() % 4 ? "*" : field(1, 31));
}

TEST(TickProperties, agree_with_the_slow_and_obvious_way_around_every_kind_of_change) {
  const std::pair<const char*, const char*> changes[] = {
      {"Europe/Berlin", "2026-03-29T01:00:00"},
      {"Europe/Berlin", "2050-10-30T01:00:00"},
      {"America/New_York", "2100-03-14T07:00:00"},
      {"America/Havana", "2026-03-08T05:00:00"},
      {"America/Havana", "2026-11-01T05:00:00"},
      {"Australia/Lord_Howe", "2026-04-04T15:00:00"},
      {"Australia/Lord_Howe", "2026-10-03T15:30:00"},
      {"Africa/Cairo", "2026-10-29T21:00:00"},
      {"Pacific/Apia", "2011-12-30T10:00:00"},
      {"Pacific/Apia", "2011-09-24T14:00:00"},
      {"Antarctica/Troll", "2026-10-25T01:00:00"},
      {"Pacific/Chatham", "2026-04-04T14:00:00"},
      {"Europe/Berlin", "1893-03-31T23:06:32"},
  };
  std::mt19937 random{5};
  for (const auto& [place, change] : changes) {
    const Zone there = zone(place);
    const sys_seconds middle = std::chrono::floor<seconds>(at(change));
    ASSERT_EQ(there.period_at(middle).begin, middle) << place << " does not change at " << change;
    const seconds reach = there.name() == "Pacific/Apia" ? 26h : 5h;
    for (int round = 0; round < 6; ++round) {
      const std::string expression = random_expression(random);
      const Result<Cron> rule = Cron::parse(expression);
      ASSERT_TRUE(rule) << expression;
      for (const DstPolicy dst : {skip, once, both}) {
        const Ticks ticks{*rule, there, dst};
        const std::set<TimePoint> slow =
            slow_ticks(*rule, there, dst, middle - reach, middle + reach);
        SCOPED_TRACE(fmt::format("{} {} {}", expression, place, static_cast<int>(dst)));
        ASSERT_EQ(forward_ticks(ticks, middle - reach, middle + reach), slow);
        ASSERT_EQ(backward_ticks(ticks, middle - reach, middle + reach), slow);
      }
    }
  }
}

TEST(TickProperties, next_then_previous_comes_back_and_ticks_increase_in_every_zone) {
  const char* places[] = {"Europe/Berlin", "Africa/Casablanca", "Pacific/Chatham",
                          "America/Nuuk",  "Europe/Dublin",     "Asia/Jerusalem",
                          "UTC",           "Pacific/Apia"};
  std::mt19937 random{6};
  std::uniform_int_distribution<Duration::rep> any{
      at("1900-01-01T00:00:00").time_since_epoch().count(),
      at("2150-01-01T00:00:00").time_since_epoch().count()};
  for (const char* place : places) {
    const Zone there = zone(place);
    for (int round = 0; round < 300; ++round) {
      const std::string expression =
          random() % 4 ? random_expression(random) : fmt::format("0 {} 29 2 *", random() % 24);
      const Ticks ticks{Cron::parse(expression).value(), there,
                        static_cast<DstPolicy>(random() % 3)};
      TimePoint from{Duration{any(random)}};
      for (int i = 0; i < 4; ++i) {
        const auto tick = ticks.next_after(from);
        ASSERT_TRUE(tick && *tick > from) << expression << " " << place;
        const auto same = ticks.previous_before(*tick + 1ms);
        ASSERT_EQ(same, tick) << expression << " " << place << " " << format_time(from);
        const auto before = ticks.previous_before(*tick);
        ASSERT_TRUE(before && *before <= from) << expression << " " << place;
        ASSERT_EQ(ticks.next_after(*before), tick) << expression << " " << place;
        from = *tick;
      }
    }
  }
}

}  // namespace
}  // namespace millrace
