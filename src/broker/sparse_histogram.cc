#include "broker/sparse_histogram.h"

#include <chrono>

namespace millrace {

SparseHistogram::SparseHistogram(const FineCounts& counts) {
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] != 0) buckets_.emplace_back(static_cast<std::uint8_t>(i), counts[i]);
  }
}

void SparseHistogram::add(const SparseHistogram& other) {
  if (other.buckets_.empty()) return;
  std::vector<Bucket> sum;
  sum.reserve(buckets_.size() + other.buckets_.size());
  auto mine = buckets_.begin();
  for (const auto& [bucket, count] : other.buckets_) {
    while (mine != buckets_.end() && mine->first < bucket) sum.push_back(*mine++);
    sum.emplace_back(bucket, count);
    if (mine != buckets_.end() && mine->first == bucket) sum.back().second += (mine++)->second;
  }
  sum.insert(sum.end(), mine, buckets_.end());
  buckets_ = std::move(sum);
}

bool SparseHistogram::append(std::size_t bucket, std::uint64_t count) {
  if (bucket >= fine_buckets || count == 0) return false;
  if (!buckets_.empty() && bucket <= buckets_.back().first) return false;
  buckets_.emplace_back(static_cast<std::uint8_t>(bucket), count);
  return true;
}

std::uint64_t SparseHistogram::count() const {
  std::uint64_t sum = 0;
  for (const auto& [bucket, count] : buckets_) sum += count;
  return sum;
}

std::optional<double> SparseHistogram::quantile(double q) const {
  const std::uint64_t all = count();
  if (all == 0) return std::nullopt;
  const double rank = std::clamp(q, 0.0, 1.0) * static_cast<double>(all);
  double below = 0;
  for (const auto& [bucket, count] : buckets_) {
    const auto here = static_cast<double>(count);
    if (below + here >= rank) {
      const std::chrono::duration<double> low = shortest_of(bucket);
      const std::chrono::duration<double> high = longest_of(bucket);
      return (low + (high - low) * ((rank - below) / here)).count();
    }
    below += here;
  }
  return std::chrono::duration<double>(longest_of(buckets_.back().first)).count();
}

}  // namespace millrace
