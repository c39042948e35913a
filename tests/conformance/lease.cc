// Take, fencing, extend: the right to work on a task, and which worker has it.
#include <gmock/gmock.h>
#include <bit>
#include <limits>
#include <set>

#include "core/limits.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// ---- Take --------------------------------------------------------------------------------------

// S0-074, S1-010, S0-060, S0-015
TEST_P(StoreConformance, a_take_gives_up_to_the_number_asked_for) {
  for (int i = 0; i < 5; ++i) put(task("q"));
  EXPECT_THAT(take("q", 3), SizeIs(3));
  EXPECT_THAT(take("q", 3), SizeIs(2));
  EXPECT_THAT(take("q", 3), IsEmpty());
}

TEST_P(StoreConformance, a_take_ends_with_the_task_that_brings_its_payloads_to_16_mib) {
  for (int i = 0; i < 18; ++i) {
    put(task("q", {.payload = std::string(limits::usual_task_size, 'x')}));
  }
  EXPECT_EQ(take("q", 18).size(), 16U);
  EXPECT_EQ(take("q", 18).size(), 2U);
}

TEST_P(StoreConformance, a_taken_task_is_processing_under_a_lease) {
  const TaskId id = put(task("q")).id;
  pass(1s);
  must(try_take({.worker = "w-7", .queues = {{.queue = "q"}}}));
  const Task found = find(id);
  EXPECT_EQ(found.state, TaskState::processing);
  EXPECT_EQ(found.started_at, now);
  EXPECT_EQ(found.updated_at, now);
  EXPECT_EQ(found.lease_until, now + 60s);
  EXPECT_EQ(found.worker, "w-7");
  EXPECT_EQ(found.counters.deliveries, 1U);
}

TEST_P(StoreConformance, a_lease_carries_all_that_a_handler_and_a_decision_need) {
  const NewTask given = task("q", {.type = "t",
                                   .payload = "p",
                                   .content_type = "text/plain",
                                   .priority = 8,
                                   .start_by = now + 1h,
                                   .timeout = 5min,
                                   .max_lost = 2,
                                   .retry = RetryRules{.max_retries = 7},
                                   .unique = UniqueKey{.key = "k"},
                                   .callback = Callback{.url = "https://example.org/"},
                                   .keep_for = 1h,
                                   .client_id = "c",
                                   .request_id = "r",
                                   .group = "g",
                                   .metadata = "{}",
                                   .tags = {"x"},
                                   .parent = fresh_id()});
  const Put stored = put(given);
  pass(1s);
  const Lease lease = take_one("q");
  const Lease expected = {.id = given.id,
                          .number = stored.number,
                          .token = lease.token,
                          .until = now + 60s,
                          .queue = "q",
                          .type = "t",
                          .payload = "p",
                          .content_type = "text/plain",
                          .priority = 8,
                          .counters = {.deliveries = 1},
                          .created_at = t0,
                          .start = t0,
                          .started_at = now,
                          .start_by = given.start_by,
                          .timeout = given.timeout,
                          .max_lost = given.max_lost,
                          .retry = given.retry,
                          .unique = given.unique,
                          .callback = given.callback,
                          .keep_for = given.keep_for,
                          .client_id = "c",
                          .request_id = "r",
                          .group = "g",
                          .metadata = "{}",
                          .tags = {"x"},
                          .parent = given.parent};
  EXPECT_EQ(lease, expected);
}

// S1-038
TEST_P(StoreConformance, a_lease_lasts_as_long_as_its_queue_says_60_seconds_by_default) {
  make_queue(queue("slow", {.lease = 10min}));
  put(task("q"));
  put(task("slow"));
  EXPECT_EQ(take_one("q").until, now + 60s);
  EXPECT_EQ(take_one("slow").until, now + 10min);
}

TEST_P(StoreConformance, a_take_may_ask_for_another_lease) {
  put(task("q"));
  const auto leases =
      must(try_take({.worker = "w", .queues = {{.queue = "q"}}, .lease = Duration(5s)}));
  ASSERT_THAT(leases, SizeIs(1));
  EXPECT_EQ(leases.at(0).until, now + 5s);
}

// S1-026: one task is never given to two processors.
TEST_P(StoreConformance, no_other_worker_gets_a_task_under_a_lease) {
  std::set<TaskId> given;
  for (int i = 0; i < 50; ++i) put(task("q"));
  for (int i = 0; i < 20; ++i) {
    for (const Lease& lease : take("q", 3)) EXPECT_TRUE(given.insert(lease.id).second);
  }
  EXPECT_THAT(given, SizeIs(50));
}

TEST_P(StoreConformance, every_lease_has_a_new_token_and_none_is_zero) {
  std::set<Token> tokens;
  for (int i = 0; i < 3; ++i) put(task("q"));
  for (int round = 0; round < 4; ++round) {
    for (const Lease& lease : take("q")) {
      EXPECT_NE(lease.token, Token{0});
      EXPECT_TRUE(tokens.insert(lease.token).second);
      settle(given_back(lease));
    }
  }
  EXPECT_THAT(tokens, SizeIs(12));
}

