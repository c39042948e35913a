// How long things take, in few bytes: four buckets per doubling, from 1 ms to more than a day. A
// quantile is off by about a tenth.
#pragma once

#include <millrace/time.h>
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace millrace {

inline constexpr std::size_t fine_buckets = 104;

// 0 to 7 ms have a bucket each; the last bucket also has everything longer than 31 hours.
constexpr std::size_t fine_bucket(Duration duration) {
  const auto value = static_cast<std::uint64_t>(std::max<Duration::rep>(duration.count(), 0));
  if (value < 8) return static_cast<std::size_t>(value);
  const auto shift = static_cast<std::size_t>(std::bit_width(value)) - 3;
  return std::min(4 * shift + static_cast<std::size_t>(value >> shift), fine_buckets - 1);
}

// The shortest and the longest duration in a bucket; the last bucket ends like the others.
constexpr Duration shortest_of(std::size_t bucket) {
  if (bucket < 8) return Duration(static_cast<Duration::rep>(bucket));
  const std::size_t shift = bucket / 4 - 1;
  return Duration(static_cast<Duration::rep>((4 + bucket % 4) << shift));
}
constexpr Duration longest_of(std::size_t bucket) {
  return shortest_of(bucket + 1) - Duration(1);
}

using FineCounts = std::array<std::uint32_t, fine_buckets>;

// Only the buckets that are not empty.
class SparseHistogram {
 public:
  using Bucket = std::pair<std::uint8_t, std::uint64_t>;  // which one, how many; never zero

  SparseHistogram() = default;
  explicit SparseHistogram(const FineCounts& counts);

  void add(const SparseHistogram& other);
  // Appends a bucket after the others; false: it is not after them, does not exist, or is empty.
  bool append(std::size_t bucket, std::uint64_t count);

  const std::vector<Bucket>& buckets() const { return buckets_; }
  std::uint64_t count() const;
  // In seconds: the share `q` (0 to 1) of all took about this long at most.
  std::optional<double> quantile(double q) const;

  friend bool operator==(const SparseHistogram&, const SparseHistogram&) = default;

 private:
  std::vector<Bucket> buckets_;  // in order
};

}  // namespace millrace
