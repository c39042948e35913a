// Any text as a cron expression: it is refused with a message, or it has ticks that match, increase
// and are found again on the way back. The text also decides where in time they are looked for.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include "core/cron.h"
#include "tests/fuzz/require.h"

using namespace millrace;
using std::chrono::local_days;
using std::chrono::local_seconds;
using std::chrono::seconds;
using std::chrono::year;

namespace {

void walk(const Cron& cron, local_seconds from) {
  for (int i = 0; i < 3; ++i) {
    const auto tick = cron.first_from(from);
    if (!tick) return;
    require(*tick >= from && cron.matches(*tick));
    require(cron.last_until(*tick) == tick);
    if (const auto before = cron.last_until(*tick - seconds{1})) {
      require(*before < from && cron.matches(*before));
    }
    from = *tick + seconds{1};
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  const auto cron = Cron::parse(text);
  if (!cron) {
    require(!cron.error().message.empty());
    return 0;
  }
  // What was accepted fires within the 400 years after which the calendar repeats.
  const auto first = cron->first_from(local_days{year{2000} / 1 / 1});
  require(first && *first < local_days{year{2400} / 1 / 1});
  const auto moment = static_cast<std::int64_t>(std::hash<std::string_view>{}(text));
  walk(*cron, local_seconds{seconds{moment % 260'000'000'000}});
  walk(*cron, local_seconds{seconds{moment}});
  walk(*cron, local_seconds::min());
  return 0;
}
