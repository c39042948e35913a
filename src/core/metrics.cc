#include "core/metrics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "core/ensure.h"

namespace millrace {

Histogram::Histogram(std::span<const double> bounds)
    : bounds_(bounds.begin(), bounds.end()), counts_(bounds.size() + 1) {
  ensure(!bounds_.empty(), "a histogram has no bounds");
  ensure(std::ranges::is_sorted(bounds_, std::ranges::less_equal{}),
         "the bounds of a histogram do not rise");
}

void Histogram::observe(double seconds) {
  if (std::isnan(seconds)) return;
  const double value = std::max(seconds, 0.0);
  const auto bucket = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
  counts_[static_cast<std::size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

HistogramSnapshot Histogram::snapshot() const {
  HistogramSnapshot shot{.bounds = bounds_, .counts = {}, .sum = sum_.load(), .count = 0};
  for (const auto& count : counts_) shot.counts.push_back(count.load(std::memory_order_relaxed));
  shot.count = std::accumulate(shot.counts.begin(), shot.counts.end(), std::uint64_t{0});
  return shot;
}

double HistogramSnapshot::quantile(double q) const {
  if (count == 0) return 0;
  const double rank = std::clamp(q, 0.0, 1.0) * static_cast<double>(count);
  double below = 0;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const auto here = static_cast<double>(counts[i]);
    if (here > 0 && below + here >= rank) {
      const double low = i == 0 ? 0 : bounds[i - 1];
      return low + (bounds[i] - low) * (rank - below) / here;
    }
    below += here;
  }
  return bounds.back();
}

}  // namespace millrace
