#include "broker/figures.h"

#include <gtest/gtest.h>

#include "tests/support/builders.h"

namespace millrace {
namespace {

using namespace millrace::test;

TEST(MinuteRate, is_what_happened_in_the_last_60_seconds) {
  MinuteRate rate;
  for (int i = 0; i < 120; ++i) rate.add(t0 + i * 1s, i < 60 ? 100 : 3);
  EXPECT_DOUBLE_EQ(rate.a_second(t0 + 119s, t0), 3);
  EXPECT_DOUBLE_EQ(rate.a_second(t0 + 149s, t0), 1.5);
  EXPECT_DOUBLE_EQ(rate.a_second(t0 + 1h, t0), 0);
}

TEST(MinuteRate, of_a_young_counter_is_taken_over_its_age) {
  MinuteRate rate;
  rate.add(t0 + 1s, 50);
  EXPECT_DOUBLE_EQ(rate.a_second(t0 + 5s, t0), 10);
  EXPECT_DOUBLE_EQ(rate.a_second(t0 + 1s, t0 + 1s), 50);
}

TEST(MinuteRate, survives_long_gaps_and_clocks_that_go_back) {
  MinuteRate rate;
  rate.add(t0, 60);
  rate.add(t0 + 24h, 60);
  EXPECT_DOUBLE_EQ(rate.a_second(t0 + 24h, t0), 1);
  rate.add(t0, 60);
  EXPECT_DOUBLE_EQ(rate.a_second(t0 + 24h, t0), 2);
}

TEST(Figures, are_kept_a_queue) {
  Figures figures(t0);
  {
    Figures::Writing writing(figures);
    writing.of("a").put(3, t0);
    writing.of("b").put(4, t0);
    writing.of("a").put(1, t0);
  }
  EXPECT_EQ(figures.of("a", t0).put, 4U);
  EXPECT_EQ(figures.of("b", t0).put, 4U);
  EXPECT_EQ(figures.of("c", t0).put, 0U);
  EXPECT_EQ(figures.of("c", t0).since, t0);
  figures.forget("a");
  EXPECT_EQ(figures.of("a", t0).put, 0U);
}

TEST(Figures, negative_times_count_as_none) {
  Figures figures(t0);
  Figures::Writing(figures).of("q").taken(-5s, t0);
  Figures::Writing(figures).of("q").taken(5s, t0);
  EXPECT_DOUBLE_EQ(figures.of("q", t0).mean_wait_seconds, 2.5);
}

}  // namespace
}  // namespace millrace
