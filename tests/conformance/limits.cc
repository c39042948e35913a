// Limits that all processes share: how many tasks run, how many wait, and how many are put and
// taken per interval.
#include <gmock/gmock.h>
#include <vector>

#include "store/store.h"
#include "tests/conformance/conformance.h"

namespace millrace::test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// The greatest number of moments in any interval [m, m + per).
std::size_t densest(const std::vector<TimePoint>& moments, Duration per) {
  std::size_t most = 0;
  for (std::size_t first = 0, last = 0; first < moments.size(); ++first) {
    while (last < moments.size() && moments[last] < moments[first] + per) ++last;
    most = std::max(most, last - first);
  }
  return most;
}

// ---- max_concurrent ----------------------------------------------------------------------------

TEST_P(StoreConformance, never_more_than_max_concurrent_run_at_once) {
  make_queue(queue("narrow", {.max_concurrent = 3}));
  for (int i = 0; i < 10; ++i) put(task("narrow"));
  const auto first = take("narrow", 2);
  EXPECT_THAT(first, SizeIs(2));
  EXPECT_THAT(take("narrow", 5), SizeIs(1));
  EXPECT_THAT(take("narrow", 5), IsEmpty());
  settle(done(first.at(0)));
  EXPECT_THAT(take("narrow", 5), SizeIs(1));
}

TEST_P(StoreConformance, max_concurrent_holds_for_all_workers_of_one_call_together) {
  make_queue(queue("narrow", {.max_concurrent = 3}));
  for (int i = 0; i < 10; ++i) put(task("narrow"));
  const std::vector<TakeRequest> takes = {
      {.worker = "w1", .queues = {{.queue = "narrow", .most = 2}}},
      {.worker = "w2", .queues = {{.queue = "narrow", .most = 2}}}};
  const WorkResult result = must(store().work({}, {}, takes, now));
  EXPECT_THAT(must(result.taken.at(0)), SizeIs(2));
  EXPECT_THAT(must(result.taken.at(1)), SizeIs(1));
}

TEST_P(StoreConformance, max_concurrent_counts_overdue_leases_too) {
  make_queue(queue("narrow", {.max_concurrent = 1}));
  put(task("narrow"));
  put(task("narrow"));
  take_one("narrow");
  pass(24h);
  EXPECT_THAT(take("narrow"), IsEmpty());
  settle(lost(due_one(), now));
  EXPECT_THAT(take("narrow"), SizeIs(1));
}

TEST_P(StoreConformance, every_end_of_a_run_frees_its_place) {
  make_queue(queue("narrow", {.max_concurrent = 1}));
  for (int end = 0; end < 7; ++end) {
    put(task("narrow"));
    const Lease lease = take_one("narrow");
    const std::vector<Settlement> ends = {done(lease),
                                          failed(lease),
                                          exhausted(lease),
                                          retry_at(lease, now + 24h),
                                          snoozed(lease, now + 24h),
                                          cancelled(lease),
                                          given_back(lease)};
    settle(ends[static_cast<std::size_t>(end)]);
  }
  EXPECT_THAT(take("narrow"), SizeIs(1));
}

TEST_P(StoreConformance, a_lowered_max_concurrent_lets_the_running_ones_end) {
  QueueSettings settings = queue("narrow", {.max_concurrent = 3});
  make_queue(settings);
  for (int i = 0; i < 5; ++i) put(task("narrow"));
  const auto running = take("narrow");
  settings.max_concurrent = 1;
  make_queue(settings);
  settle(done(running.at(0)));
  settle(done(running.at(1)));
  EXPECT_THAT(take("narrow"), IsEmpty());
  settle(done(running.at(2)));
  EXPECT_THAT(take("narrow"), SizeIs(1));
}

TEST_P(StoreConformance, without_max_concurrent_everything_may_run) {
  std::vector<NewTask> batch;
  for (int i = 0; i < 500; ++i) batch.push_back(task("q"));
  put_all(batch);
  EXPECT_THAT(take("q"), SizeIs(500));
}

// ---- max_depth ---------------------------------------------------------------------------------

TEST_P(StoreConformance, max_depth_counts_created_queued_delayed_and_retrying) {
  for (const TaskState state : waiting_states) {
    const std::string name = "deep-" + ::testing::PrintToString(state);
    make_queue(queue(name, {.max_depth = 1}));
    task_in(state, name);
    EXPECT_THAT(try_put(task(name)), IsLimited()) << name;
  }
}

