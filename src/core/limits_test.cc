#include "core/limits.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

using namespace std::chrono_literals;

// The figures are promises of the documentation; changing one is changing the contract.
TEST(Limits, sizes_are_the_documented_ones) {
  EXPECT_EQ(limits::max_name, 100U);
  EXPECT_EQ(limits::max_unique_key, 255U);
  EXPECT_EQ(limits::max_tags, 16U);
  EXPECT_EQ(limits::max_metadata, 16U * 1024);
  EXPECT_EQ(limits::usual_task_size, 1024U * 1024);  // S2-051
  EXPECT_EQ(limits::max_payload, 16U * 1024 * 1024);
  EXPECT_EQ(limits::max_result, 16U * 1024 * 1024);
  EXPECT_EQ(limits::max_error_text, 8U * 1024);
  EXPECT_EQ(limits::max_log_lines, 100U);
  EXPECT_EQ(limits::max_log_line, 2U * 1024);
  EXPECT_EQ(limits::max_history, 20U);
  EXPECT_EQ(limits::max_batch, 1000U);
  EXPECT_EQ(limits::max_follow_ups, 32U);
  EXPECT_EQ(limits::max_follow_up_bytes, 16U * 1024 * 1024);
}

TEST(Limits, times_are_the_documented_ones) {
  EXPECT_EQ(limits::min_lease, 1s);
  EXPECT_EQ(limits::max_lease, 12h);
  EXPECT_GE(limits::max_delay, 24h * 365 * 10);
  EXPECT_LT(limits::max_delay, 24h * 365 * 10 + 24h * 4);
}

}  // namespace
}  // namespace millrace
