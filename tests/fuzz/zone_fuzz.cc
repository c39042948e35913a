// Any bytes as a zone file and as the rule at its end: they are refused, or they make a zone whose
// periods follow one another without a hole, whose two conversions agree, and in which schedules
// tick in order. The bytes also decide where in time to look.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include "core/cron.h"
#include "core/tick.h"
#include "core/time_text.h"
#include "core/zone.h"
#include "tests/fuzz/require.h"

using namespace millrace;
using std::chrono::hours;
using std::chrono::local_seconds;
using std::chrono::seconds;
using std::chrono::sys_seconds;

namespace {

void check_periods(const Zone& zone, sys_seconds at) {
  ZonePeriod period = zone.period_at(at);
  require(period.begin <= at && at < period.end);
  for (int i = 0; i < 20 && period.end < last_time; ++i) {
    require(period.begin < period.end);
    require(period.offset > -hours{25} && period.offset < hours{26});
    require(zone.period_at(period.end - seconds{1}) == period);
    const ZonePeriod next = zone.period_at(period.end);
    require(next.begin == period.end);
    period = next;
  }
}

void check_meaning(const Zone& zone, sys_seconds at) {
  const local_seconds local = zone.to_local(at);
  const LocalMeaning meaning = zone.from_local(local);
  require(meaning.kind != LocalMeaning::Kind::gap);
  require(meaning.first <= at && at <= meaning.second);
  require(zone.to_local(meaning.first) == local);
  require(zone.to_local(meaning.second) == local);
}

void check_ticks(const Zone& zone, sys_seconds at) {
  static const Cron night = Cron::parse("30 2 * * *").value();
  static const Cron leap = Cron::parse("*/7 3-5 29 2 *").value();
  static const Cron pace = Cron::parse("*/20 * * * *").value();
  for (const Cron* cron : {&night, &leap, &pace}) {
    for (const DstPolicy dst : {DstPolicy::skip, DstPolicy::once, DstPolicy::both}) {
      const Ticks ticks{*cron, zone, dst};
      TimePoint from = at;
      for (int i = 0; i < 3; ++i) {
        const auto tick = ticks.next_after(from);
        if (!tick) break;
        require(*tick > from);
        const auto before = ticks.previous_before(*tick);
        require(!before || *before <= from);
        require(ticks.previous_before(*tick + Duration{1}) == tick);
        from = *tick;
      }
    }
  }
}

void check(const Zone& zone, std::int64_t moment) {
  const auto least = std::chrono::ceil<seconds>(first_time);
  const auto most = std::chrono::floor<seconds>(last_time);
  for (const std::int64_t at : {moment, moment >> 28, moment >> 31}) {
    const sys_seconds inside = std::clamp(sys_seconds{seconds{at}}, least, most);
    check_periods(zone, inside);
    check_meaning(zone, inside);
    check_ticks(zone, inside);
  }
}

// The smallest zone file that ends in a rule.
std::string file_with(std::string_view rule) {
  const std::string header =
      std::string{"TZif2"} + std::string(34, '\0') + '\1' + std::string(4, '\0');
  const std::string part = header + std::string(6, '\0');
  return part + part + '\n' + std::string{rule} + '\n';
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  const auto moment = static_cast<std::int64_t>(std::hash<std::string_view>{}(text));
  for (const std::string& bytes : {std::string{text}, file_with(text)}) {
    const auto zone = Zone::from_file("Fuzz/Fuzz", std::as_bytes(std::span{bytes}));
    if (zone) {
      check(*zone, moment);
    } else {
      require(zone.error().code == ErrorCode::corrupt && !zone.error().message.empty());
    }
  }
  return 0;
}