TEST_P(StoreConformance, max_depth_counts_neither_running_nor_finished_tasks) {
  for (const TaskState state : {TaskState::processing, TaskState::completed, TaskState::failed,
                                TaskState::dead, TaskState::cancelled}) {
    const std::string name = "deep-" + ::testing::PrintToString(state);
    make_queue(queue(name, {.max_depth = 1}));
    task_in(state, name);
    EXPECT_THAT(try_put(task(name)), IsOk()) << name;
  }
}

TEST_P(StoreConformance, a_batch_is_accepted_up_to_max_depth) {
  make_queue(queue("deep", {.max_depth = 3}));
  std::vector<NewTask> batch;
  for (int i = 0; i < 5; ++i) batch.push_back(task("deep"));
  const auto results = must(store().put(batch, now));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_THAT(results.at(i), IsOk());
  for (std::size_t i = 3; i < 5; ++i) EXPECT_THAT(results.at(i), IsLimited());
  EXPECT_EQ(counts("deep").total(), 3U);
}

TEST_P(StoreConformance, existing_tasks_cost_no_depth) {
  make_queue(queue("deep", {.max_depth = 1}));
  const Put first = put(task("deep", {.unique = UniqueKey{.key = "k"}}));
  EXPECT_TRUE(put(task("deep", {.id = first.id})).existing);
  EXPECT_TRUE(put(task("deep", {.unique = UniqueKey{.key = "k"}})).existing);
}

TEST_P(StoreConformance, a_running_task_comes_back_whatever_the_depth) {
  make_queue(queue("deep", {.max_depth = 1}));
  put(task("deep"));
  const Lease lease = take_one("deep");
  put(task("deep"));
  EXPECT_EQ(settle(retry_at(lease, now)), TaskState::retrying);
  EXPECT_EQ(counts("deep").waiting(), 2U);
}

// ---- put_rate ----------------------------------------------------------------------------------

TEST_P(StoreConformance, puts_over_the_rate_are_refused_with_a_hint_when_to_come_back) {
  make_queue(queue("rated", {.put_rate = Rate{3, 10s}}));
  for (int i = 0; i < 3; ++i) put(task("rated"));
  const auto refused = try_put(task("rated"));
  ASSERT_THAT(refused, IsLimited());
  EXPECT_LE(*refused.error().retry_after, 10s + Duration(10s) / 32 + 1ms);
  pass(*refused.error().retry_after);
  EXPECT_THAT(try_put(task("rated")), IsOk());
}

TEST_P(StoreConformance, never_more_puts_than_the_rate_in_any_interval) {
  constexpr Duration per = 1s;
  make_queue(queue("rated", {.put_rate = Rate{10, per}}));
  std::vector<TimePoint> accepted;
  for (int i = 0; i < 2000; ++i) {
    if (try_put(task("rated"))) accepted.push_back(now);
    pass(Duration(1 + i * 7 % 13));
  }
  EXPECT_LE(densest(accepted, per), 10U);
  // Not much less either: room comes back at most one slot of 32 late.
  const auto rounds = (now - t0) / (per + per / 32 + 15ms);
  EXPECT_GE(accepted.size(), 10U * static_cast<std::size_t>(rounds));
}

TEST_P(StoreConformance, the_whole_rate_is_there_again_one_slot_after_its_interval) {
  make_queue(queue("rated", {.put_rate = Rate{5, 32s}}));
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 5; ++i) EXPECT_THAT(try_put(task("rated")), IsOk());
    EXPECT_THAT(try_put(task("rated")), IsLimited());
    pass(32s + 1s);
  }
}

TEST_P(StoreConformance, existing_and_refused_puts_cost_no_rate) {
  make_queue(queue("rated", {.max_depth = 2, .put_rate = Rate{3, 1h}}));
  const Put first = put(task("rated", {.unique = UniqueKey{.key = "k"}}));
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(put(task("rated", {.id = first.id})).existing);
    EXPECT_TRUE(put(task("rated", {.unique = UniqueKey{.key = "k"}})).existing);
    EXPECT_THAT(try_put(task("rated", {.priority = 10})), FailsWith(ErrorCode::invalid));
  }
  EXPECT_THAT(try_put(task("rated")), IsOk());
  for (int i = 0; i < 10; ++i) EXPECT_THAT(try_put(task("rated")), IsLimited());  // the depth
  take("rated");
  EXPECT_THAT(try_put(task("rated")), IsOk());
  EXPECT_THAT(try_put(task("rated")), IsLimited());  // the rate
}

