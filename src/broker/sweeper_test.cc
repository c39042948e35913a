#include "broker/sweeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "core/limits.h"
#include "core/time_text.h"
#include "store/forwarding.h"
#include "store/store.h"
#include "tests/support/broker_driver.h"
#include "tests/support/matchers.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SweeperTest : public ::testing::Test {
 protected:
  // Looks once per second, as in production.
  void live(Duration by) {
    for (Duration done{}; done < by; done += 1s) {
      clock_.advance(1s);
      sweep();
    }
  }
  TimePoint sweep() {
    driver_.now = clock_.now();
    const TimePoint next = must(sweeper_.run_once(*store_, clock_.now()));
    sweeper_.stored();
    return next;
  }

  ManualClock clock_{t0};
  std::unique_ptr<Store> store_ = open_memory();
  StoreDriver driver_{*store_};
  Books books_{{}, store_->traits(), t0};
  Sweeper sweeper_{clock_, books_, false};
};

TEST_F(SweeperTest, promotes_what_is_due_and_says_when_to_come_again) {
  driver_.make_queue("q");
  const Put put = driver_.put(task("q", {.delay = 300ms}));
  EXPECT_EQ(sweep(), t0 + 300ms);
  clock_.advance(300ms);
  EXPECT_EQ(sweep(), t0 + 1300ms);
  EXPECT_EQ(driver_.state_of(put.id), TaskState::queued);
}

// S0-032, S1-087
TEST_F(SweeperTest, an_overdue_lease_is_lost_and_its_task_queued_again) {
  driver_.make_queue("q");
  live(31s);
  const Put put = driver_.put(task("q"));
  driver_.take_one("q");
  clock_.advance(5s);
  live(54s);
  clock_.advance(1s);
  must(sweeper_.run_once(*store_, clock_.now()));
  const Task task = driver_.find(put.id);
  EXPECT_EQ(task.state, TaskState::queued);
  EXPECT_EQ(task.counters.lost, 1U);
  // What is not stored yet is not reported.
  EXPECT_EQ(books_.metrics.of("q", clock_.now()).lost, 0U);
  EXPECT_EQ(books_.events.last(), 0U);
  sweeper_.stored();
  EXPECT_EQ(books_.metrics.of("q", clock_.now()).lost, 1U);
}

TEST_F(SweeperTest, nothing_is_lost_in_the_first_30_seconds) {
  driver_.make_queue({.name = "q", .id = fresh_uuid(), .lease = 1s});
  const Put put = driver_.put(task("q"));
  driver_.take_one("q");
  live(29s);
  EXPECT_EQ(driver_.state_of(put.id), TaskState::processing);
  live(1s);
  EXPECT_EQ(driver_.state_of(put.id), TaskState::queued);
}

TEST_F(SweeperTest, nothing_is_lost_for_30_seconds_after_the_clock_was_set) {
  for (const auto jump : {Duration(1h), -Duration(20min)}) {
    driver_.make_queue({.name = "q", .id = fresh_uuid(), .lease = 60s});
    live(31s);
    const Put put = driver_.put(task("q"));
    const Lease lease = driver_.take_one("q");
    clock_.set(clock_.now() + jump);
    live(30s);
    EXPECT_EQ(driver_.state_of(put.id), TaskState::processing) << jump.count();
    driver_.settle(done(lease));
  }
  // After a forward jump, a lease that is not extended for 30 s does end.
  live(31s);
  const Put put = driver_.put(task("q"));
  driver_.take_one("q");
  clock_.set(clock_.now() + 1h);
  live(31s);
  EXPECT_EQ(driver_.state_of(put.id), TaskState::queued);
}

TEST_F(SweeperTest, nothing_is_lost_for_30_seconds_after_a_standstill) {
  driver_.make_queue("q");
  live(31s);
  const Put put = driver_.put(task("q"));
  driver_.take_one("q");
  clock_.advance(5min);
  sweep();
  EXPECT_EQ(driver_.state_of(put.id), TaskState::processing);
  live(30s);
  EXPECT_EQ(driver_.state_of(put.id), TaskState::queued);
}

TEST_F(SweeperTest, a_clock_that_was_set_back_is_logged_once) {
  LogLines lines;
  Books books({.log = lines.log(LogLevel::warning)}, store_->traits(), t0);
  Sweeper sweeper(clock_, books, false);
  const auto live_on = [&] {
    for (int second = 0; second < 5; ++second) {
      clock_.advance(1s);
      must(sweeper.run_once(*store_, clock_.now()));
    }
  };
  live_on();
  EXPECT_THAT(lines.lines(), IsEmpty());
  std::vector<TimePoint> told;
  sweeper.on_set_back = [&](const std::string&, TimePoint now) { told.push_back(now); };
  const TimePoint before = clock_.now();
  clock_.set(before - 1h);
  must(sweeper.run_once(*store_, before));  // it was called just before
  live_on();
  ASSERT_THAT(lines.lines(), SizeIs(1));
  EXPECT_THAT(lines.lines().front(), ::testing::StartsWith("the clock was set back by 3600 s to " +
                                                           format_time(before - 1h)));
  EXPECT_THAT(told, ::testing::ElementsAre(before - 1h));
  clock_.set(clock_.now() + 1h);
  live_on();
  EXPECT_THAT(lines.lines(), SizeIs(1));
}

