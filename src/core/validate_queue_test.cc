#include "core/limits.h"
#include "core/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

namespace millrace {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;

const TimePoint now{hours(500'000)};

// Empty if there is nothing wrong; else "code: message".
std::string verdict(const Result<void>& result) {
  if (result) return "";
  return std::string(name_of(result.error().code)) + ": " + result.error().message;
}

QueueSettings a_queue() {
  QueueSettings queue;
  queue.name = "mail";
  return queue;
}

template <class Change>
std::string queue_with(Change change) {
  QueueSettings queue = a_queue();
  change(queue);
  return verdict(validate(queue));
}

TEST(ValidateQueue, defaults_and_extremes_are_fine) {
  EXPECT_THAT(verdict(validate(a_queue())), IsEmpty());
  EXPECT_THAT(queue_with([](QueueSettings& q) {
                q.name = "$webhooks";
                q.number = QueueNumber{7};
                q.description = "everything that is mailed";
                q.paused_until = never;
                q.max_concurrent = 1;
                q.max_depth = 1;
                q.put_rate = Rate{.max = 1, .per = Duration(1)};
                q.process_rate = Rate{.max = 4'000'000'000U, .per = hours(24)};
                q.priority = 0;
                q.weight = 1000;
                q.ageing = Duration(1);
                q.lease = hours(12);
                q.timeout = seconds(30);
                q.batch_size = 1000;
                q.max_lost = 0;
                q.types = {{.type = "a"}, {.type = "b"}};
                q.keep_completed = {.for_time = Duration::zero(), .last = 0};
                q.keep_dead = {.for_time = std::nullopt, .last = std::nullopt};
              }),
              IsEmpty());
}

TEST(ValidateQueue, identity_is_a_name_and_a_number_that_is_not_negative) {
  EXPECT_THAT(queue_with([](QueueSettings& q) { q.name = "a/b"; }), HasSubstr("queue name"));
  EXPECT_THAT(queue_with([](QueueSettings& q) { q.number = QueueNumber{-1}; }),
              HasSubstr("queue number is -1"));
  EXPECT_THAT(queue_with([](QueueSettings& q) { q.description = std::string(1025, 'd'); }),
              HasSubstr("too_large: description"));
}

TEST(ValidateQueue, a_limit_of_zero_is_refused_with_a_hint) {
  EXPECT_EQ(queue_with([](QueueSettings& q) { q.max_concurrent = 0; }),
            "invalid: max_concurrent is 0; allowed are 1 and up, leave it out for unlimited");
  EXPECT_THAT(queue_with([](QueueSettings& q) { q.max_depth = 0; }), HasSubstr("max_depth is 0"));
}

TEST(ValidateQueue, rates_are_at_least_one_in_a_millisecond_to_a_day) {
  EXPECT_THAT(queue_with([](QueueSettings& q) { q.put_rate = Rate{.max = 0}; }),
              HasSubstr("put_rate max is 0"));
  EXPECT_EQ(
      queue_with([](QueueSettings& q) { q.process_rate = Rate{.max = 1, .per = Duration(0)}; }),
      "invalid: process_rate per is 0s; allowed are 1ms to 1d");
  EXPECT_THAT(queue_with([](QueueSettings& q) { q.put_rate = Rate{.max = 1, .per = days(2)}; }),
              HasSubstr("put_rate per is 2d"));
}

TEST(ValidateQueue, a_pause_ends_before_the_year_10000_or_never) {
  EXPECT_THAT(queue_with([](QueueSettings& q) { q.paused_until = now; }), IsEmpty());
  EXPECT_THAT(queue_with([](QueueSettings& q) { q.paused_until = never - Duration(1); }),
              HasSubstr("paused_until"));
}

// S4-009
TEST(ValidateQueue, order_is_in_range) {
  EXPECT_THAT(queue_with([](QueueSettings& q) { q.priority = 10; }),
              HasSubstr("queue priority is 10; allowed are 0 to 9"));
  EXPECT_THAT(queue_with([](QueueSettings& q) { q.weight = 0; }), HasSubstr("weight is 0"));
  EXPECT_THAT(queue_with([](QueueSettings& q) { q.weight = 1001; }), HasSubstr("1 to 1000"));
  EXPECT_THAT(queue_with([](QueueSettings& q) { q.ageing = Duration(0); }), HasSubstr("ageing"));
}

TEST(ValidateQueue, a_run_is_in_range) {
  EXPECT_EQ(queue_with([](QueueSettings& q) { q.lease = Duration(999); }),
            "invalid: lease is 999ms; allowed are 1s to 12h");
  EXPECT_THAT(queue_with([](QueueSettings& q) { q.lease = hours(13); }), HasSubstr("lease is 13h"));
  EXPECT_THAT(queue_with([](QueueSettings& q) { q.timeout = Duration(0); }), HasSubstr("timeout"));
  EXPECT_THAT(queue_with([](QueueSettings& q) { q.batch_size = 0; }), HasSubstr("batch_size is 0"));
  EXPECT_THAT(queue_with([](QueueSettings& q) { q.batch_size = 1001; }), HasSubstr("1 to 1000"));
  EXPECT_THAT(queue_with([](QueueSettings& q) { q.retry.factor = 0.0; }), HasSubstr("factor"));
}

TEST(ValidateQueue, types_are_named_once_and_their_errors_name_them) {
  EXPECT_EQ(queue_with([](QueueSettings& q) { q.types = {{.type = "a"}, {.type = "a"}}; }),
            "invalid: type \"a\" has two policies; allowed is one per type");
  EXPECT_THAT(queue_with([](QueueSettings& q) { q.types = {{.type = ""}}; }),
              HasSubstr("task type is empty"));
  EXPECT_THAT(queue_with([](QueueSettings& q) { q.types.resize(101); }),
              HasSubstr("too_large: 101 type policies are too many"));
  EXPECT_THAT(queue_with([](QueueSettings& q) {
                q.types = {{.type = "sms"}};
                q.types[0].retry.base = Duration(-1);
              }),
              HasSubstr("invalid: type \"sms\": retry base is -1ms"));
  EXPECT_THAT(queue_with([](QueueSettings& q) {
                q.types = {{.type = "sms"}};
                q.types[0].timeout = Duration(0);
              }),
              HasSubstr("type \"sms\": timeout is 0s"));
}

TEST(ValidateQueue, retention_is_not_negative) {
  EXPECT_THAT(queue_with([](QueueSettings& q) { q.keep_completed.for_time = Duration(-1); }),
              HasSubstr("keep_completed is -1ms"));
  EXPECT_THAT(queue_with([](QueueSettings& q) { q.keep_dead.for_time = Duration::max(); }),
              HasSubstr("keep_dead is"));
}

}  // namespace
}  // namespace millrace
