#include "broker/current_alerts.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "broker/alerter.h"

namespace millrace {

void CurrentAlerts::arrange() {
  total = alerts.size();
  const auto before = [](const CurrentAlert& a, const CurrentAlert& b) {
    return std::tuple(b.level, a.since, a.queue, a.kind) <
           std::tuple(a.level, b.since, b.queue, b.kind);
  };
  const std::size_t kept = std::min(alerts.size(), most);
  std::ranges::partial_sort(alerts, alerts.begin() + static_cast<std::ptrdiff_t>(kept), before);
  alerts.resize(kept);
}

void Growth::see(std::uint64_t count, TimePoint now) {
  const auto& [at, last] = seen_.back();
  // A smaller count, or a clock that was set back: it starts again.
  if (count < last || now < at) seen_.assign({{now, count}});
  const bool grew_before = grown() != 0;
  if (count > seen_.back().second) seen_.emplace_back(now, count);
  const auto young = [&](const auto& each) { return now - each.first < window; };
  const auto first = std::ranges::find_if(seen_.begin() + 1, seen_.end(), young);
  seen_.erase(seen_.begin(), first - 1);
  if (!grew_before && grown() != 0) since_ = now;
}

std::vector<CurrentAlert> Growing::look(const Look& look) {
  for (auto& [name, counters] : queues_) counters.seen = false;
  std::vector<CurrentAlert> alerts;
  const auto tell = [&](AlertKind kind, const Growth& growth, const std::string& queue,
                        std::string_view what) {
    const std::uint64_t count = growth.grown();
    if (count == 0) return;
    alerts.push_back(
        {.kind = kind,
         .queue = queue,
         .since = growth.since(),
         .message = fmt::format("{} {} of queue {} in the last 5 minutes", count, what, queue),
         .count = count});
  };
  for (const QueueLook& queue : look.queues) {
    auto found = queues_.find(queue.name);
    if (found == queues_.end()) {
      // A queue that is new since the last look started from zero; for those of the first look, the
      // earlier count is unknown.
      const TimePoint at = last_.value_or(look.at);
      const Growth dead(last_ ? 0 : queue.dead, at);
      const Growth lost(last_ ? 0 : queue.lost, at);
      found = queues_.emplace(queue.name, Counters{.dead = dead, .lost = lost}).first;
    }
    Counters& counters = found->second;
    counters.seen = true;
    counters.dead.see(queue.dead, look.at);
    counters.lost.see(queue.lost, look.at);
    tell(AlertKind::dead_growing, counters.dead, queue.name, "more dead letters");
    tell(AlertKind::leases_lost, counters.lost, queue.name, "leases lost");
  }
  std::erase_if(queues_, [](const auto& each) { return !each.second.seen; });
  last_ = look.at;
  return alerts;
}

}  // namespace millrace