// Otherwise a worker could settle the next task that another one takes.
TEST_P(StoreConformance, a_token_says_nothing_about_the_next) {
  for (int i = 0; i < 20; ++i) put(task("q"));
  const auto leases = take("q");
  ASSERT_THAT(leases, SizeIs(20));
  for (std::size_t i = 1; i < leases.size(); ++i) {
    const std::uint64_t changed = leases[i].token.value ^ leases[i - 1].token.value;
    EXPECT_GE(std::popcount(changed), 8) << "token " << i;
  }
}

TEST_P(StoreConformance, nothing_waiting_for_a_release_or_finished_is_ever_given_out) {
  one_in_each_state("q");
  const auto leases = take("q");
  ASSERT_THAT(leases, SizeIs(1));
  EXPECT_EQ(leases.at(0).counters.deliveries, 1U);
  pass(365 * 24h);
  EXPECT_THAT(take("q"), SizeIs(2));  // the delayed and the retrying one
}

// ---- Time does not end a lease -----------------------------------------------------------------

TEST_P(StoreConformance, an_overdue_lease_is_not_given_to_another_until_it_is_settled_as_lost) {
  put(task("q"));
  take_one("q");
  pass(24h);
  advance();
  EXPECT_THAT(take("q"), IsEmpty());
}

TEST_P(StoreConformance, a_late_settle_is_accepted_until_the_lease_is_settled_as_lost) {
  const TaskId id = put(task("q")).id;
  const Lease lease = take_one("q");
  pass(24h);
  EXPECT_EQ(settle(done(lease)), TaskState::completed);
  EXPECT_EQ(state_of(id), TaskState::completed);
}

TEST_P(StoreConformance, a_late_extend_is_accepted_until_the_lease_is_settled_as_lost) {
  put(task("q"));
  const Lease lease = take_one("q");
  pass(24h);
  EXPECT_EQ(extend(lease).until, now + 60s);
}

// ---- Fencing -----------------------------------------------------------------------------------

TEST_P(StoreConformance, a_settle_with_an_old_token_changes_nothing) {
  put(task("q"));
  const Lease old = take_one("q");
  settle(given_back(old));
  take_one("q");
  expect_unchanged([&] {
    EXPECT_THAT(try_settle(done(old)), FailsWith(ErrorCode::lease_lost));
    EXPECT_THAT(try_settle(retry_at(old, now)), FailsWith(ErrorCode::lease_lost));
    EXPECT_THAT(try_settle(given_back(old)), FailsWith(ErrorCode::lease_lost));
  });
}

TEST_P(StoreConformance, an_extend_with_an_old_token_changes_nothing) {
  put(task("q"));
  const Lease old = take_one("q");
  settle(given_back(old));
  take_one("q");
  expect_unchanged([&] {
    EXPECT_THAT(try_extend({.id = old.id, .token = old.token, .progress = 50, .log = {"x"}}),
                FailsWith(ErrorCode::lease_lost));
  });
}

TEST_P(StoreConformance, a_token_that_was_never_given_is_refused) {
  put(task("q"));
  Lease lease = take_one("q");
  for (const Token token :
       {Token{0}, Token{lease.token.value + 1}, Token{std::numeric_limits<std::uint64_t>::max()}}) {
    lease.token = token;
    expect_unchanged([&] {
      EXPECT_THAT(try_settle(done(lease)), FailsWith(ErrorCode::lease_lost));
      EXPECT_THAT(try_extend({.id = lease.id, .token = token}), FailsWith(ErrorCode::lease_lost));
    });
  }
}

TEST_P(StoreConformance, the_token_of_another_task_is_refused) {
  put(task("q"));
  put(task("q"));
  const auto leases = take("q");
  ASSERT_THAT(leases, SizeIs(2));
  Lease mixed = leases.at(0);
  mixed.token = leases.at(1).token;
  expect_unchanged([&] {
    EXPECT_THAT(try_settle(done(mixed)), FailsWith(ErrorCode::lease_lost));
    EXPECT_THAT(try_extend({.id = mixed.id, .token = mixed.token}),
                FailsWith(ErrorCode::lease_lost));
  });
}

TEST_P(StoreConformance, a_waiting_task_has_no_token_at_all) {
  const TaskId id = put(task("q")).id;
  for (const std::uint64_t token : {0ULL, 1ULL, 2ULL}) {
    EXPECT_THAT(try_settle({.id = id, .expect = Held{Token{token}}}),
                FailsWith(ErrorCode::lease_lost));
    EXPECT_THAT(try_extend({.id = id, .token = Token{token}}), FailsWith(ErrorCode::lease_lost));
  }
  EXPECT_EQ(state_of(id), TaskState::queued);
}

// S0-095
TEST_P(StoreConformance, settling_or_extending_a_task_that_is_not_there_is_not_found) {
  put(task("q", {.keep_for = 0s}));
  const Lease lease = take_one("q");
  settle(done(lease));
  EXPECT_THAT(try_settle(done(lease)), FailsWith(ErrorCode::not_found));
  EXPECT_THAT(try_extend({.id = lease.id, .token = lease.token}), FailsWith(ErrorCode::not_found));
}

