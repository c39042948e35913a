#include "broker/reads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>
#include <mutex>
#include <optional>
#include <string>

#include "core/clock.h"
#include "store/store.h"
#include "tests/support/builders.h"
#include "tests/support/driver.h"
#include "tests/support/matchers.h"
#include "tests/support/slow_flush_store.h"

namespace millrace {
namespace {

using namespace std::chrono_literals;
using test::FailsWith;
using test::fresh_id;

class ReadsTest : public ::testing::Test {
 protected:
  ReadsTest() { must_queue(); }
  ~ReadsTest() override { store_.let_go(); }

  void must_queue() {
    test::must(store_.put_queue({.name = "q", .id = fresh_id().value}, PutQueue::replace, now_));
  }
  std::future<Result<Task>> find(const TaskRef& task, CallerId caller = {1},
                                 TimePoint deadline = never) {
    auto promise = std::make_shared<std::promise<Result<Task>>>();
    reads_->read<Task>(
        caller, [task](Reader& reader, TimePoint) { return find_task(reader, task); }, deadline,
        [promise](Result<Task> found) { promise->set_value(std::move(found)); });
    return promise->get_future();
  }
  std::future<Result<std::vector<Result<Put>>>> put(TaskId id) {
    auto promise = std::make_shared<std::promise<Result<std::vector<Result<Put>>>>>();
    coalescer_->put({2}, {{.id = id, .queue = "q", .type = "t"}}, never,
                    [promise](auto puts) { promise->set_value(std::move(puts)); });
    return promise->get_future();
  }
  static bool is_answered(auto& future) { return future.wait_for(0s) == std::future_status::ready; }
  void wait_until(const auto& holds) {
    const auto end = clock_.steady() + 10s;
    while (!holds() && clock_.steady() < end) std::this_thread::yield();
    ASSERT_TRUE(holds());
  }

