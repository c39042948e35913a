#include "core/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace millrace {
namespace {

using testing::ElementsAre;

constexpr std::array<double, 3> bounds = {1, 5, 10};

TEST(Metrics, a_counter_counts) {
  Counter counter;
  EXPECT_EQ(counter.value(), 0U);
  counter.add();
  counter.add(41);
  EXPECT_EQ(counter.value(), 42U);
}

TEST(Metrics, a_value_on_a_bound_belongs_below_it) {
  Histogram histogram(bounds);
  for (const double value : {0.0, 1.0, 1.5, 5.0, 9.9, 10.0, 10.1, 1e9}) histogram.observe(value);
  const HistogramSnapshot shot = histogram.snapshot();
  EXPECT_THAT(shot.bounds, ElementsAre(1, 5, 10));
  EXPECT_THAT(shot.counts, ElementsAre(2, 2, 2, 2));
  EXPECT_EQ(shot.count, 8U);
  EXPECT_DOUBLE_EQ(shot.sum, 1e9 + 37.5);
}

TEST(Metrics, negative_values_count_as_zero_and_nan_not_at_all) {
  Histogram histogram(bounds);
  histogram.observe(-3);
  histogram.observe(std::numeric_limits<double>::quiet_NaN());
  const HistogramSnapshot shot = histogram.snapshot();
  EXPECT_EQ(shot.count, 1U);
  EXPECT_EQ(shot.sum, 0);
  EXPECT_EQ(shot.counts[0], 1U);
}

TEST(Metrics, quantiles_are_linear_inside_a_bucket) {
  Histogram histogram(bounds);
  for (int i = 0; i < 10; ++i) histogram.observe(3);  // all in (1, 5]
  const HistogramSnapshot shot = histogram.snapshot();
  EXPECT_DOUBLE_EQ(shot.quantile(0.5), 3);
  EXPECT_DOUBLE_EQ(shot.quantile(1), 5);
  EXPECT_DOUBLE_EQ(shot.quantile(0), 1);
  EXPECT_DOUBLE_EQ(shot.quantile(7), 5);
}

TEST(Metrics, quantiles_above_every_bound_are_the_highest_bound) {
  Histogram histogram(bounds);
  histogram.observe(0.5);
  histogram.observe(99);
  histogram.observe(99);
  EXPECT_DOUBLE_EQ(histogram.snapshot().quantile(0.9), 10);
  EXPECT_DOUBLE_EQ(histogram.snapshot().quantile(0.2), 0.6);
}

TEST(Metrics, an_empty_histogram_has_quantile_zero) {
  EXPECT_EQ(Histogram().snapshot().quantile(0.5), 0);
}

TEST(Metrics, quantiles_of_many_values_are_off_by_a_bucket_at_most) {
  Histogram histogram;
  std::mt19937_64 random(13);
  std::uniform_real_distribution<double> value(0, 1);
  for (int i = 0; i < 20'000; ++i) histogram.observe(value(random));
  const HistogramSnapshot shot = histogram.snapshot();
  EXPECT_EQ(shot.counts.size(), latency_bounds.size() + 1);
  EXPECT_NEAR(shot.quantile(0.5), 0.5, 0.02);
  EXPECT_NEAR(shot.quantile(0.99), 0.99, 0.02);
  EXPECT_NEAR(shot.sum / static_cast<double>(shot.count), 0.5, 0.02);
  double last = 0;
  for (double q = 0; q <= 1; q += 0.01) {
    EXPECT_GE(shot.quantile(q), last);
    last = shot.quantile(q);
  }
}

}  // namespace
}  // namespace millrace
