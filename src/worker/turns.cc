#include "worker/turns.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace millrace::worker {

Turns::Turns(QueueOrder order, std::vector<Queue> queues)
    : order_(order),
      queues_(std::move(queues)),
      by_priority_(queues_.size()),
      last_(queues_.empty() ? 0 : queues_.size() - 1),
      credit_(queues_.size()) {
  std::iota(by_priority_.begin(), by_priority_.end(), std::size_t{0});
  std::ranges::stable_sort(by_priority_, [&](std::size_t a, std::size_t b) {
    if (queues_[a].priority != queues_[b].priority) {
      return queues_[a].priority > queues_[b].priority;
    }
    return queues_[a].name < queues_[b].name;
  });
}

std::optional<std::size_t> Turns::pick(const std::vector<bool>& may) {
  std::optional<std::size_t> best;
  for (const std::size_t i : in_order()) {
    if (!may[i]) continue;
    if (!best) best = i;
    if (order_ != QueueOrder::weighted) break;
    // Among equals, the one after the last picked comes first.
    if (credit_[i] + queues_[i].weight > credit_[*best] + queues_[*best].weight) best = i;
  }
  if (!best) return best;
  last_ = *best;
  shared_ = may;
  took(1);
  return best;
}

void Turns::took(std::size_t more) {
  if (order_ != QueueOrder::weighted || shared_.empty()) return;
  double sum = 0;
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    if (!shared_[i]) continue;
    const double gain = static_cast<double>(queues_[i].weight) * static_cast<double>(more);
    credit_[i] += gain;
    sum += gain;
  }
  credit_[last_] -= sum;
}

std::vector<std::size_t> Turns::in_order() const {
  if (order_ == QueueOrder::strict) return by_priority_;
  std::vector<std::size_t> order(queues_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = (last_ + 1 + i) % order.size();
  return order;
}

}  // namespace millrace::worker
