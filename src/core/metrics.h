// Counters and histograms. Other rooms decide how to show them, and under which names. Both types
// are lock-free and thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace millrace {

class Counter {
 public:
  void add(std::uint64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_ = 0;
};

// For calls and commits, in seconds: 10 µs to 10 s.
inline constexpr std::array<double, 19> latency_bounds = {
    0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
    0.025,   0.05,     0.1,     0.25,   0.5,     1.0,    2.5,   5.0,    10.0};

// What a histogram held at one moment.
struct HistogramSnapshot {
  std::vector<double> bounds;         // upper bounds, inclusive, increasing
  std::vector<std::uint64_t> counts;  // one more than bounds: the last is above all of them
  double sum = 0;
  std::uint64_t count = 0;  // the sum of counts

  // An estimate of the value below which the share `q` (0 to 1) of all observations lies: linear
  // inside a bucket, the highest bound above all of them, 0 where nothing was observed.
  double quantile(double q) const;
};

class Histogram {
 public:
  // `bounds` must increase strictly and not be empty.
  explicit Histogram(std::span<const double> bounds = latency_bounds);

  // Counts one value; a negative one (the clock was set back) counts as 0, NaN is left out.
  void observe(double seconds);

  // Counts and sum may differ by the few observations made while the snapshot is taken.
  HistogramSnapshot snapshot() const;

 private:
  std::vector<double> bounds_;
  std::vector<std::atomic<std::uint64_t>> counts_;
  std::atomic<double> sum_ = 0;
};

}  // namespace millrace
