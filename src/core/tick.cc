#include "core/tick.h"

#include <fmt/format.h>
#include <algorithm>
#include <utility>
#include "core/check.h"
#include "core/limits.h"
#include "core/time_text.h"

namespace millrace {
namespace {

namespace chrono = std::chrono;
using chrono::local_seconds;
using chrono::seconds;
using chrono::sys_seconds;
using namespace std::chrono_literals;

// Offsets are between -25 and 26 hours, so a change of offset is not felt farther than this.
constexpr seconds change_reach = 72h;

local_seconds local(sys_seconds at, seconds offset) {
  return local_seconds{(at + offset).time_since_epoch()};
}

sys_seconds utc_of(local_seconds at, seconds offset) {
  return sys_seconds{(at - offset).time_since_epoch()};
}

Result<void> check_interval(const TickRule& rule) {
  if (rule.every < limits::min_every || rule.every > limits::max_delay) {
    return fail(ErrorCode::invalid,
                fmt::format("interval {} is out of range {} to {}", format_duration(rule.every),
                            format_duration(limits::min_every), format_duration(limits::max_delay)),
                "rule.every_ms");
  }
  if (rule.anchor < first_time || rule.anchor > last_time)
    return fail(ErrorCode::invalid, "the anchor of an interval must be in the years 0000-9999",
                "rule.anchor");
  if (rule.zone != "UTC") {
    return fail(ErrorCode::invalid, "an interval has no time zone; use a cron rule for local times",
                "rule.zone");
  }
  return {};
}

}  // namespace

Result<Ticks> Ticks::of(const TickRule& rule) {
  if (rule.cron.empty() && rule.every == Duration{0})
    return fail(ErrorCode::invalid, "a schedule needs a cron rule or an interval", "rule");
  if (!rule.cron.empty() && rule.every != Duration{0})
    return fail(ErrorCode::invalid, "a schedule has a cron rule or an interval, not both", "rule");
  if (rule.cron.empty()) {
    if (auto checked = check_interval(rule); !checked)
      return std::unexpected(std::move(checked.error()));
    return Ticks{Interval{.every = rule.every, .anchor = rule.anchor}};
  }
  const Result<Cron> cron = Cron::parse(rule.cron);
  if (!cron) return std::unexpected(inside("rule.cron", cron.error()));
  Result<Zone> zone = Zone::find(rule.zone);
  if (!zone) return std::unexpected(inside("rule.zone", std::move(zone.error())));
  return Ticks{*cron, std::move(*zone), rule.dst};
}

Ticks::Ticks(const Cron& cron, Zone zone, DstPolicy dst)
    : rule_(CronInZone{.cron = cron, .zone = std::move(zone), .dst = dst}) {}

std::optional<TimePoint> Ticks::next_after(TimePoint at) const {
  if (at >= last_time) return std::nullopt;
  at = std::max(at, first_time - Duration{1});
  std::optional<TimePoint> tick;
  if (const auto* interval = std::get_if<Interval>(&rule_)) {
    tick = interval->last_until(at) + interval->every;
  } else {
    tick = std::get<CronInZone>(rule_).first_from(chrono::floor<seconds>(at) + 1s);
  }
  return tick && *tick <= last_time ? tick : std::nullopt;
}

std::optional<TimePoint> Ticks::previous_before(TimePoint at) const {
  if (at <= first_time) return std::nullopt;
  at = std::min(at, last_time + Duration{1});
  std::optional<TimePoint> tick;
  if (const auto* interval = std::get_if<Interval>(&rule_)) {
    tick = interval->last_until(at - Duration{1});
  } else {
    tick = std::get<CronInZone>(rule_).last_until(chrono::ceil<seconds>(at) - 1s);
  }
  return tick && *tick >= first_time ? tick : std::nullopt;
}

TimePoint Ticks::Interval::last_until(TimePoint at) const {
  const Duration since = at - anchor;
  Duration past = since % every;
  if (past < Duration{0}) past += every;
  return at - past;
}

// Where the ticks of a period begin: at its beginning, or, where repeated times fire only once,
// after the times that the period before it has shown already.
local_seconds Ticks::CronInZone::first_local(const ZonePeriod& period) const {
  const local_seconds begin = local(period.begin, period.offset);
  if (follows_clock() || dst == DstPolicy::both || period.begin == zone_time_begin) return begin;
  return std::max(begin, local(period.begin, zone.period_at(period.begin - 1s).offset));
}

bool Ticks::CronInZone::fires_after_gap(const ZonePeriod& period) const {
  if (follows_clock() || dst == DstPolicy::skip || period.begin == zone_time_begin) return false;
  const seconds offset_before = zone.period_at(period.begin - 1s).offset;
  const auto lost = cron.first_from(local(period.begin, offset_before));
  return lost && *lost < local(period.begin, period.offset);
}

// Both searches go from period to period, and within one the calendar answers at once. Where the
// calendar's answer is far away they leap to it: no period in between has a tick.
std::optional<sys_seconds> Ticks::CronInZone::first_from(sys_seconds at) const {
  while (true) {
    const ZonePeriod period = zone.period_at(at);
    if (at == period.begin && fires_after_gap(period)) return at;
    const auto match = cron.first_from(std::max(local(at, period.offset), first_local(period)));
    if (match && utc_of(*match, period.offset) < period.end) return utc_of(*match, period.offset);
    if (period.end > last_time) return std::nullopt;
    const bool far_from_change = at + change_reach < period.end;
    if (!match && far_from_change) return std::nullopt;
    at = far_from_change ? std::max(period.end, utc_of(*match, period.offset) - change_reach)
                         : period.end;
  }
}

std::optional<sys_seconds> Ticks::CronInZone::last_until(sys_seconds at) const {
  while (true) {
    const ZonePeriod period = zone.period_at(at);
    const auto match = cron.last_until(local(at, period.offset));
    if (match && *match >= first_local(period)) return utc_of(*match, period.offset);
    if (fires_after_gap(period)) return period.begin;
    if (period.begin < first_time) return std::nullopt;
    const bool far_from_change = at - change_reach > period.begin;
    if (!match && far_from_change) return std::nullopt;
    at = far_from_change ? std::min(period.begin - 1s, utc_of(*match, period.offset) + change_reach)
                         : period.begin - 1s;
  }
}

}  // namespace millrace
