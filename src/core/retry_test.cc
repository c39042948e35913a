#include "core/retry.h"

#include "core/limits.h"
#include "core/retry_presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;

constexpr double almost_one = 0.999'999'9;  // near the upper end of the jitter

std::vector<Duration> delays(const RetryPolicy& policy, double random = 0) {
  std::vector<Duration> list;
  for (std::uint32_t n = 0; n < policy.max_retries && n < 4; ++n) {
    list.push_back(retry_delay(policy, n, random));
  }
  return list;
}

RetryPolicy plain(Duration base, double factor) {
  return {.base = base, .factor = factor, .cap = std::nullopt, .jitter = Jitter::none};
}

// S0-145 S0-146 S0-147 S0-148 S0-149 S0-052
TEST(Retry, the_default_policy_is_the_full_one_of_the_claude_proxy_for_every_error) {
  RetryPolicy expected = presets::claude_proxy;
  expected.retryable = Retryable::all;
  EXPECT_EQ(RetryPolicy{}, expected);
}

// S0-151: floor(min(max, base · factor^n) · (1 − jitter + random · 2 · jitter))
TEST(Retry, delays_of_the_claude_proxy_lie_a_fifth_around_30_60_and_120_seconds) {
  EXPECT_THAT(delays(presets::claude_proxy, 0), ElementsAre(seconds(24), seconds(48), seconds(96)));
  EXPECT_THAT(delays(presets::claude_proxy, 0.5),
              ElementsAre(seconds(30), seconds(60), seconds(120)));
  EXPECT_THAT(delays(presets::claude_proxy, almost_one),
              ElementsAre(milliseconds(35'999), milliseconds(71'999), milliseconds(143'999)));
}

// S0-151: jitter comes after the cap, so a delay may reach 4320 s.
TEST(Retry, jitter_after_the_cap_may_exceed_it) {
  EXPECT_EQ(retry_delay(presets::claude_proxy, 20, almost_one), milliseconds(4'319'999));
  EXPECT_EQ(retry_delay(presets::claude_proxy, 20, 0), seconds(2880));
}

TEST(Retry, cap_after_jitter_is_never_exceeded_and_still_spreads_downwards) {
  RetryPolicy policy = presets::claude_proxy;
  policy.cap_after_jitter = true;
  EXPECT_EQ(retry_delay(policy, 20, almost_one), hours(1));
  EXPECT_EQ(retry_delay(policy, 20, 0), seconds(2880));
  EXPECT_EQ(retry_delay(policy, 0, almost_one), milliseconds(35'999));
}

// S0-097
TEST(Retry, delays_of_the_plain_claude_queue_double_without_jitter) {
  EXPECT_THAT(delays(presets::claude_proxy_plain),
              ElementsAre(seconds(30), seconds(60), seconds(120)));
  EXPECT_EQ(retry_delay(presets::claude_proxy_plain, 10, 0), seconds(30 * 1024));
}

// S1-028 S1-036 D-17
TEST(Retry, contract_queues_retry_for_ever_and_never_overflow) {
  EXPECT_EQ(presets::contract_queue.max_retries, unlimited);
  EXPECT_THAT(delays(presets::contract_queue),
              ElementsAre(seconds(1), seconds(2), seconds(4), seconds(8)));
  for (const std::uint32_t n : {33U, 34U, 63U, 64U, 1024U, 4'000'000'000U}) {
    EXPECT_EQ(retry_delay(presets::contract_queue, n, 0), hours(1)) << n;
  }
}

// S2-025
TEST(Retry, delays_of_mtask_grow_up_to_a_minute_and_a_tenth) {
  EXPECT_THAT(delays(presets::mtask), ElementsAre(seconds(2), seconds(4), seconds(8)));
  EXPECT_EQ(retry_delay(presets::mtask, 0, almost_one), milliseconds(2199));
  EXPECT_EQ(retry_delay(presets::mtask, 9, 0), minutes(1));
  EXPECT_EQ(retry_delay(presets::mtask, 9, almost_one), milliseconds(65'999));
}

// S3-056 S3-057 S3-058 S3-059
TEST(Retry, delays_of_the_bullmq_jobs_are_those_of_their_attempts) {
  EXPECT_THAT(delays(presets::bullmq_sms), ElementsAre(seconds(1), seconds(2)));
  EXPECT_THAT(delays(presets::bullmq_email),
              ElementsAre(seconds(2), seconds(4), seconds(8), seconds(16)));
  EXPECT_THAT(delays(presets::bullmq_image), ElementsAre(seconds(5)));
  EXPECT_THAT(delays(presets::bullmq_cleanup), ElementsAre());
}

// S4-046 S4-020
TEST(Retry, delays_of_the_postgres_manager_start_at_ten_seconds_and_end_at_an_hour) {
  EXPECT_THAT(delays(presets::postgres_manager),
              ElementsAre(seconds(10), seconds(20), seconds(40)));
  EXPECT_EQ(retry_delay(presets::postgres_manager, 30, 0), hours(1));
}

TEST(Retry, a_fixed_delay_does_not_grow) {
  for (const std::uint32_t n : {0U, 1U, 50U, unlimited}) {
    EXPECT_EQ(retry_delay(presets::bullmq_image, n, 0), seconds(5));
  }
}

TEST(Retry, a_base_of_zero_stays_zero_however_often) {
  for (const std::uint32_t n : {0U, 1U, 5000U, unlimited}) {
    EXPECT_EQ(retry_delay(plain(Duration::zero(), 2), n, 0.5), Duration::zero());
  }
}

TEST(Retry, a_cap_of_zero_means_at_once) {
  RetryPolicy policy = plain(seconds(30), 2);
  policy.cap = Duration::zero();
  EXPECT_EQ(retry_delay(policy, 3, 0.5), Duration::zero());
}

TEST(Retry, without_a_cap_ten_years_are_the_longest_delay) {
  EXPECT_EQ(retry_delay(plain(seconds(1), 2), 1000, 0), limits::max_delay);
  RetryPolicy policy = plain(seconds(1), 2);
  policy.cap = limits::max_delay + hours(1);
  policy.jitter = Jitter::additive;
  policy.jitter_share = 1;
  EXPECT_EQ(retry_delay(policy, 1000, almost_one), limits::max_delay);
}

TEST(Retry, delays_are_rounded_down_to_milliseconds) {
  EXPECT_EQ(retry_delay(plain(milliseconds(3), 1.5), 1, 0), milliseconds(4));
  EXPECT_EQ(retry_delay(plain(milliseconds(1), 1.9), 1, 0), milliseconds(1));
}

// D-17: whatever the numbers, the result is a delay.
TEST(Retry, no_policy_and_no_count_gives_a_negative_or_endless_delay) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> odd = {0, 1, 2, 1e300, -1, -2.5, inf, -inf, nan};
  const std::vector<Duration> spans = {Duration::min(), Duration(-1), Duration(0),
                                       Duration(1),     hours(1),     Duration::max()};
  std::mt19937_64 random(7);
  const auto any = [&random](const auto& list) { return list[random() % list.size()]; };
  for (int i = 0; i < 20'000; ++i) {
    const RetryPolicy policy{.backoff = Backoff(random() % 2),
                             .base = any(spans),
                             .factor = any(odd),
                             .cap = random() % 4 == 0 ? std::nullopt : std::optional(any(spans)),
                             .jitter = Jitter(random() % 4),
                             .jitter_share = any(odd),
                             .cap_after_jitter = random() % 2 == 0};
    const auto delay = retry_delay(policy, static_cast<std::uint32_t>(random()), any(odd));
    ASSERT_GE(delay, Duration::zero());
    ASSERT_LE(delay, limits::max_delay);
  }
}

TEST(Retry, delays_never_shrink_from_one_failure_to_the_next) {
  for (const RetryPolicy& policy : {presets::claude_proxy, presets::contract_queue, presets::mtask,
                                    presets::bullmq_email, presets::postgres_manager}) {
    for (std::uint32_t n = 0; n < 100; ++n) {
      EXPECT_LE(retry_delay(policy, n, 0.3), retry_delay(policy, n + 1, 0.3));
    }
  }
}

TEST(Retry, every_symmetric_delay_lies_inside_its_share) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> point(0, 1);
  for (int i = 0; i < 10'000; ++i) {
    const Duration delay = retry_delay(presets::claude_proxy, 1, point(random));
    ASSERT_GE(delay, seconds(48));
    ASSERT_LT(delay, seconds(72));
  }
}

// C-01
TEST(Retry, the_task_wins_over_its_type_over_the_queue_over_the_server) {
  const RetryPolicy server;
  RetryRules queue;
  RetryRules type;
  RetryRules task;
  EXPECT_EQ(resolve(server, queue, nullptr, nullptr), server);
  queue.max_retries = 10;
  EXPECT_EQ(resolve(server, queue, &type, &task).max_retries, 10U);
  type.max_retries = 20;
  EXPECT_EQ(resolve(server, queue, &type, &task).max_retries, 20U);
  EXPECT_EQ(resolve(server, queue, nullptr, &task).max_retries, 10U);
  task.max_retries = 30;
  EXPECT_EQ(resolve(server, queue, &type, &task).max_retries, 30U);
  EXPECT_EQ(resolve(server, queue, &type, nullptr).max_retries, 20U);
}

TEST(Retry, each_field_is_resolved_on_its_own) {
  RetryRules queue;
  queue.base = seconds(7);
  queue.factor = 3.0;
  queue.retryable = Retryable::listed;
  RetryRules type;
  type.backoff = Backoff::fixed;
  type.jitter = Jitter::additive;
  type.factor = 4.0;
  RetryRules task;
  task.cap = minutes(2);
  task.jitter_share = 0.5;
  task.cap_after_jitter = true;
  const RetryPolicy expected{.backoff = Backoff::fixed,
                             .base = seconds(7),
                             .factor = 4.0,
                             .cap = minutes(2),
                             .jitter = Jitter::additive,
                             .jitter_share = 0.5,
                             .cap_after_jitter = true,
                             .max_retries = 3,
                             .retryable = Retryable::listed};
  EXPECT_EQ(resolve(RetryPolicy{}, queue, &type, &task), expected);
}

// D-05
TEST(Retry, an_explicit_zero_is_a_value_and_not_a_gap) {
  RetryRules task;
  task.max_retries = 0;
  task.base = Duration::zero();
  task.cap = Duration::zero();
  task.jitter_share = 0.0;
  task.cap_after_jitter = false;
  RetryRules queue;
  queue.cap_after_jitter = true;
  const RetryPolicy policy = resolve(RetryPolicy{}, queue, nullptr, &task);
  EXPECT_EQ(policy.max_retries, 0U);
  EXPECT_EQ(policy.base, Duration::zero());
  EXPECT_EQ(policy.cap, Duration::zero());
  EXPECT_EQ(policy.jitter_share, 0.0);
  EXPECT_FALSE(policy.cap_after_jitter);
}

}  // namespace
}  // namespace millrace