// ---- Extend ------------------------------------------------------------------------------------

TEST_P(StoreConformance, an_extend_prolongs_the_lease_from_now_by_what_it_asks_for) {
  const TaskId id = put(task("q")).id;
  const Lease lease = take_one("q");
  pass(30s);
  EXPECT_EQ(extend(lease, 5min), (Extended{.until = now + 5min}));
  EXPECT_EQ(find(id).lease_until, now + 5min);
  EXPECT_EQ(find(id).state, TaskState::processing);
}

TEST_P(StoreConformance, an_extend_that_asks_for_nothing_gets_the_lease_of_the_queue) {
  make_queue(queue("slow", {.lease = 10min}));
  put(task("slow"));
  const Lease lease =
      must(try_take({.worker = "w", .queues = {{.queue = "slow"}}, .lease = Duration(1s)})).at(0);
  pass(1s);
  EXPECT_EQ(extend(lease).until, now + 10min);
}

TEST_P(StoreConformance, an_extend_never_shortens_the_lease) {
  put(task("q"));
  const Lease lease = take_one("q");
  EXPECT_EQ(extend(lease, 1s).until, now + 60s);
}

TEST_P(StoreConformance, an_extend_ends_30_seconds_after_the_timeout_of_the_task) {
  put(task("q", {.timeout = 2min}));
  const TimePoint started = now;
  const Lease lease = take_one("q");
  pass(59s);
  EXPECT_EQ(extend(lease).until, now + 60s);
  pass(59s);
  EXPECT_EQ(extend(lease).until, started + 2min + 30s);
  EXPECT_EQ(extend(lease, 12h).until, started + 2min + 30s);
}

TEST_P(StoreConformance, the_timeout_of_the_type_and_of_the_queue_end_a_lease_too) {
  make_queue(queue("timed", {.timeout = 5min, .types = {{.type = "short", .timeout = 1min}}}));
  put(task("timed", {.type = "other", .priority = 9}));
  put(task("timed", {.type = "short", .priority = 8}));
  put(task("timed", {.type = "short", .priority = 7, .timeout = 2min}));
  const Lease by_queue = take_one("timed");
  const Lease by_type = take_one("timed");
  const Lease by_task = take_one("timed");
  EXPECT_EQ(extend(by_queue, 12h).until, now + 5min + 30s);
  EXPECT_EQ(extend(by_type, 12h).until, now + 1min + 30s);
  EXPECT_EQ(extend(by_task, 12h).until, now + 2min + 30s);
}

TEST_P(StoreConformance, the_timeout_counts_from_the_start_of_this_run) {
  put(task("q", {.timeout = 1min}));
  settle(retry_at(take_one("q"), now + 1h));
  pass(1h);
  const Lease second = take_one("q");
  EXPECT_EQ(extend(second, 12h).until, now + 1min + 30s);
}

// S0-025
TEST_P(StoreConformance, an_extend_records_progress_and_keeps_it_when_none_is_given) {
  const TaskId id = put(task("q")).id;
  const Lease lease = take_one("q");
  must(try_extend({.id = id, .token = lease.token, .progress = 42.5}));
  EXPECT_EQ(find(id).progress, 42.5);
  extend(lease);
  EXPECT_EQ(find(id).progress, 42.5);
  must(try_extend({.id = id, .token = lease.token, .progress = 0}));
  EXPECT_EQ(find(id).progress, 0);
}

TEST_P(StoreConformance, an_extend_adds_log_lines_with_their_moment) {
  const TaskId id = put(task("q")).id;
  const Lease lease = take_one("q");
  must(try_extend({.id = id, .token = lease.token, .log = {"one", "two"}}));
  pass(1s);
  must(try_extend({.id = id, .token = lease.token, .log = {"three"}}));
  EXPECT_THAT(find(id).log,
              ElementsAre(LogLine{t0, "one"}, LogLine{t0, "two"}, LogLine{now, "three"}));
}

TEST_P(StoreConformance, the_newest_100_log_lines_stay) {
  const TaskId id = put(task("q")).id;
  const Lease lease = take_one("q");
  for (int i = 0; i < 12; ++i) {
    Extension extension{.id = id, .token = lease.token};
    for (int j = 0; j < 10; ++j) extension.log.push_back(std::to_string(10 * i + j));
    must(try_extend(extension));
  }
  const auto log = find(id).log;
  ASSERT_THAT(log, SizeIs(100));
  EXPECT_EQ(log.front().text, "20");
  EXPECT_EQ(log.back().text, "119");
}

TEST_P(StoreConformance, an_extend_of_a_finished_task_is_lease_lost) {
  put(task("q"));
  const Lease lease = take_one("q");
  settle(done(lease));
  expect_unchanged([&] {
    EXPECT_THAT(try_extend({.id = lease.id, .token = lease.token}),
                FailsWith(ErrorCode::lease_lost));
  });
}

}  // namespace
}  // namespace millrace::test
