// The worker with its threads, over a broker and a store that run.
#include "worker/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "broker/wait_for_answer.h"
#include "tests/support/broker_driver.h"
#include "tests/support/forwarding_broker.h"
#include "tests/support/matchers.h"
#include "worker/run.h"

namespace millrace::worker {
namespace {

using namespace millrace::test;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;

// What handlers and hooks have done, for tests to wait for.
class Seen {
 public:
  template <class Change>
  auto note(Change change) {
    const std::scoped_lock lock(mutex_);
    changed_.notify_all();
    return change();
  }
  template <class Condition>
  bool eventually(Condition condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 30s, condition);
  }
  // Handlers wait here until the test lets them go.
  void wait_for_gate() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open; });
  }
  void open_gate() {
    note([&] { open = true; });
  }

  template <class Condition>
  bool eventually_for(Duration limit, Condition condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, condition);
  }

  bool open = false;
  int runs = 0;
  int inside = 0;  // handlers that run
  int most_inside = 0;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

// The way to the broker, which can be closed; and who gives instructions.
class Doorway final : public ForwardingBroker {
 public:
  Doorway(Broker& next, Seen& seen) : ForwardingBroker(next), seen_(seen) {}

  void work(Ask ask, WorkOrder order, Completion<WorkResult> done) override {
    if (closed) {
      seen_.note([&] { ++refused; });
      return done(fail(ErrorCode::unavailable, "the door is closed"));
    }
    ForwardingBroker::work(ask, std::move(order), std::move(done));
  }
  void beat(Ask, WorkerReport report, Completion<Instructions> done) override {
    Instructions told;
    seen_.note([&] {
      told = instructions;
      ++beats;
      if (report.stopping) ++last_beats;
      last_report = std::move(report);
    });
    if (closed) return done(fail(ErrorCode::unavailable, "the door is closed"));
    done(told);
  }

  std::atomic<bool> closed = false;
  int refused = 0;  // these five: under the lock of Seen
  int beats = 0;
  int last_beats = 0;  // since the worker stops
  Instructions instructions;
  WorkerReport last_report;

 private:
  Seen& seen_;
};

class WorkerTest : public ::testing::Test {
 protected:
  SystemClock clock_;
  std::unique_ptr<Store> store_ = open_memory();
  LogLines logged_;
  LocalBroker broker_{clock_, *store_};
  Seen seen_;
  Doorway door_{broker_, seen_};
  std::vector<QueueHandlers> queues_;
  WorkerOptions options_{.name = "$local-test", .internal = true, .log = logged_.log()};
  std::unique_ptr<Worker> worker_;

  // Handlers may have been given up and still run: they must not outlive what they use.
  void TearDown() override {
    seen_.open_gate();
    worker_.reset();
    EXPECT_TRUE(seen_.eventually([&] { return seen_.inside == 0; }));
  }

  QueueHandlers& handle(std::string queue, std::function<void(Context&)> handler) {
    queues_.push_back({.queue = std::move(queue)});
    queues_.back().any = [this, handler = std::move(handler)](std::span<Context* const> tasks) {
      seen_.note([&] {
        ++seen_.inside;
        seen_.most_inside = std::max(seen_.most_inside, seen_.inside);
      });
      const Leaving leaving{seen_};
      for (Context* each : tasks) handler(*each);
      seen_.note([&] { seen_.runs += static_cast<int>(tasks.size()); });
    };
    return queues_.back();
  }
  Worker& start() {
    worker_ = std::make_unique<Worker>(clock_, door_, options_, queues_);
    worker_->start();
    return *worker_;
  }
  Moment steady() { return clock_.steady(); }

  Ask ask() { return {.caller = {1}, .internal = true}; }
  std::vector<TaskId> put(const std::string& queue, std::size_t count, NewTask fields = {}) {
    std::vector<TaskId> ids;
    for (std::size_t done = 0; done < count;) {
      std::vector<NewTask> tasks;
      for (; tasks.size() < 1000 && done < count; ++done) {
        tasks.push_back(task(queue, fields));
        ids.push_back(tasks.back().id);
      }
      const auto puts = wait_for_answer<std::vector<Result<Put>>>(
          [&](auto answer) { broker_.put(ask(), std::move(tasks), std::move(answer)); });
      EXPECT_THAT(puts, IsOk());
    }
    return ids;
  }
  Task find(TaskId id) {
    return must(
        wait_for_answer<Task>([&](auto done) { broker_.find(ask(), id, std::move(done)); }));
  }
  TaskState end_of(TaskId id) {
    return must(wait_for_answer<Task>(
                    [&](auto done) { broker_.await(ask(), id, 30s, std::move(done)); }))
        .state;
  }
  void make_queue(QueueSettings settings) {
    must(wait_for_answer<Queue>([&](auto done) {
      broker_.put_queue(ask(), std::move(settings), PutQueue::replace, std::move(done));
    }));
  }
  QueueCounts counts(const std::string& queue) {
    return must(wait_for_answer<std::vector<QueueView>>(
                    [&](auto done) { broker_.queues(ask(), queue, std::move(done)); }))
        .front()
        .counts;
  }
  // Until what the worker says of itself is so.
  template <class Condition>
  bool shows(Condition condition) {
    const Moment end = steady() + 30s;
    while (!condition(worker_->figures().front())) {
      if (steady() > end) return false;
      seen_.eventually_for(2ms, [] { return false; });
    }
    return true;
  }

 private:
  struct Leaving {
    Seen& seen;
    ~Leaving() {
      seen.note([&] { --seen.inside; });
    }
  };
};

