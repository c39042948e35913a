#include "broker/type_tally.h"

#include <numeric>
#include <utility>

namespace millrace {

HistogramSnapshot BoundedHistogram::snapshot() const {
  return {.bounds = {task_bounds.begin(), task_bounds.end()},
          .counts = {counts_.begin(), counts_.end()},
          .sum = static_cast<double>(sum_) / 1000,
          .count = std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0})};
}

void RowSum::add(const MinuteRow& row) {
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += row.counts[i];
  for (std::size_t i = 0; i < fine_buckets; ++i) waited[i] += row.waited[i];
  for (std::size_t i = 0; i < fine_buckets; ++i) ran[i] += row.ran[i];
}

bool RowSum::empty() const {
  return std::ranges::all_of(counts, [](std::uint64_t count) { return count == 0; });
}

TypeMetrics TypeTally::metrics(std::string queue, std::string type) const {
  const auto of = [&](Counted what) { return counts[static_cast<std::size_t>(what)]; };
  return {.queue = std::move(queue),
          .type = std::move(type),
          .put = of(Counted::put),
          .existing = of(Counted::existing),
          .taken = of(Counted::taken),
          .completed = of(Counted::completed),
          .failed = of(Counted::failed),
          .dead = of(Counted::dead),
          .retried = of(Counted::retried),
          .snoozed = of(Counted::snoozed),
          .given_back = of(Counted::given_back),
          .lost = of(Counted::lost),
          .cancelled = of(Counted::cancelled),
          .expired = of(Counted::expired),
          .waiting = waiting.snapshot(),
          .running = running.snapshot()};
}

}  // namespace millrace
