// The worker with its threads, over a broker and a store that run.
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
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;

// S1-086, S0-120, S0-117, S0-180, S1-005, S1-051, S1-063, S2-018
TEST_F(WorkerTest, runs_what_is_put) {
  handle("q", [](Context&) {}).concurrency = 2;
  Worker& worker = start();
  EXPECT_EQ(worker.running_processors(), 2U);
  const auto ids = put("q", 5000);
  for (const TaskId& id : ids) ASSERT_EQ(end_of(id), TaskState::completed);
  EXPECT_EQ(worker.graceful_stop(10s).running, 0U);
  EXPECT_EQ(seen_.runs, 5000);
  EXPECT_LE(seen_.most_inside, 2);
  EXPECT_EQ(worker.metrics().front().completed, 5000U);
  EXPECT_EQ(worker.metrics().front().stats.processed, 5000U);
  EXPECT_EQ(worker.cycles("q").count, 5000U);
  EXPECT_EQ(worker.running_processors(), 0U);
  EXPECT_THAT(logged_.lines(), Contains(HasSubstr("worker $local-test started: 2 processors")));
  EXPECT_THAT(logged_.lines(), Contains("task " + to_text(ids.back().value) + " started"));
  EXPECT_THAT(logged_.lines(), Contains("Shutting down workers..."));
  EXPECT_THAT(logged_.lines(), Contains("Workers stopped"));
}

// C-15, S1-079
TEST_F(WorkerTest, runs_as_many_at_once_as_it_may) {
  handle("q", [&](Context&) { seen_.wait_for_gate(); }).concurrency = 3;
  start();
  const auto ids = put("q", 10);
  ASSERT_TRUE(seen_.eventually([&] { return seen_.inside == 3; }));
  EXPECT_EQ(worker_->metrics().front().running, 3U);
  EXPECT_EQ(counts("q").taken(), 3U) << "slow tasks are not taken ahead";
  seen_.open_gate();
  for (const TaskId& id : ids) EXPECT_EQ(end_of(id), TaskState::completed);
  EXPECT_EQ(seen_.most_inside, 3);
}

// C-27: a put wakes the worker, however long it would wait.
TEST_F(WorkerTest, an_idle_worker_is_woken_by_a_put) {
  options_.idle = 1h;
  handle("a", [](Context&) {});
  handle("b", [](Context&) {});
  start();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(end_of(put("a", 1).front()), TaskState::completed);
    EXPECT_EQ(end_of(put("b", 1).front()), TaskState::completed);
    EXPECT_EQ(end_of(put("a", 1).front()), TaskState::completed);
  }
}

TEST_F(WorkerTest, settlements_do_not_wait_for_a_poll_nor_for_other_tasks) {
  options_.idle = 1h;
  handle("slow", [&](Context& task) {
    if (task.task().payload == "2") seen_.wait_for_gate();
  });
  handle("empty", [](Context&) {});
  start();
  EXPECT_EQ(end_of(put("slow", 1).front()), TaskState::completed);
  const TaskId second = put("slow", 1, {.payload = "2"}).front();
  ASSERT_TRUE(seen_.eventually([&] { return seen_.inside == 1; }));
  seen_.open_gate();
  EXPECT_EQ(end_of(second), TaskState::completed);
}

// Tasks so short that many are handed out at once, and one among them that is not.
TEST_F(WorkerTest, a_slow_task_among_fast_ones_does_not_hold_them_up) {
  handle("q", [&](Context& task) {
    if (task.task().payload == "slow") seen_.wait_for_gate();
  }).concurrency = 2;
  start();
  for (const TaskId& id : put("q", 2000)) ASSERT_EQ(end_of(id), TaskState::completed);
  auto ids = put("q", 200);
  const TaskId slow = put("q", 1, {.payload = "slow"}).front();
  for (const TaskId& id : put("q", 2000)) ids.push_back(id);
  for (const TaskId& id : ids) ASSERT_EQ(end_of(id), TaskState::completed);
  EXPECT_EQ(find(slow).state, TaskState::processing);
}

TEST_F(WorkerTest, an_end_that_is_settled_is_stored_although_the_handler_goes_on) {
  handle("q", [&](Context& task) {
    must(task.settle(Done{"early"}));
    seen_.wait_for_gate();
  });
  start();
  const TaskId id = put("q", 1).front();
  EXPECT_EQ(end_of(id), TaskState::completed);
  EXPECT_EQ(find(id).result, "early");
  EXPECT_EQ(seen_.runs, 0);
}

// C-13
TEST_F(WorkerTest, a_manual_handler_is_told_what_is_stored) {
  handle("q", [&](Context& task) {
    EXPECT_EQ(must(task.settle(Done{"7"})), TaskState::completed);
    EXPECT_EQ(find(task.id()).result, "7");
  }).acknowledge = Acknowledge::manual;
  options_.beat = 1h;
  start();
  const Moment before = steady();
  for (const TaskId& id : put("q", 20)) EXPECT_EQ(end_of(id), TaskState::completed);
  EXPECT_LE(steady() - before, 10s) << "a free processor is noticed although nothing is to be sent";
}