TEST_F(SweeperTest, a_clock_that_was_set_back_before_the_start_is_logged_once) {
  driver_.make_queue("q");
  driver_.put(task("q"));
  LogLines lines;
  Books books({.log = lines.log(LogLevel::warning)}, store_->traits(), t0);
  clock_.set(t0 - 5s);
  Sweeper soon_after(clock_, books, false);
  soon_after.look_at_newest(*store_, clock_.now());
  EXPECT_THAT(lines.lines(), IsEmpty()) << "a small difference is none";
  clock_.set(t0 - 1h);
  Sweeper sweeper(clock_, books, false);
  sweeper.look_at_newest(*store_, clock_.now());
  for (int i = 0; i < 2; ++i) must(sweeper.run_once(*store_, clock_.now()));
  ASSERT_THAT(lines.lines(), SizeIs(1));
  EXPECT_THAT(lines.lines().front(), ::testing::StartsWith("the clock was set back by 3600 s to "));
}

TEST_F(SweeperTest, a_small_disagreement_of_the_clocks_is_none) {
  driver_.make_queue("q");
  live(31s);
  const Put put = driver_.put(task("q"));
  driver_.take_one("q");
  live(58s);
  clock_.set(clock_.now() + 4s);
  sweep();
  EXPECT_EQ(driver_.state_of(put.id), TaskState::queued);
}

TEST_F(SweeperTest, start_by_is_not_held_back) {
  driver_.make_queue("q");
  const Put put = driver_.put(task("q", {.start_by = t0 + 2s}));
  live(2s);
  EXPECT_EQ(driver_.find(put.id).error->code, "expired");
}

TEST_F(SweeperTest, leases_that_may_not_be_lost_yet_hide_no_start_by) {
  driver_.make_queue({.name = "q", .id = fresh_uuid(), .lease = 1s});
  std::vector<NewTask> tasks;
  for (int i = 0; i < 1000; ++i) tasks.push_back(task("q"));
  driver_.put_all(tasks);
  driver_.take("q");
  driver_.put(task("q"));
  driver_.take_one("q");
  const Put put = driver_.put(task("q", {.start_by = t0 + 5s}));
  live(6s);
  EXPECT_EQ(driver_.counts("q").of(TaskState::processing), 1001U);
  EXPECT_EQ(driver_.find(put.id).error->code, "expired");
}

// What a newly opened store says about the workers of the process before.
class OpenedStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  std::vector<Settlement> settled;

  Result<std::vector<Overdue>> due(TimePoint, const DueRequest& request) override {
    Lease local{.id = fresh_id(), .token = {1}, .queue = "q", .started_at = t0 - 1h};
    Lease remote{.id = fresh_id(), .token = {2}, .queue = "q", .started_at = t0 - 1h};
    std::vector<Overdue> found{{local, Lost{{1}, t0 - 1h}}};
    if (request.leases) found.push_back({remote, Lost{{2}, t0 - 30min}});
    return found;
  }
  Result<WorkResult> work(std::span<const Settlement> settlements, std::span<const Extension>,
                          std::span<const TakeRequest>, TimePoint) override {
    settled.insert(settled.end(), settlements.begin(), settlements.end());
    return WorkResult{.settled = std::vector<Result<Settled>>(settlements.size(),
                                                              Settled{.state = TaskState::queued})};
  }
};

TEST_F(SweeperTest, leases_that_died_with_their_process_are_lost_at_once) {
  OpenedStore opened(*store_);
  must(sweeper_.run_once(opened, t0));
  ASSERT_THAT(opened.settled, SizeIs(1));
  EXPECT_EQ(opened.settled.front().expect, Expectation(Lost({1}, t0 - 1h)));
}

TEST_F(SweeperTest, many_overdue_tasks_are_settled_in_bounded_steps) {
  driver_.make_queue("q");
  live(31s);
  std::vector<NewTask> tasks;
  for (int i = 0; i < 1000; ++i) tasks.push_back(task("q"));
  driver_.put_all(tasks);
  driver_.take("q");
  live(58s);
  clock_.advance(2s);
  EXPECT_EQ(sweep(), clock_.now());
  EXPECT_EQ(driver_.counts("q").ready(), 500U);
  sweep();
  EXPECT_EQ(driver_.counts("q").ready(), 1000U);
}

TEST_F(SweeperTest, overdue_tasks_with_large_payloads_are_settled_a_few_at_a_time) {
  driver_.make_queue({.name = "q", .id = fresh_uuid(), .max_task_size = limits::max_payload});
  live(31s);
  for (int i = 0; i < 3; ++i) {
    driver_.put(task("q", {.payload = std::string(limits::max_payload / 2, 'x')}));
  }
  while (!driver_.take("q").empty()) {
  }
  live(58s);
  clock_.advance(2s);
  EXPECT_EQ(sweep(), clock_.now()) << "it goes on at once";
  EXPECT_EQ(driver_.counts("q").ready(), 2U);
  sweep();
  EXPECT_EQ(driver_.counts("q").ready(), 3U);
}

TEST_F(SweeperTest, a_cancel_request_of_a_lost_worker_is_honoured) {
  driver_.make_queue("q");
  live(31s);
  const Put put = driver_.put(task("q"));
  driver_.take_one("q");
  driver_.cancel(put.id);
  live(61s);
  EXPECT_EQ(driver_.state_of(put.id), TaskState::cancelled);
}

}  // namespace
}  // namespace millrace
