// How a worker with threads stops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/driven_worker.h"
#include "tests/support/matchers.h"

namespace millrace::worker {
namespace {

using namespace millrace::test;

// S1-060, S1-064, S1-088, S2-027, S3-064, S3-066
TEST_F(WorkerTest, a_stop_waits_for_what_runs) {
  QueueHandlers& how = handle("q", [&](Context&) { seen_.wait_for_gate(); });
  how.concurrency = 2;
  how.prefetch = 8;
  start();
  const auto ids = put("q", 10);
  ASSERT_TRUE(seen_.eventually([&] { return seen_.inside == 2; }));
  ASSERT_TRUE(shows([](const RunMetrics& now) { return now.running == 2 && now.waiting == 8; }));
  worker_->shutdown();
  worker_->shutdown();
  ASSERT_TRUE(shows([](const RunMetrics& now) { return now.waiting == 0; }));
  EXPECT_EQ(worker_->metrics().front().running, 2U);
  std::thread opener([&] { seen_.open_gate(); });
  const Stopped stopped = worker_->graceful_stop(30s);
  opener.join();
  EXPECT_EQ(stopped.given_back, 8U);
  EXPECT_EQ(stopped.running, 0U);
  EXPECT_EQ(counts("q").of(TaskState::completed), 2U);
  EXPECT_EQ(counts("q").ready(), 8U);
  for (const TaskId& id : ids) EXPECT_EQ(find(id).counters.attempts, 0U);
  EXPECT_EQ(worker_->graceful_stop(30s).given_back, 8U) << "again is no error";
}

// C-23, D-24, S3-065
TEST_F(WorkerTest, a_thousand_tasks_are_given_back_within_the_limit) {
  QueueHandlers& how = handle("q", [&](Context&) { seen_.wait_for_gate(); });
  how.concurrency = 200;
  how.prefetch = 800;
  start();
  put("q", 1200);
  ASSERT_TRUE(seen_.eventually([&] { return seen_.inside == 200; }));
  ASSERT_TRUE(
      shows([](const RunMetrics& now) { return now.running == 200 && now.waiting == 800; }));
  const Moment before = steady();
  const Stopped stopped = worker_->graceful_stop(2s);
  EXPECT_LE(steady() - before, 10s) << "handlers that do not end are not waited for";
  EXPECT_EQ(stopped.given_back, 1000U);
  EXPECT_EQ(stopped.running, 200U);
  EXPECT_EQ(counts("q").ready(), 1200U);
  EXPECT_EQ(counts("q").taken(), 0U);
}

TEST_F(WorkerTest, handlers_that_heed_the_request_end_in_time) {
  std::atomic<int> heeded = 0;
  handle("q", [&](Context& task) {
    EXPECT_FALSE(task.wait_for(1h));
    if (task.stop_reason() == StopReason::stopping) ++heeded;
    throw std::runtime_error("interrupted");
  }).concurrency = 3;
  start();
  const auto ids = put("q", 3);
  ASSERT_TRUE(seen_.eventually([&] { return seen_.inside == 3; }));
  const Stopped stopped = worker_->graceful_stop(1s);
  EXPECT_EQ(stopped.running, 0U);
  EXPECT_EQ(stopped.interrupted, 3U);
  EXPECT_EQ(stopped.given_back, 3U);
  EXPECT_EQ(heeded, 3);
  for (const TaskId& id : ids) {
    EXPECT_EQ(find(id).state, TaskState::queued);
    EXPECT_EQ(find(id).counters.retries, 0U) << "nothing is charged";
  }
}

TEST_F(WorkerTest, a_handler_may_shut_its_worker_down) {
  handle("q", [&](Context&) { worker_->shutdown(); });
  start();
  EXPECT_EQ(end_of(put("q", 1).front()), TaskState::completed);
  EXPECT_EQ(worker_->graceful_stop(10s).running, 0U);
  worker_->start();
  EXPECT_EQ(worker_->running_processors(), 0U) << "there is no way back";
}

TEST_F(WorkerTest, two_may_stop_it_at_the_same_time) {
  handle("q", [](Context&) {});
  start();
  std::thread other([&] { worker_->graceful_stop(10s); });
  worker_->graceful_stop(10s);
  other.join();
}

TEST_F(WorkerTest, whatever_a_stop_meets_nothing_stays_taken) {
  for (int round = 0; round < 30; ++round) {
    queues_.clear();
    handle("q", [](Context&) {}).concurrency = 2;
    start();
    put("q", 50);
    std::thread putter([&] { put("q", 50); });
    if (round % 2 == 0) worker_->shutdown();
    worker_->graceful_stop(10s);
    putter.join();
    // What a poll brought after it was left is given back by the broker, a moment later.
    const Moment end = steady() + 10s;
    while (counts("q").taken() != 0 && steady() < end) {
    }
    ASSERT_EQ(counts("q").taken(), 0U);
  }
}

TEST_F(WorkerTest, what_comes_while_a_hook_outlasts_the_stop_is_given_back) {
  options_.idle = 30s;
  std::atomic<bool> in_hook = false;
  handle("q", [](Context&) {}).on_completed = [&](const TaskEvent&) {
    in_hook = true;
    // One beat when it begins to stop, and one from the keeper when no stop waits any more.
    EXPECT_TRUE(seen_.eventually([&] { return door_.last_beats >= 2; }));
  };
  start();
  put("q", 1);
  ASSERT_TRUE(shows([&](const RunMetrics&) { return in_hook.load(); }));
  const TaskId id = put("q", 1).front();
  ASSERT_TRUE(shows([&](const RunMetrics&) { return find(id).state == TaskState::processing; }));
  worker_->shutdown();
  ASSERT_TRUE(seen_.eventually([&] { return door_.last_beats >= 1; }));
  worker_->graceful_stop(100ms);
  EXPECT_TRUE(shows([&](const RunMetrics&) { return find(id).state == TaskState::queued; }));
}

TEST_F(WorkerTest, without_a_limit_a_stop_waits_as_long_as_it_takes) {
  handle("q", [&](Context& task) {
    seen_.wait_for_gate();
    EXPECT_FALSE(task.stop_requested());
  });
  start();
  const TaskId id = put("q", 1).front();
  ASSERT_TRUE(seen_.eventually([&] { return seen_.inside == 1; }));
  std::thread stopper([&] { worker_->graceful_stop(0s); });
  seen_.open_gate();
  stopper.join();
  EXPECT_EQ(find(id).state, TaskState::completed);
}

}  // namespace
}  // namespace millrace::worker
