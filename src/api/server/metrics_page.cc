#include "api/server/metrics_page.h"

#include <utility>

namespace millrace::api {

MetricsPage::MetricsPage(Shown shown) : shown_(std::move(shown)) {
  add_server_families(families_, shown_);
  if (!shown_.snapshot) return;
  add_broker_families(families_, shown_);
  add_queue_families(families_, shown_);
  add_group_families(families_, shown_);
  add_task_families(families_, shown_);
  if (shown_.compat) add_compat_families(families_, shown_);
}

std::string MetricsPage::next(std::size_t about) {
  while (family_ < families_.size() && text_.text().size() < about) {
    const MetricFamily& family = families_[family_];
    if (row_ == 0) text_.family(family.name, family.kind, family.help);
    if (row_ < family.rows) family.write(text_, row_++);
    if (row_ < family.rows) continue;
    ++family_;
    row_ = 0;
  }
  return text_.take();
}

HistogramSnapshot with_bounds(const HistogramSnapshot& histogram, std::span<const double> bounds) {
  HistogramSnapshot fewer{.bounds = {bounds.begin(), bounds.end()},
                          .counts = std::vector<std::uint64_t>(bounds.size() + 1),
                          .sum = histogram.sum,
                          .count = histogram.count};
  std::size_t to = 0;
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    const bool beyond = i >= histogram.bounds.size();
    while (to < bounds.size() && (beyond || histogram.bounds[i] > bounds[to])) ++to;
    fewer.counts[to] += histogram.counts[i];
  }
  return fewer;
}

}  // namespace millrace::api
