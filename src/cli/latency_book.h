// A histogram of durations: small, whatever their number, and exact to 2 %.
#pragma once

#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace millrace::cli {

class LatencyBook {
 public:
  using Microseconds = std::chrono::microseconds;

  void note(Microseconds took) {
    const auto us = static_cast<std::uint64_t>(took.count() < 0 ? 0 : took.count());
    ++counts_[bucket_of(us)];
    ++count_;
    if (us > most_) most_ = us;
  }

  std::uint64_t count() const { return count_; }
  Microseconds most() const { return Microseconds(most_); }

  // The duration that this share did not exceed: at(0.99). Zero if there are none.
  Microseconds at(double share) const {
    if (count_ == 0) return {};
    const auto rank = static_cast<std::uint64_t>(share * static_cast<double>(count_ - 1));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (seen > rank) return Microseconds(least_of(i));
    }
    return most();
  }

 private:
  // Below 2^7 each number has its own bucket; above, every power of two has 2^6 of them.
  static constexpr unsigned exact_bits = 7;
  static constexpr std::size_t half = std::size_t{1} << (exact_bits - 1);

  static std::size_t bucket_of(std::uint64_t us) {
    const auto width = static_cast<unsigned>(std::bit_width(us));
    if (width <= exact_bits) return us;
    const unsigned shift = width - exact_bits;
    return shift * half + (us >> shift);
  }
  static std::uint64_t least_of(std::size_t bucket) {
    if (bucket < 2 * half) return bucket;
    const std::size_t shift = bucket / half - 1;
    return static_cast<std::uint64_t>(bucket - shift * half) << shift;
  }

  std::array<std::uint64_t, (64 - exact_bits + 2) * half> counts_{};
  std::uint64_t count_ = 0;
  std::uint64_t most_ = 0;
};

}  // namespace millrace::cli