TEST_P(StoreConformance, a_batch_is_accepted_up_to_the_rate) {
  make_queue(queue("rated", {.put_rate = Rate{2, 1h}}));
  const std::vector<NewTask> batch = {task("rated"), task("rated"), task("rated"), task("q")};
  const auto results = must(store().put(batch, now));
  EXPECT_THAT(results.at(0), IsOk());
  EXPECT_THAT(results.at(1), IsOk());
  EXPECT_THAT(results.at(2), IsLimited());
  EXPECT_THAT(results.at(3), IsOk());
}

TEST_P(StoreConformance, each_queue_has_its_own_rate) {
  make_queue(queue("a", {.put_rate = Rate{1, 1h}}));
  make_queue(queue("b", {.put_rate = Rate{1, 1h}}));
  EXPECT_THAT(try_put(task("a")), IsOk());
  EXPECT_THAT(try_put(task("b")), IsOk());
  EXPECT_THAT(try_put(task("a")), IsLimited());
}

// ---- process_rate ------------------------------------------------------------------------------

TEST_P(StoreConformance, takes_over_the_rate_wait) {
  make_queue(queue("rated", {.process_rate = Rate{3, 10s}}));
  for (int i = 0; i < 8; ++i) put(task("rated"));
  EXPECT_THAT(take("rated", 2), SizeIs(2));
  EXPECT_THAT(take("rated", 5), SizeIs(1));
  EXPECT_THAT(take("rated", 5), IsEmpty());
  EXPECT_EQ(counts("rated").ready(), 5U);
  pass(11s);
  EXPECT_THAT(take("rated", 5), SizeIs(3));
}

TEST_P(StoreConformance, never_more_takes_than_the_rate_in_any_interval) {
  constexpr Duration per = 1s;
  make_queue(queue("rated", {.process_rate = Rate{5, per}}));
  std::vector<NewTask> batch;
  for (int i = 0; i < 100; ++i) batch.push_back(task("rated"));
  put_all(batch);
  std::vector<TimePoint> taken;
  for (int i = 0; i < 1000; ++i) {
    for ([[maybe_unused]] const Lease& lease : take("rated", 1 + i % 3)) taken.push_back(now);
    pass(Duration(1 + i * 5 % 11));
  }
  EXPECT_LE(densest(taken, per), 5U);
  EXPECT_GE(taken.size(), 20U);
}

TEST_P(StoreConformance, rates_do_not_wait_for_a_clock_that_was_set_back) {
  const Rate rate{2, Duration(1s)};
  make_queue(queue("rated", {.put_rate = rate, .process_rate = rate}));
  for (int i = 0; i < 2; ++i) put(task("rated"));
  EXPECT_THAT(take("rated"), SizeIs(2));
  now -= 1h;
  for (int i = 0; i < 2; ++i) put(task("rated"));
  EXPECT_THAT(try_put(task("rated")), IsLimited());
  EXPECT_THAT(take("rated", 1), SizeIs(1));
  EXPECT_THAT(take("rated", 1), SizeIs(1));
  pass(1100ms);
  put(task("rated"));
  EXPECT_THAT(take("rated"), SizeIs(1));
}

TEST_P(StoreConformance, giving_back_refunds_nothing_of_the_rate) {
  make_queue(queue("rated", {.process_rate = Rate{2, 1h}}));
  put(task("rated"));
  settle(given_back(take_one("rated")));
  settle(given_back(take_one("rated")));
  EXPECT_THAT(take("rated"), IsEmpty());
}

TEST_P(StoreConformance, a_take_that_finds_nothing_costs_no_rate) {
  make_queue(queue("rated", {.process_rate = Rate{1, 1h}}));
  for (int i = 0; i < 5; ++i) EXPECT_THAT(take("rated"), IsEmpty());
  put(task("rated"));
  EXPECT_THAT(take("rated"), SizeIs(1));
}

}  // namespace
}  // namespace millrace::test
