// The ticks of a schedule's rule: when it fires next, and when it last did.
//
// A cron rule names local times, and twice a year a clock that keeps summer time shows some local
// times never (the gap in spring) or twice (the overlap in autumn). What happens then:
//
//   DstPolicy   a local time in the gap                     a local time in the overlap
//   skip        does not fire                               fires the first time only
//   once        fires at the first moment after the gap     fires the first time only
//   both        fires at the first moment after the gap     fires both times
//
// Several ticks in one gap fire once, together. With `once`, then, a rule fires as often on the day
// of a change as on any other day, unless several of its ticks fall into the gap.
//
// Rules for every hour (`*` as the hour, as in "*/15 * * * *") are different: their author expects
// a steady pace, so under every policy they fire whenever the clock shows a matching time. Nothing
// is made up for after the gap, and the repeated hour fires like any other.
//
// The same goes for every other change of a zone's offset, such as the day Samoa left out.
//
// An interval rule has no zone: its ticks are at anchor + k · every for each whole k (also before
// the anchor). With the default anchor "every 60s" fires at each full minute.
#pragma once

#include <millrace/result.h>
#include <millrace/schedule.h>
#include <millrace/time.h>
#include <optional>
#include <variant>
#include "core/cron.h"
#include "core/zone.h"

namespace millrace {

// A rule, ready to be asked. Immutable; the answers are pure and take microseconds. Ticks are in
// the years 0 to 9999 (UTC); outside there are none.
class Ticks {
 public:
  // `invalid` if the rule is neither a cron rule nor an interval, or both, or has a bad expression,
  // zone, interval or anchor. Reads the zone's file: keep the result.
  static Result<Ticks> of(const TickRule& rule);

  Ticks(const Cron& cron, Zone zone, DstPolicy dst);

  // The first tick after `at`, the last one before it; never `at` itself.
  std::optional<TimePoint> next_after(TimePoint at) const;
  std::optional<TimePoint> previous_before(TimePoint at) const;

 private:
  struct Interval {
    Duration every;
    TimePoint anchor;

    TimePoint last_until(TimePoint at) const;
  };

  struct CronInZone {
    Cron cron;
    Zone zone;
    DstPolicy dst;

    bool follows_clock() const { return cron.hours == Cron::every_hour; }
    std::optional<std::chrono::sys_seconds> first_from(std::chrono::sys_seconds at) const;
    std::optional<std::chrono::sys_seconds> last_until(std::chrono::sys_seconds at) const;
    std::chrono::local_seconds first_local(const ZonePeriod& period) const;
    bool fires_after_gap(const ZonePeriod& period) const;
  };

  explicit Ticks(Interval interval) : rule_(interval) {}

  std::variant<Interval, CronInZone> rule_;
};

}  // namespace millrace