TEST_F(WorkerTest, what_happens_by_chance_ends_as_it_should) {
  std::atomic<int> hooked = 0;
  const auto work = [&](Context& task) {
    const auto what = task.task().number.value % 7;
    if (what == 1) throw std::runtime_error("once more");
    if (what == 2) throw TaskFailure({.message = "never"}, false);
    if (what == 3 && task.attempt() == 1) must(task.settle(Snooze{task.now()}));
    if (what == 4) task.log("here");
    if (what == 5) must(task.put({.queue = "c"}));
  };
  for (const char* name : {"a", "b", "c"}) {
    QueueHandlers& how = handle(name, work);
    how.concurrency = 2;
    how.batch_size = name[0] == 'b' ? 5 : 1;
    how.on_completed = [&](const TaskEvent&) { ++hooked; };
    make_queue(queue(name, {.retry = {.base = 1ms, .jitter = Jitter::none, .max_retries = 1}}));
  }
  options_.processors = 4;
  options_.order = QueueOrder::weighted;
  start();
  std::vector<TaskId> ids = put("a", 2000);
  for (const TaskId& id : put("b", 2000)) ids.push_back(id);
  int completed = 0;
  for (const TaskId& id : ids) {
    const TaskState state = end_of(id);
    completed += state == TaskState::completed ? 1 : 0;
    EXPECT_THAT(state, AnyOf(TaskState::completed, TaskState::failed, TaskState::dead));
  }
  worker_->graceful_stop(10s);
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(counts(name).taken(), 0U) << name;
  EXPECT_GE(completed, 1000);
  std::uint64_t stored = 0;
  for (const RunMetrics& each : worker_->metrics()) stored += each.completed;
  EXPECT_EQ(static_cast<std::uint64_t>(hooked.load()), stored);
}

// ---- Time
// ----------------------------------------------------------------------------------------

TEST_F(WorkerTest, a_lease_is_extended_and_progress_is_seen_while_a_handler_runs) {
  make_queue(queue("q", {.lease = 1s}));
  handle("q", [&](Context& task) {
    task.progress(50);
    task.log("half of it");
    const auto first = task.task().until;
    for (int i = 0; i < 600; ++i) {
      const Task now = find(task.id());
      if (*now.lease_until > first && now.progress == 50 && now.log.size() == 1) {
        return seen_.note([&] { seen_.open = true; });
      }
      EXPECT_TRUE(task.wait_for(50ms));
    }
  });
  start();
  EXPECT_EQ(end_of(put("q", 1).front()), TaskState::completed);
  EXPECT_TRUE(seen_.open);
}

TEST_F(WorkerTest, a_cancel_reaches_the_handler) {
  make_queue(queue("q", {.lease = 1s}));
  handle("q", [&](Context& task) {
    bool called = false;
    const std::stop_callback callback(task.stop_token(),
                                      [&] { seen_.note([&] { called = true; }); });
    EXPECT_FALSE(task.wait_for(30s));
    EXPECT_EQ(task.stop_reason(), StopReason::cancelled);
    EXPECT_TRUE(seen_.eventually([&] { return called; }));
    throw std::runtime_error("stopped");
  });
  start();
  const TaskId id = put("q", 1).front();
  ASSERT_TRUE(seen_.eventually([&] { return seen_.inside == 1; }));
  must(wait_for_answer<Broker::States>(
      [&](auto done) { broker_.cancel(ask(), {id}, "enough", std::move(done)); }));
  const Moment before = steady();
  EXPECT_EQ(end_of(id), TaskState::cancelled);
  EXPECT_LE(steady() - before, 10s) << "with a heartbeat, long before the handler would end";
}

// S2-062, S2-021, C-12
TEST_F(WorkerTest, a_handler_that_heeds_its_timeout_keeps_its_thread) {
  handle("q", [&](Context& task) {
    EXPECT_FALSE(task.wait_for(30s));
    EXPECT_EQ(task.stop_reason(), StopReason::timed_out);
    throw std::runtime_error("too slow");
  });
  start();
  const TaskId id = put("q", 1, {.timeout = 50ms, .retry = RetryRules{.max_retries = 0}}).front();
  EXPECT_EQ(end_of(id), TaskState::dead);
  EXPECT_EQ(find(id).error->code, "timeout");
  EXPECT_EQ(worker_->metrics().front().abandoned, 0U);
}

