// The tick in a schedule's payload, so that "older than a day" means a day before each tick and not
// a day before the schedule was made.
//
//   {{tick}}        2026-01-02T03:00:00.000Z, the nominal moment of the tick
//   {{tick_ms}}     1767322800000, the same as milliseconds since 1970
//   {{tick-24h}}    a day before it; also {{tick+90m}}, {{tick_ms-7d}}
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <string>
#include <string_view>

namespace millrace {

// `invalid` if a duration after {{tick+ or {{tick- cannot be read. Other text in double braces
// stays as it is.
Result<std::string> with_tick(std::string_view payload, TimePoint tick);

}  // namespace millrace
