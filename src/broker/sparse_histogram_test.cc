#include "broker/sparse_histogram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "tests/support/builders.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Optional;
using ::testing::Pair;

SparseHistogram of(const std::vector<Duration>& durations) {
  FineCounts counts{};
  for (const Duration duration : durations) ++counts[fine_bucket(duration)];
  return SparseHistogram(counts);
}

TEST(SparseHistogram, buckets_follow_each_other_without_gaps) {
  EXPECT_EQ(shortest_of(0), 0ms);
  for (std::size_t i = 0; i < fine_buckets; ++i) {
    EXPECT_LE(shortest_of(i), longest_of(i));
    EXPECT_EQ(longest_of(i) + 1ms, shortest_of(i + 1));
    EXPECT_EQ(fine_bucket(shortest_of(i)), i);
    EXPECT_EQ(fine_bucket(longest_of(i)), i);
    // No wider than a quarter of what is in it.
    EXPECT_LE((longest_of(i) - shortest_of(i)).count() * 4, shortest_of(i).count());
  }
}

TEST(SparseHistogram, nothing_is_too_short_or_too_long) {
  EXPECT_EQ(fine_bucket(Duration::min()), 0U);
  EXPECT_EQ(fine_bucket(-1ms), 0U);
  EXPECT_EQ(fine_bucket(Duration::max()), fine_buckets - 1);
  EXPECT_GT(longest_of(fine_buckets - 1), 24h);
}

TEST(SparseHistogram, only_what_is_there_takes_room) {
  EXPECT_THAT(of({}).buckets(), ElementsAre());
  EXPECT_THAT(of({1ms, 1ms, 6ms}).buckets(), ElementsAre(Pair(1, 2), Pair(6, 1)));
}

TEST(SparseHistogram, sums_are_as_if_all_were_counted_in_one) {
  std::minstd_rand random(3);
  for (int i = 0; i < 200; ++i) {
    std::vector<Duration> a;
    std::vector<Duration> b;
    for (auto n = random() % 30; n != 0; --n) a.emplace_back(random() % 100'000);
    for (auto n = random() % 30; n != 0; --n) b.emplace_back(random() % 1000);
    SparseHistogram sum = of(a);
    sum.add(of(b));
    a.insert(a.end(), b.begin(), b.end());
    ASSERT_EQ(sum, of(a));
    ASSERT_EQ(sum.count(), a.size());
  }
}

TEST(SparseHistogram, quantiles_are_right_within_an_eighth) {
  EXPECT_EQ(of({}).quantile(0.5), std::nullopt);
  EXPECT_THAT(of({3ms}).quantile(0.99), Optional(0.003));
  EXPECT_THAT(of({0ms, 0ms}).quantile(0.5), Optional(0.0));
  std::minstd_rand random(4);
  std::vector<Duration> all;
  for (int i = 0; i < 10'000; ++i) {
    all.emplace_back(
        static_cast<Duration::rep>(std::exp(static_cast<double>(random() % 12'000) / 1000)));
  }
  const SparseHistogram histogram = of(all);
  std::ranges::sort(all);
  for (const double q : {0.01, 0.5, 0.95, 0.99, 1.0}) {
    const auto place = std::min(static_cast<std::size_t>(q * 10'000), all.size() - 1);
    const double exact = std::chrono::duration<double>(all[place]).count();
    EXPECT_THAT(histogram.quantile(q), Optional(DoubleNear(exact, exact / 8 + 0.001))) << q;
  }
}

TEST(SparseHistogram, what_is_out_of_order_is_not_appended) {
  SparseHistogram histogram;
  EXPECT_FALSE(histogram.append(3, 0));
  EXPECT_TRUE(histogram.append(3, 1));
  EXPECT_FALSE(histogram.append(3, 1));
  EXPECT_FALSE(histogram.append(2, 1));
  EXPECT_FALSE(histogram.append(fine_buckets, 1));
  EXPECT_TRUE(histogram.append(fine_buckets - 1, 1));
}

}  // namespace
}  // namespace millrace
