#include "cli/ages.h"

#include <gtest/gtest.h>

#include "core/time_text.h"

namespace millrace::cli {
namespace {

using namespace std::chrono_literals;

TEST(Ages, durations_have_one_unit_or_two) {
  EXPECT_EQ(brief(0ms), "0ms");
  EXPECT_EQ(brief(250ms), "250ms");
  EXPECT_EQ(brief(4999ms), "4s");
  EXPECT_EQ(brief(90s), "1m30s");
  EXPECT_EQ(brief(60s), "1m");
  EXPECT_EQ(brief(12min + 30s), "12m");
  EXPECT_EQ(brief(2h + 5min), "2h5m");
  EXPECT_EQ(brief(26h), "1d2h");
  EXPECT_EQ(brief(24h * 400), "400d");
  EXPECT_EQ(brief(-90s), "-1m30s");
}

TEST(Ages, moments_are_told_from_now) {
  const TimePoint now = parse_time("2026-01-02T03:04:05.678Z").value();
  EXPECT_EQ(age(now - 3min, now), "3m ago");
  EXPECT_EQ(age(now + 2h, now), "in 2h");
  EXPECT_EQ(age(now, now), "just now");
  EXPECT_EQ(age(now - 999ms, now), "just now");
  EXPECT_EQ(age(now + 1s, now), "in 1s");
  EXPECT_EQ(age(never, now), "never");
  EXPECT_EQ(moment_and_age(now - 3min, now), "2026-01-02 03:01:05Z (3m ago)");
  EXPECT_EQ(moment_and_age(never, now), "never");
}

}  // namespace
}  // namespace millrace::cli