  const TimePoint now_ = TimePoint(Duration(1'000'000));
  SystemClock clock_;
  test::SlowFlushStore store_;
  std::optional<Coalescer> coalescer_{std::in_place, clock_, store_};
  std::optional<Reads> reads_{std::in_place, clock_, store_, *coalescer_};
};

TEST_F(ReadsTest, a_read_is_answered) {
  const TaskId id = fresh_id();
  ASSERT_TRUE(put(id).get());
  EXPECT_EQ(find(id).get()->id, id);
  EXPECT_THAT(find(fresh_id()).get(), FailsWith(ErrorCode::not_found));
  EXPECT_EQ(reads_->stats().reads, 2U);
}

TEST_F(ReadsTest, what_a_read_saw_is_durable_before_it_is_answered) {
  store_.may_end = false;
  const TaskId id = fresh_id();
  auto stored = put(id);
  wait_until([&] { return store_.begun == 1; });
  auto found = find(id);
  wait_until([&] { return reads_->stats().reads == 1; });
  EXPECT_FALSE(is_answered(found)) << "the task is not on disk yet";
  EXPECT_FALSE(is_answered(stored));
  store_.let_go();
  EXPECT_EQ(found.get()->id, id);
}

// What another process has applied may not be on the disk yet, and no round here says so.
TEST_F(ReadsTest, a_read_of_a_shared_store_is_answered_after_a_flush_that_began_after_it) {
  reads_.reset(), coalescer_.reset();
  store_.shared = true;
  store_.may_end = false;
  coalescer_.emplace(clock_, store_);
  reads_.emplace(clock_, store_, *coalescer_);
  auto first = find(fresh_id());
  wait_until([&] { return store_.begun == 1; });
  auto second = find(fresh_id());
  wait_until([&] { return reads_->stats().reads == 2; });
  EXPECT_FALSE(is_answered(first));
  store_.let_go();
  EXPECT_THAT(first.get(), FailsWith(ErrorCode::not_found));
  EXPECT_THAT(second.get(), FailsWith(ErrorCode::not_found));
  EXPECT_EQ(store_.begun, 2) << "the first flush began before the second read was over";
}

TEST_F(ReadsTest, the_reads_of_a_shared_store_are_ended_when_it_stops) {
  reads_.reset(), coalescer_.reset();
  store_.shared = true;
  coalescer_.emplace(clock_, store_);
  reads_.emplace(clock_, store_, *coalescer_);
  coalescer_->stop();
  EXPECT_THAT(find(fresh_id()).get(), FailsWith(ErrorCode::unavailable));
}

// A heartbeat must not wait for lists, nor a list for ever for heartbeats.
TEST_F(ReadsTest, quick_reads_overtake_walks_and_walks_get_their_turn) {
  std::latch begun(1);
  std::latch may_end(1);
  std::mutex mutex;
  std::string order;
  std::latch all(23);
  const auto ask = [&](char name, ReadCost cost, bool first = false) {
    reads_->read<void>(
        {1},
        [&, name, first](Reader&, TimePoint) -> Result<void> {
          if (first) begun.count_down(), may_end.wait();
          const std::scoped_lock lock(mutex);
          order += name;
          return {};
        },
        never, [&](const Result<void>&) { all.count_down(); }, cost);
  };
  ask('f', ReadCost::walk, true);
  begun.wait();
  for (int i = 0; i < 2; ++i) ask('w', ReadCost::walk);
  for (int i = 0; i < 20; ++i) ask('q', ReadCost::quick);
  may_end.count_down();
  all.wait();
  EXPECT_EQ(order, "f" + std::string(16, 'q') + "w" + std::string(4, 'q') + "w");
}

TEST_F(ReadsTest, a_read_of_what_was_lost_is_not_answered_with_it) {
  store_.may_end = false;
  store_.failure = Error{ErrorCode::unavailable, "the disk is gone"};
  const TaskId id = fresh_id();
  auto stored = put(id);
  wait_until([&] { return store_.begun == 1; });
  auto found = find(id);
  wait_until([&] { return reads_->stats().reads == 1; });
  store_.let_go();
  EXPECT_THAT(found.get(), FailsWith(ErrorCode::unavailable));
}

TEST_F(ReadsTest, a_deadline_that_passes_before_the_turn_is_told) {
  std::latch begun(1);
  std::latch may_end(1);
  reads_->read<void>(
      {1},
      [&](Reader&, TimePoint) -> Result<void> {
        begun.count_down();
        may_end.wait();
        return {};
      },
      never, [](const Result<void>&) {});
  begun.wait();
  auto late = find(fresh_id(), {1}, clock_.now() - 1s);
  may_end.count_down();
  EXPECT_THAT(late.get(), FailsWith(ErrorCode::unavailable));
  EXPECT_EQ(reads_->stats().expired, 1U);
}

TEST_F(ReadsTest, too_many_are_refused_with_a_hint_when_to_come_back) {
  reads_.emplace(clock_, store_, *coalescer_, ReadsOptions{.threads = 1, .waiting = 0});
  const auto refused = find(fresh_id()).get();
  ASSERT_THAT(refused, FailsWith(ErrorCode::limited));
  EXPECT_GT(refused.error().retry_after, Duration::zero());
}

TEST_F(ReadsTest, a_caller_who_left_is_not_answered) {
  std::latch begun(1);
  std::latch may_end(1);
  std::atomic<int> answered = 0;
  const auto look = [&](Reader&, TimePoint) -> Result<void> {
    begun.count_down();
    may_end.wait();
    return {};
  };
  const auto answer = [&](const Result<void>&) { ++answered; };
  reads_->read<void>({7}, look, never, answer);
  begun.wait();
  reads_->read<void>({7}, [](Reader&, TimePoint) { return Result<void>(); }, never, answer);
  reads_->leave({7});
  may_end.count_down();
  EXPECT_THAT(find(fresh_id()).get(), FailsWith(ErrorCode::not_found));  // came after both
  EXPECT_EQ(answered, 0);
}

TEST_F(ReadsTest, what_waits_is_refused_when_it_stops_and_what_was_seen_is_answered) {
  store_.may_end = false;
  const TaskId id = fresh_id();
  auto stored = put(id);
  wait_until([&] { return store_.begun == 1; });
  auto seen = find(id);
  wait_until([&] { return reads_->stats().reads == 1; });
  reads_->begin_stop();
  auto late = find(id);
  EXPECT_THAT(late.get(), FailsWith(ErrorCode::unavailable));
  store_.let_go();
  EXPECT_EQ(seen.get()->id, id);
  reads_->stop();
  reads_->stop();
}

}  // namespace
}  // namespace millrace