TEST_F(WorkerTest, one_that_ignores_it_is_given_up_and_its_place_taken) {
  QueueHandlers& how = handle("q", [&](Context& task) {
    if (task.task().payload != "hang") return;
    seen_.wait_for_gate();
    EXPECT_THAT(task.settle(Done{"too late"}), FailsWith(ErrorCode::conflict));
    EXPECT_GT(task.now(), TimePoint{});
    EXPECT_FALSE(task.wait_for(1h));
  });
  how.concurrency = 2;
  how.grace = 20ms;
  start();
  const TaskId hanging =
      put("q", 1, {.payload = "hang", .timeout = 50ms, .retry = RetryRules{.max_retries = 0}})
          .front();
  EXPECT_EQ(end_of(hanging), TaskState::dead);
  EXPECT_EQ(find(hanging).error->message, "timed out after 0.05 s");
  EXPECT_EQ(worker_->metrics().front().abandoned, 1U);
  EXPECT_EQ(worker_->running_processors(), 2U);
  for (const TaskId& id : put("q", 100)) EXPECT_EQ(end_of(id), TaskState::completed);
  // A second one that hangs is one too many; it ends when one comes back.
  EXPECT_EQ(end_of(put("q", 1,
                       {.payload = "hang", .timeout = 50ms, .retry = RetryRules{.max_retries = 0}})
                       .front()),
            TaskState::dead);
  EXPECT_TRUE(shows([](const RunMetrics& now) { return now.abandoned == 2; }));
  const TaskId later = put("q", 1).front();
  EXPECT_THAT(logged_.lines(), Contains(HasSubstr("2 handlers do not return")));
  seen_.open_gate();
  EXPECT_EQ(end_of(later), TaskState::completed);
  EXPECT_TRUE(shows([](const RunMetrics& now) { return now.abandoned == 0; }));
  EXPECT_EQ(worker_->graceful_stop(10s).running, 0U);
}

// ---- The broker
// ----------------------------------------------------------------------------------

// S2-046, S2-047
TEST_F(WorkerTest, what_ended_while_the_broker_was_away_is_settled_when_it_is_back) {
  options_.error_pause = 5ms;
  options_.longest_pause = 20ms;
  options_.beat = 20ms;
  handle("q", [&](Context&) { seen_.wait_for_gate(); }).concurrency = 5;
  start();
  const auto ids = put("q", 5);
  ASSERT_TRUE(seen_.eventually([&] { return seen_.inside == 5; }));
  door_.closed = true;
  seen_.open_gate();
  ASSERT_TRUE(seen_.eventually([&] { return door_.refused >= 5; }));
  EXPECT_EQ(counts("q").taken(), 5U);
  door_.closed = false;
  for (const TaskId& id : ids) EXPECT_EQ(end_of(id), TaskState::completed);
  EXPECT_TRUE(shows([](const RunMetrics& now) { return now.completed == 5; }));
  EXPECT_EQ(seen_.runs, 5);
  const auto lines = logged_.lines();
  EXPECT_EQ(std::ranges::count(lines, "Error in worker loop: the door is closed"), 1);
  EXPECT_EQ(std::ranges::count(lines, "the broker answers again"), 1);
}

TEST_F(WorkerTest, a_broker_that_does_not_come_back_does_not_keep_it_from_stopping) {
  handle("q", [&](Context& task) {
    const auto settled = task.settle(Done{});
    EXPECT_THAT(settled, FailsWith(ErrorCode::unavailable));
  }).acknowledge = Acknowledge::manual;
  start();
  ASSERT_TRUE(seen_.eventually([&] { return door_.beats > 0; }));
  door_.closed = true;
  const Moment before = steady();
  worker_->graceful_stop(500ms);
  EXPECT_LE(steady() - before, 5s);
}

// S1-054, S1-055, S1-084
TEST_F(WorkerTest, beats_report_and_bring_instructions) {
  options_.beat = 10ms;
  handle("a", [](Context&) {}).concurrency = 2;
  handle("b", [](Context&) {}).concurrency = 2;
  start();
  EXPECT_EQ(end_of(put("a", 1).front()), TaskState::completed);
  ASSERT_TRUE(seen_.eventually([&] {
    return !door_.last_report.queues.empty() && door_.last_report.queues[0].handled == 1;
  }));
  EXPECT_EQ(door_.last_report.worker, "$local-test");
  EXPECT_EQ(door_.last_report.processors, 4U);
  seen_.note([&] { door_.instructions.assignments = {{"a", 0}, {"b", 1}}; });
  ASSERT_TRUE(seen_.eventually([&] {
    return door_.last_report.queues[0].processors == 0 &&
           door_.last_report.queues[1].processors == 1;
  }));
  const TaskId left = put("a", 1).front();
  EXPECT_EQ(end_of(put("b", 1).front()), TaskState::completed);
  EXPECT_EQ(find(left).state, TaskState::queued);
  // A manager that says nothing changes nothing.
  const int before = seen_.note([&] {
    door_.instructions.assignments.reset();
    return door_.beats;
  });
  ASSERT_TRUE(seen_.eventually([&] { return door_.beats > before + 3; }));
  EXPECT_EQ(find(left).state, TaskState::queued);
  seen_.note([&] { door_.instructions.assignments = {{"a", 2}}; });
  EXPECT_EQ(end_of(left), TaskState::completed);
  worker_->graceful_stop(10s);
  EXPECT_TRUE(door_.last_report.stopping);
}

}  // namespace
}  // namespace millrace::worker
