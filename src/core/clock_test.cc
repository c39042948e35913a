#include "core/clock.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

TEST(Clock, a_manual_clock_stands_still_until_told_otherwise) {
  ManualClock clock(TimePoint(seconds(100)));
  EXPECT_EQ(clock.now(), TimePoint(seconds(100)));
  EXPECT_EQ(clock.now(), TimePoint(seconds(100)));
  EXPECT_EQ(clock.steady(), nanoseconds(0));
}

TEST(Clock, wall_and_steady_time_advance_together) {
  ManualClock clock(TimePoint(seconds(100)));
  clock.advance(seconds(5));
  clock.advance(Duration(1));
  EXPECT_EQ(clock.now(), TimePoint(Duration(105'001)));
  EXPECT_EQ(clock.steady(), Duration(5001));
}

TEST(Clock, setting_the_wall_clock_leaves_steady_time_alone) {
  ManualClock clock;
  clock.advance(seconds(5));
  clock.set(TimePoint(seconds(-3)));
  EXPECT_EQ(clock.now(), TimePoint(seconds(-3)));
  EXPECT_EQ(clock.steady(), seconds(5));
}

TEST(Clock, the_system_clock_is_past_2020_and_its_steady_time_never_goes_back) {
  SystemClock clock;
  EXPECT_GT(clock.now(), TimePoint(std::chrono::hours(24 * 365 * 50)));
  nanoseconds last = clock.steady();
  EXPECT_GE(last, nanoseconds(0));
  for (int i = 0; i < 1000; ++i) {
    const nanoseconds next = clock.steady();
    ASSERT_GE(next, last);
    last = next;
  }
}

}  // namespace
}  // namespace millrace
