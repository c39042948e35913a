#include "core/decide.h"

#include "core/limits.h"
#include "core/retry.h"
#include "core/time_text.h"
#include "core/transition.h"
#include "core/validate.h"

#include <gtest/gtest.h>
#include <random>
#include <string>

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

const TimePoint now{hours(500'000)};

Lease a_lease() {
  Lease lease;
  lease.id.value.bytes[0] = 1;
  lease.token = Token{77};
  lease.until = now + seconds(60);
  lease.start = now - seconds(5);
  lease.started_at = now - seconds(1);
  lease.queue = "mail";
  lease.type = "send";
  lease.counters = {.deliveries = 4, .attempts = 3, .retries = 2, .lost = 1};
  return lease;
}

QueueSettings a_queue() {
  QueueSettings queue;
  queue.name = "mail";
  return queue;
}

RetryPolicy a_policy() {
  return {.base = seconds(10), .jitter = Jitter::none, .max_retries = 3};
}

TaskError an_error(std::string code = "task_processing_error") {
  return {.code = std::move(code), .message = "no luck", .details = "d", .stack = "s"};
}

Settlement decided(const Outcome& outcome, const QueueSettings& queue = a_queue(),
                   const Lease& lease = a_lease(), const RetryPolicy& server = a_policy()) {
  return decide(lease, outcome, queue, server, now, 0.5);
}

TEST(Decide, done_completes_with_the_result_and_charges_nothing) {
  const Settlement s = decided(Done{.result = "42"});
  EXPECT_EQ(s.event, Event::done);
  EXPECT_EQ(s.id, a_lease().id);
  EXPECT_EQ(s.expect, Expectation(Held{Token{77}}));
  EXPECT_EQ(s.result, "42");
  EXPECT_EQ(s.counters, a_lease().counters);
  EXPECT_EQ(s.error, std::nullopt);
}

// S0-096 S0-157 S1-031
TEST(Decide, a_failure_with_budget_left_is_retried_after_the_delay_and_charged) {
  const Settlement s = decided(Failed{.error = an_error()});
  EXPECT_EQ(s.event, Event::retry);
  EXPECT_EQ(s.ready, now + seconds(40));  // 10 · 2², after two failures
  EXPECT_EQ(s.counters, (Counters{.deliveries = 4, .attempts = 4, .retries = 3, .lost = 1}));
  ASSERT_TRUE(s.error.has_value());
  EXPECT_EQ(s.error->message, "no luck");
  EXPECT_EQ(s.error->details, "d");
  EXPECT_EQ(s.error->stack, "s");
  EXPECT_EQ(s.error->failed_at, now);
}

// S0-152 S0-160 S0-065
TEST(Decide, a_failure_without_budget_is_dead) {
  Lease lease = a_lease();
  lease.counters.retries = 3;
  const Settlement s = decided(Failed{.error = an_error()}, a_queue(), lease);
  EXPECT_EQ(s.event, Event::exhaust);
  EXPECT_EQ(s.counters, lease.counters);
  EXPECT_EQ(s.error->code, "task_processing_error");
}

// D-05 C-01
TEST(Decide, zero_retries_mean_that_the_first_failure_is_the_last) {
  Lease lease = a_lease();
  lease.counters = {.deliveries = 1};
  lease.retry = RetryRules{};
  lease.retry->max_retries = 0;
  EXPECT_EQ(decided(Failed{.error = an_error()}, a_queue(), lease).event, Event::exhaust);
}

// C-04: failed, not dead, and however much budget there is.
TEST(Decide, an_error_that_cannot_pass_fails_at_once) {
  const Settlement s = decided(Failed{.error = an_error("authentication_error")});
  EXPECT_EQ(s.event, Event::fail);
  EXPECT_EQ(s.counters, a_lease().counters);
  EXPECT_EQ(s.error->code, "authentication_error");
}

// C-04: a handler's explicit decision wins over both lists.
TEST(Decide, the_handlers_word_wins_over_the_policy) {
  EXPECT_EQ(decided(Failed{.error = an_error("authentication_error"), .retryable = true}).event,
            Event::retry);
  EXPECT_EQ(decided(Failed{.error = an_error("timeout"), .retryable = false}).event, Event::fail);
}

TEST(Decide, not_even_the_handler_exceeds_the_budget) {
  Lease lease = a_lease();
  lease.counters.retries = 3;
  EXPECT_EQ(decided(Failed{.error = an_error(), .retryable = true}, a_queue(), lease).event,
            Event::exhaust);
}

// S1-041
TEST(Decide, a_queue_without_dead_letters_retries_every_failure) {
  QueueSettings queue = a_queue();
  queue.dead_letters = false;
  Lease lease = a_lease();
  lease.counters.retries = 1000;
  EXPECT_EQ(decided(Failed{.error = an_error()}, queue, lease).event, Event::retry);
  EXPECT_EQ(decided(Failed{.error = an_error("invalid_payload")}, queue, lease).event,
            Event::retry);
  EXPECT_EQ(decided(RetryAt{.at = now, .error = an_error()}, queue, lease).event, Event::retry);
  lease.counters.lost = 1000;
  EXPECT_EQ(decide_lost(lease, lease.until, false, queue, a_policy(), now).event, Event::lose);
}

// S1-028 S1-041
TEST(Decide, unlimited_retries_never_run_out) {
  Lease lease = a_lease();
  lease.counters.retries = unlimited;
  lease.counters.attempts = unlimited;
  lease.retry = RetryRules{};
  lease.retry->max_retries = unlimited;
  const Settlement s = decided(Failed{.error = an_error()}, a_queue(), lease);
  EXPECT_EQ(s.event, Event::retry);
  EXPECT_EQ(s.counters.retries, unlimited) << "stays at its greatest value";
  EXPECT_EQ(s.counters.attempts, unlimited);
  EXPECT_GT(s.ready, now);
}

TEST(Decide, the_policy_is_resolved_from_task_type_queue_and_server) {
  QueueSettings queue = a_queue();
  queue.retry.base = seconds(1);
  EXPECT_EQ(decided(Failed{.error = an_error()}, queue).ready, now + seconds(4));
  queue.types.push_back({.type = "other"});
  queue.types.push_back({.type = "send"});
  queue.types[1].retry.factor = 3.0;
  EXPECT_EQ(decided(Failed{.error = an_error()}, queue).ready, now + seconds(9));
  Lease lease = a_lease();
  lease.retry = RetryRules{};
  lease.retry->base = seconds(2);
  EXPECT_EQ(decided(Failed{.error = an_error()}, queue, lease).ready, now + seconds(18));
}

TEST(Decide, jitter_uses_the_random_number_given) {
  RetryPolicy policy = a_policy();
  policy.jitter = Jitter::symmetric;
  policy.jitter_share = 0.5;
  const Failed failed{.error = an_error()};
  EXPECT_EQ(decide(a_lease(), failed, a_queue(), policy, now, 0).ready, now + seconds(20));
  EXPECT_EQ(decide(a_lease(), failed, a_queue(), policy, now, 0.75).ready, now + seconds(50));
}

// S1-012 S1-022 S1-036: the handler names the next start.
TEST(Decide, retry_at_starts_at_the_moment_named_and_is_charged) {
  const Settlement s = decided(RetryAt{.at = now + minutes(7), .error = an_error()});
  EXPECT_EQ(s.event, Event::retry);
  EXPECT_EQ(s.ready, now + minutes(7));
  EXPECT_EQ(s.counters.attempts, 4U);
  EXPECT_EQ(s.counters.retries, 3U);
  EXPECT_EQ(s.error->message, "no luck");
}

TEST(Decide, a_moment_in_the_past_is_now_and_one_too_far_ahead_is_cut) {
  EXPECT_EQ(decided(RetryAt{.at = now - hours(1)}).ready, now);
  EXPECT_EQ(decided(RetryAt{.at = never}).ready, now + limits::max_delay);
  EXPECT_EQ(decided(Snooze{.until = TimePoint::min()}).ready, now);
  EXPECT_EQ(decided(Snooze{.until = never}).ready, now + limits::max_delay);
}

TEST(Decide, retry_at_without_budget_is_dead) {
  Lease lease = a_lease();
  lease.counters.retries = 3;
  EXPECT_EQ(decided(RetryAt{.at = now}, a_queue(), lease).event, Event::exhaust);
}

TEST(Decide, a_snooze_is_an_attempt_but_no_failure) {
  const Settlement s = decided(Snooze{.until = now + hours(2)});
  EXPECT_EQ(s.event, Event::snooze);
  EXPECT_EQ(s.ready, now + hours(2));
  EXPECT_EQ(s.counters, (Counters{.deliveries = 4, .attempts = 4, .retries = 2, .lost = 1}));
  EXPECT_EQ(s.error, std::nullopt);
}

TEST(Decide, parking_is_an_attempt_but_no_failure_and_may_have_no_end) {
  const Settlement s = decided(Park{.until = now + hours(2)});
  EXPECT_EQ(s.event, Event::park);
  EXPECT_EQ(s.ready, now + hours(2));
  EXPECT_EQ(s.counters, (Counters{.deliveries = 4, .attempts = 4, .retries = 2, .lost = 1}));
  EXPECT_EQ(decided(Park{}).ready, never);
  EXPECT_EQ(decided(Park{.until = last_time}).ready, now + limits::max_delay);
  EXPECT_EQ(decided(Park{.until = TimePoint::min()}).ready, now);
  EXPECT_EQ(decide_cancelled(s, now).counters, a_lease().counters);
}

// C-23
TEST(Decide, giving_back_changes_nothing_and_keeps_the_ready_moment) {
  const Settlement s = decided(GiveBack{});
  EXPECT_EQ(s.event, Event::give_back);
  EXPECT_EQ(s.counters, a_lease().counters);
  EXPECT_EQ(s.ready, a_lease().start);
}

TEST(Decide, cancelling_keeps_the_reason) {
  const Settlement s = decided(Cancel{.reason = "order withdrawn"});
  EXPECT_EQ(s.event, Event::cancel);
  EXPECT_EQ(s.error->code, "cancelled");
  EXPECT_EQ(s.error->message, "order withdrawn");
  EXPECT_EQ(s.error->failed_at, now);
  EXPECT_EQ(s.counters, a_lease().counters);
}

// S1-027 S1-039
TEST(Decide, a_lost_lease_returns_the_task_at_once_and_counts_as_attempt_and_loss) {
  const Lease lease = a_lease();
  const Settlement s = decide_lost(lease, lease.until, false, a_queue(), a_policy(), now);
  EXPECT_EQ(s.event, Event::lose);
  EXPECT_EQ(s.expect, Expectation(Lost{.token = Token{77}, .until = lease.until}));
  EXPECT_EQ(s.ready, now);
  EXPECT_EQ(s.counters, (Counters{.deliveries = 4, .attempts = 4, .retries = 2, .lost = 2}));
  EXPECT_EQ(s.error, std::nullopt);
}

TEST(Decide, a_task_lost_once_more_than_allowed_is_dead) {
  Lease lease = a_lease();
  lease.counters.lost = 2;
  EXPECT_EQ(decide_lost(lease, now, false, a_queue(), a_policy(), now).event, Event::lose);
  lease.counters.lost = 3;
  const Settlement s = decide_lost(lease, now, false, a_queue(), a_policy(), now);
  EXPECT_EQ(s.event, Event::exhaust);
  EXPECT_EQ(s.counters.lost, 4U);
  EXPECT_EQ(s.counters.attempts, 3U) << "it does not return, so it is no attempt";
  EXPECT_EQ(s.error->code, "worker_lost");
  EXPECT_EQ(s.error->message, "its worker was lost 4 times; 3 are allowed");
  EXPECT_EQ(s.error->failed_at, now);
}

TEST(Decide, max_lost_of_zero_makes_the_first_loss_the_last) {
  Lease lease = a_lease();
  lease.counters.lost = 0;
  lease.max_lost = 0;
  EXPECT_EQ(decide_lost(lease, now, false, a_queue(), a_policy(), now).event, Event::exhaust);
}

// S1-028
TEST(Decide, with_unlimited_retries_losses_are_unlimited_too) {
  Lease lease = a_lease();
  lease.counters.lost = unlimited;
  RetryPolicy policy = a_policy();
  policy.max_retries = unlimited;
  EXPECT_EQ(decide_lost(lease, now, false, a_queue(), policy, now).event, Event::lose);
}

TEST(Decide, a_lost_lease_of_a_task_to_be_cancelled_cancels_it) {
  const Lease lease = a_lease();
  const Settlement s = decide_lost(lease, lease.until, true, a_queue(), a_policy(), now);
  EXPECT_EQ(s.event, Event::cancel);
  EXPECT_EQ(s.error->code, "cancelled");
  EXPECT_EQ(s.counters, (Counters{.deliveries = 4, .attempts = 3, .retries = 2, .lost = 2}));
}

TEST(Decide, a_wait_that_lasted_too_long_expires) {
  const TaskId id = a_lease().id;
  const Counters counters{.deliveries = 1, .attempts = 1, .retries = 1};
  const Settlement s = decide_expired(id, Version{9}, now, counters);
  EXPECT_EQ(s.id, id);
  EXPECT_EQ(s.event, Event::expire);
  EXPECT_EQ(s.expect, Expectation(Unchanged{Version{9}}));
  EXPECT_EQ(s.counters, counters);
  EXPECT_EQ(s.error->code, "expired");
  EXPECT_EQ(s.error->failed_at, now);
}

// C-10
TEST(Decide, what_a_cancel_request_overtook_is_cancelled_under_the_same_expectation) {
  const Settlement refused = decided(Failed{.error = an_error("timeout")});
  const Settlement s = decide_cancelled(refused, now + seconds(1));
  EXPECT_EQ(s.id, refused.id);
  EXPECT_EQ(s.expect, refused.expect);
  EXPECT_EQ(s.event, Event::cancel);
  EXPECT_EQ(s.counters, a_lease().counters) << "nothing is charged to a task that does not return";
  EXPECT_EQ(s.error->code, "cancelled");
  EXPECT_EQ(s.error->details, "the run ended with retry: timeout: no luck");
  EXPECT_EQ(s.error->failed_at, now + seconds(1));
}

TEST(Decide, cancelling_after_the_fact_equals_cancelling_at_once) {
  const Lease lease = a_lease();
  const auto lost = [&lease](bool requested) {
    return decide_lost(lease, lease.until, requested, a_queue(), a_policy(), now);
  };
  Settlement after = decide_cancelled(lost(false), now);
  EXPECT_EQ(after.error->details, "the run ended with lose");
  after.error->details.clear();
  EXPECT_EQ(after, lost(true));
  EXPECT_EQ(decide_cancelled(decided(Snooze{.until = now}), now).counters, lease.counters);
  EXPECT_EQ(decide_cancelled(decided(GiveBack{}), now).counters, lease.counters);
  EXPECT_EQ(
      decide_cancelled(Settlement{.id = {}, .expect = {}, .event = Event::retry}, now).counters,
      Counters{});
}

TEST(Decide, texts_that_are_too_long_are_cut_between_characters) {
  TaskError error{.code = std::string(200, 'c'), .message = std::string(9000, 'm')};
  error.details = std::string(limits::max_error_text - 1, 'd') + "\u20ac";
  error.stack = std::string(limits::max_error_text, 's');
  const Settlement s = decided(Failed{.error = error});
  EXPECT_EQ(s.error->code.size(), limits::max_error_code);
  EXPECT_EQ(s.error->message.size(), limits::max_error_text);
  EXPECT_EQ(s.error->details, std::string(limits::max_error_text - 1, 'd'));
  EXPECT_EQ(s.error->stack, error.stack);
  const Settlement cancelled = decided(Cancel{.reason = std::string(9000, 'r')});
  EXPECT_EQ(cancelled.error->message.size(), limits::max_error_text);
}

// S0-127
TEST(Decide, an_error_without_a_code_gets_the_default_one) {
  EXPECT_EQ(decided(Failed{.error = an_error("")}).error->code, "task_processing_error");
}

// S2-034 C-12
TEST(Decide, a_timeout_comes_from_the_task_else_its_type_else_the_queue) {
  QueueSettings queue = a_queue();
  EXPECT_EQ(timeout_of(std::nullopt, "send", queue), std::nullopt);
  queue.timeout = seconds(30);
  EXPECT_EQ(timeout_of(std::nullopt, "send", queue), seconds(30));
  queue.types.push_back({.type = "send"});
  EXPECT_EQ(timeout_of(std::nullopt, "send", queue), seconds(30));
  queue.types[0].timeout = seconds(20);
  EXPECT_EQ(timeout_of(std::nullopt, "send", queue), seconds(20));
  EXPECT_EQ(timeout_of(std::nullopt, "other", queue), seconds(30));
  EXPECT_EQ(timeout_of(seconds(10), "send", queue), seconds(10));
}

TEST(Decide, max_lost_comes_from_the_task_else_its_type_else_the_queue_else_three) {
  QueueSettings queue = a_queue();
  EXPECT_EQ(max_lost_of(std::nullopt, "send", queue, 5), 3U);
  EXPECT_EQ(max_lost_of(std::nullopt, "send", queue, unlimited), unlimited);
  queue.max_lost = 8;
  EXPECT_EQ(max_lost_of(std::nullopt, "send", queue, unlimited), 8U);
  queue.types.push_back({.type = "send"});
  EXPECT_EQ(max_lost_of(std::nullopt, "send", queue, 5), 8U);
  queue.types[0].max_lost = 6;
  EXPECT_EQ(max_lost_of(std::nullopt, "send", queue, 5), 6U);
  EXPECT_EQ(max_lost_of(std::nullopt, "other", queue, 5), 8U);
  EXPECT_EQ(max_lost_of(0U, "send", queue, 5), 0U);
}

Outcome any_outcome(std::mt19937_64& random) {
  const TimePoint moment = now + seconds(random() % 1000) - seconds(500);
  switch (random() % 7) {
    case 0:
      return Done{.result = "r"};
    case 1:
      return Failed{.error = an_error(random() % 2 == 0 ? "timeout" : "invalid_payload")};
    case 2:
      return RetryAt{.at = moment};
    case 3:
      return Snooze{.until = moment};
    case 4:
      return Cancel{};
    case 5:
      return Park{.until = moment};
    default:
      return GiveBack{};
  }
}

TEST(Decide, every_decision_is_a_valid_settlement_and_a_step_of_the_table) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 5000; ++i) {
    Lease lease = a_lease();
    lease.counters.retries = static_cast<std::uint32_t>(random() % 5);
    lease.counters.lost = static_cast<std::uint32_t>(random() % 5);
    QueueSettings queue = a_queue();
    queue.dead_letters = random() % 2 == 0;
    const bool timer = random() % 4 == 0;
    const Settlement s =
        timer ? decide_lost(lease, lease.until, random() % 2 == 0, queue, a_policy(), now)
              : decided(any_outcome(random), queue, lease);
    for (const Settlement& each : {s, decide_cancelled(s, now)}) {
      ASSERT_TRUE(validate(each).has_value()) << validate(each).error().message;
      ASSERT_TRUE(next_state(TaskState::processing, each.event).has_value());
      ASSERT_EQ(each.counters.deliveries, lease.counters.deliveries);
    }
  }
}

}  // namespace
}  // namespace millrace