// S1-051, S1-063, S1-085…087, S2-018
TEST_F(WorkerTest, runs_what_is_put) {
  handle("q", [](Context&) {}).concurrency = 2;
  Worker& worker = start();
  EXPECT_EQ(worker.running_processors(), 2U);
  const auto ids = put("q", 5000);
  for (const TaskId& id : ids) ASSERT_EQ(end_of(id), TaskState::completed);
  EXPECT_EQ(worker.graceful_stop(10s).running, 0U);
  EXPECT_EQ(seen_.runs, 5000);
  EXPECT_LE(seen_.most_inside, 2);
  EXPECT_EQ(worker.figures().front().completed, 5000U);
  EXPECT_EQ(worker.figures().front().stats.processed, 5000U);
  EXPECT_EQ(worker.cycles("q").count, 5000U);
  EXPECT_EQ(worker.running_processors(), 0U);
  EXPECT_THAT(logged_.lines(), Contains(HasSubstr("worker $local-test started: 2 processors")));
  EXPECT_THAT(logged_.lines(), Contains("Shutting down workers..."));
  EXPECT_THAT(logged_.lines(), Contains("Workers stopped"));
}

// C-15, S1-079
TEST_F(WorkerTest, runs_as_many_at_once_as_it_may) {
  handle("q", [&](Context&) { seen_.wait_for_gate(); }).concurrency = 3;
  start();
  const auto ids = put("q", 10);
  ASSERT_TRUE(seen_.eventually([&] { return seen_.inside == 3; }));
  EXPECT_EQ(worker_->figures().front().running, 3U);
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
TEST_F(WorkerTest, a_slow_task_among_fast_ones_holds_up_nobody) {
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
  start();
  for (const TaskId& id : put("q", 20)) EXPECT_EQ(end_of(id), TaskState::completed);
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
  for (const RunFigures& each : worker_->figures()) stored += each.completed;
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
  EXPECT_LE(steady() - before, 900ms) << "with the next heartbeat";
}

// S2-021, C-12
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
  EXPECT_EQ(worker_->figures().front().abandoned, 0U);
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
  EXPECT_EQ(worker_->figures().front().abandoned, 1U);
  EXPECT_EQ(worker_->running_processors(), 2U);
  for (const TaskId& id : put("q", 100)) EXPECT_EQ(end_of(id), TaskState::completed);
  // A second one that hangs is one too many; it ends when one comes back.
  EXPECT_EQ(end_of(put("q", 1,
                       {.payload = "hang", .timeout = 50ms, .retry = RetryRules{.max_retries = 0}})
                       .front()),
            TaskState::dead);
  EXPECT_TRUE(shows([](const RunFigures& now) { return now.abandoned == 2; }));
  const TaskId later = put("q", 1).front();
  EXPECT_THAT(logged_.lines(), Contains(HasSubstr("2 handlers do not come back")));
  seen_.open_gate();
  EXPECT_EQ(end_of(later), TaskState::completed);
  EXPECT_TRUE(shows([](const RunFigures& now) { return now.abandoned == 0; }));
  EXPECT_EQ(worker_->graceful_stop(10s).running, 0U);
}

// ---- Stopping
// ------------------------------------------------------------------------------------

// S1-060, S1-064, S1-088, S2-027, S3-064, S3-066
TEST_F(WorkerTest, a_stop_waits_for_what_runs) {
  QueueHandlers& how = handle("q", [&](Context&) { seen_.wait_for_gate(); });
  how.concurrency = 2;
  how.prefetch = 8;
  start();
  const auto ids = put("q", 10);
  ASSERT_TRUE(seen_.eventually([&] { return seen_.inside == 2; }));
  ASSERT_TRUE(shows([](const RunFigures& now) { return now.running == 2 && now.waiting == 8; }));
  worker_->shutdown();
  worker_->shutdown();
  ASSERT_TRUE(shows([](const RunFigures& now) { return now.waiting == 0; }));
  EXPECT_EQ(worker_->figures().front().running, 2U);
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
      shows([](const RunFigures& now) { return now.running == 200 && now.waiting == 800; }));
  const Moment before = steady();
  const Stopped stopped = worker_->graceful_stop(2s);
  EXPECT_LE(steady() - before, 2500ms);
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
    EXPECT_EQ(counts("q").taken(), 0U);
  }
}

TEST_F(WorkerTest, what_comes_while_a_hook_outlasts_the_stop_is_given_back) {
  options_.idle = 30s;
  std::atomic<bool> in_hook = false;
  handle("q", [](Context&) {}).on_completed = [&](const TaskEvent&) {
    in_hook = true;
    // One beat when it begins to stop, and one from the keeper when nobody waits any more.
    EXPECT_TRUE(seen_.eventually([&] { return door_.last_beats >= 2; }));
  };
  start();
  put("q", 1);
  ASSERT_TRUE(shows([&](const RunFigures&) { return in_hook.load(); }));
  const TaskId id = put("q", 1).front();
  ASSERT_TRUE(shows([&](const RunFigures&) { return find(id).state == TaskState::processing; }));
  worker_->shutdown();
  ASSERT_TRUE(seen_.eventually([&] { return door_.last_beats >= 1; }));
  worker_->graceful_stop(100ms);
  EXPECT_TRUE(shows([&](const RunFigures&) { return find(id).state == TaskState::queued; }));
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

// ---- The broker
// ----------------------------------------------------------------------------------

// S2-046, S2-047, S0-119
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
  EXPECT_TRUE(shows([](const RunFigures& now) { return now.completed == 5; }));
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
    return !door_.last_report.queues.empty() && door_.last_report.queues[0].processed == 1;
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
