// The worker on the caller's thread, in virtual time: what becomes of tasks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/broker_driver.h"
#include "tests/support/forwarding_broker.h"
#include "tests/support/matchers.h"
#include "worker/worker.h"

namespace millrace::worker {
namespace {

using namespace millrace::test;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class StepTest : public ::testing::Test {
 protected:
  BrokerDriver d_;
  LogLines logged_;
  std::vector<QueueHandlers> queues_;
  WorkerOptions options_{.name = "$local-test", .internal = true, .log = logged_.log()};
  std::unique_ptr<Worker> worker_;

  StepTest() {
    options_.pass_time = [this](Duration by) { d_.clock.advance(by); };
  }

  // One task at a time, by its context.
  QueueHandlers& handle(std::string queue, std::function<void(Context&)> handler) {
    queues_.push_back({.queue = std::move(queue), .any = single(std::move(handler))});
    return queues_.back();
  }
  static HandlerFunction single(std::function<void(Context&)> handler) {
    return [handler = std::move(handler)](std::span<Context* const> tasks) {
      for (Context* each : tasks) handler(*each);
    };
  }
  Worker& worker() {
    if (!worker_) worker_ = std::make_unique<Worker>(d_.clock, *d_.broker, options_, queues_);
    return *worker_;
  }
  std::size_t step() { return must(worker().step()); }
  // Until nothing is ready.
  std::size_t steps() {
    std::size_t sum = 0;
    for (std::size_t runs = step(); runs != 0; runs = step()) sum += runs;
    return sum;
  }
  RunMetrics metrics() { return worker().metrics().front(); }
  TaskId put(const std::string& queue, NewTask fields = {}) {
    return d_.put(task(queue, std::move(fields))).id;
  }
};

// S0-023, S2-019, S2-022
TEST_F(StepTest, a_return_is_done) {
  std::string payload;
  handle("q", [&](Context& task) {
    payload = task.task().payload;
    EXPECT_EQ(d_.find(task.id()).state, TaskState::processing);
  });
  const TaskId id = put("q", {.payload = "7"});
  EXPECT_EQ(d_.find(id).state, TaskState::queued);
  EXPECT_EQ(step(), 1U);
  EXPECT_EQ(payload, "7");
  EXPECT_EQ(d_.find(id).state, TaskState::completed);
  EXPECT_EQ(step(), 0U);
}

// S0-021
TEST_F(StepTest, a_result_is_stored) {
  handle("q", [&](Context& task) {
    EXPECT_FALSE(task.settled());
    EXPECT_THAT(task.settle(Done{"42"}), IsOk());
    EXPECT_TRUE(task.settled());
    EXPECT_THAT(task.settle(Done{"43"}), FailsWith(ErrorCode::conflict));
  });
  const TaskId id = put("q");
  step();
  EXPECT_EQ(d_.find(id).result, "42");
}

// S0-004, S0-021, S0-022, S1-070, S2-023, S3-042, D-08
TEST_F(StepTest, an_exception_is_a_failure_and_the_next_task_runs) {
  handle("q", [&](Context& task) {
    if (task.task().payload == "1") throw std::runtime_error("broken");
    if (task.task().payload == "2") throw 7;
  });
  const TaskId first = put("q", {.payload = "1"});
  const TaskId second = put("q", {.payload = "2"});
  const TaskId third = put("q", {.payload = "3"});
  EXPECT_EQ(steps(), 3U);
  EXPECT_EQ(d_.find(first).state, TaskState::retrying);
  EXPECT_EQ(d_.find(first).error->message, "broken");
  EXPECT_EQ(d_.find(first).error->code, "task_processing_error");
  EXPECT_EQ(d_.find(second).error->message, "unknown exception");
  EXPECT_EQ(d_.find(third).state, TaskState::completed);
}

TEST_F(StepTest, a_task_failure_says_more) {
  handle("q", [&](Context&) {
    throw TaskFailure({.code = "no_such_user", .message = "user 7 is gone"}, false);
  });
  const TaskId id = put("q");
  step();
  EXPECT_EQ(d_.find(id).state, TaskState::failed);
  EXPECT_EQ(d_.find(id).error->code, "no_such_user");
}

// S2-024
TEST_F(StepTest, retries_end_in_dead) {
  handle("q", [&](Context&) { throw std::runtime_error("again"); });
  const TaskId id = put("q", {.retry = RetryRules{.base = 1s, .max_retries = 2}});
  for (int i = 0; i < 3; ++i) {
    steps();
    d_.live(10s);
  }
  EXPECT_EQ(d_.find(id).state, TaskState::dead);
  EXPECT_EQ(metrics().stats.errors, 3U);
  EXPECT_EQ(metrics().stats.retried, 2U);
  EXPECT_EQ(metrics().failed, 1U);
}

// S0-123
TEST_F(StepTest, types_have_their_own_handlers) {
  std::string ran;
  queues_.push_back({.queue = "q"});
  queues_.back().by_type["a"] = single([&](Context&) { ran += "a"; });
  queues_.back().by_type["b"] = single([&](Context&) { ran += "b"; });
  put("q", {.type = "a"});
  put("q", {.type = "b"});
  const TaskId other = put("q", {.type = "c"});
  steps();
  EXPECT_EQ(ran, "ab");
  const Task failed = d_.find(other);
  EXPECT_EQ(failed.state, TaskState::failed);
  EXPECT_EQ(failed.error->code, "unsupported_task_type");
  EXPECT_EQ(failed.error->message, "Unsupported task type: c");
}

// S2-062, S2-021, C-12
TEST_F(StepTest, a_handler_that_waits_too_long_is_told_so) {
  handle("q", [&](Context& task) {
    EXPECT_EQ(task.deadline(), t0 + 30s);
    EXPECT_TRUE(task.wait_for(10s));
    EXPECT_EQ(task.now(), t0 + 10s);
    EXPECT_FALSE(task.wait_for(1min));
    EXPECT_EQ(task.now(), t0 + 30s);
    EXPECT_EQ(task.stop_reason(), StopReason::timed_out);
    EXPECT_TRUE(task.stop_token().stop_requested());
    throw std::runtime_error("given up");
  });
  const TaskId id = put("q", {.timeout = 30s});
  step();
  const Task after = d_.find(id);
  EXPECT_EQ(after.state, TaskState::retrying);
  EXPECT_EQ(after.error->code, "timeout");
  EXPECT_EQ(after.error->message, "timed out after 30 s");
  EXPECT_EQ(after.error->details, "given up");
  EXPECT_EQ(metrics().timed_out, 1U);
}

TEST_F(StepTest, done_is_taken_at_its_word_although_it_is_late) {
  handle("q", [&](Context& task) { EXPECT_FALSE(task.wait_for(1min)); }).timeout = 1s;
  const TaskId id = put("q");
  step();
  EXPECT_EQ(d_.find(id).state, TaskState::completed);
}

TEST_F(StepTest, anything_else_that_is_late_is_a_timeout) {
  handle("q", [&](Context& task) {
    EXPECT_THAT(task.put({.id = fresh_id(), .queue = std::string("next")}), IsOk());
    EXPECT_FALSE(task.wait_for(Duration::max()));
    EXPECT_THAT(task.settle(Snooze{task.now() + 1h}), IsOk());
  });
  d_.put_queue(queue("next"));
  const TaskId id = put("q", {.timeout = 1500ms});
  step();
  EXPECT_EQ(d_.find(id).error->message, "timed out after 1.5 s");
  EXPECT_THAT(d_.take("next"), IsEmpty()) << "nothing follows a timeout";
}

// S2-048: a handler that takes long keeps its lease.
TEST_F(StepTest, heartbeats_go_on_while_a_handler_waits) {
  d_.put_queue(queue("q", {.lease = 6s}));
  handle("q", [&](Context& task) {
    EXPECT_TRUE(task.wait_for(5min));
    d_.broker->run_services();
  });
  const TaskId id = put("q");
  step();
  EXPECT_EQ(d_.find(id).state, TaskState::completed);
  EXPECT_EQ(d_.find(id).counters.lost, 0U);
}

TEST_F(StepTest, without_virtual_time_a_handler_waits_in_real_time) {
  SystemClock clock;
  options_.pass_time = {};
  handle("q", [&](Context& task) {
    const auto before = clock.steady();
    EXPECT_TRUE(task.wait_for(20ms));
    EXPECT_GE(clock.steady() - before, 20ms);
    EXPECT_FALSE(task.wait_for(1h)) << "its time is up before that";
    EXPECT_EQ(task.stop_reason(), StopReason::timed_out);
  });
  const TaskId id = put("q", {.timeout = 1s});
  Worker worker(clock, *d_.broker, options_, queues_);
  EXPECT_EQ(must(worker.step()), 1U);
  EXPECT_EQ(d_.find(id).state, TaskState::completed);
}

TEST_F(StepTest, a_cancel_reaches_a_handler_that_waits) {
  TaskId id;
  handle("q", [&](Context& task) {
    EXPECT_THAT(d_.try_cancel(id), IsOk());
    EXPECT_FALSE(task.wait_for(5min));
    EXPECT_EQ(task.stop_reason(), StopReason::cancelled);
    EXPECT_LE(task.now(), t0 + 20s);
    throw std::runtime_error("cancelled");
  });
  id = put("q");
  step();
  EXPECT_EQ(d_.find(id).state, TaskState::cancelled);
}

TEST_F(StepTest, progress_and_log_lines_are_stored_with_a_short_run_too) {
  handle("q", [&](Context& task) {
    task.progress(40);
    task.progress(250);
    task.log("one");
    task.log("two \xff");
  });
  const TaskId id = put("q");
  step();
  const Task after = d_.find(id);
  EXPECT_EQ(after.state, TaskState::completed);
  EXPECT_EQ(after.progress, 100);
  ASSERT_THAT(after.log, SizeIs(2));
  EXPECT_EQ(after.log[0].text, "one");
  EXPECT_EQ(after.log[1].text, "two ?");
}

TEST_F(StepTest, of_many_long_log_lines_the_newest_stay_and_are_cut) {
  handle("q", [&](Context& task) {
    for (int i = 0; i < 150; ++i) task.log(std::to_string(i) + std::string(5000, 'x'));
  });
  const TaskId id = put("q");
  step();
  const Task after = d_.find(id);
  ASSERT_THAT(after.log, SizeIs(100));
  EXPECT_THAT(after.log.back().text, ::testing::StartsWith("149x"));
  EXPECT_THAT(after.log.back().text, SizeIs(2048));
}

// S1-069
TEST_F(StepTest, follow_ups_are_put_with_the_end) {
  handle("q", [&](Context& task) {
    EXPECT_THAT(task.put({.queue = "next", .payload = "1"}), IsOk());
    EXPECT_THAT(task.put({.queue = "bad name"}), FailsWith(ErrorCode::invalid));
  });
  put("q");
  step();
  EXPECT_THAT(d_.all("next"), SizeIs(1));
}

TEST_F(StepTest, what_should_follow_a_failure_does_not) {
  handle("q", [&](Context& task) {
    EXPECT_THAT(task.put({.queue = "next"}), IsOk());
    throw std::runtime_error("no");
  });
  put("q");
  put("next");
  step();
  EXPECT_THAT(d_.all("next"), SizeIs(1));
}

TEST_F(StepTest, more_follow_ups_than_a_settlement_holds_are_refused) {
  handle("q", [&](Context& task) {
    for (int i = 0; i < 30; ++i) EXPECT_THAT(task.put({.queue = "next"}), IsOk());
    EXPECT_THAT(task.put({.queue = "next"}), FailsWith(ErrorCode::invalid));
  });
  const TaskId id = put("q", {.callback = Callback{.url = "http://example.com/"}});
  step();
  EXPECT_EQ(d_.find(id).state, TaskState::completed);
  EXPECT_THAT(d_.all("next"), SizeIs(30));
}

// S1-073
TEST_F(StepTest, an_end_that_cannot_be_stored_is_a_failure) {
  handle("q", [&](Context& task) {
    EXPECT_THAT(task.settle(Done{std::string((1 << 20) + 1, 'x')}), IsOk());
  });
  const TaskId id = put("q");
  step();
  const Task after = d_.find(id);
  EXPECT_EQ(after.state, TaskState::failed) << "it would be as large in every run";
  EXPECT_EQ(after.error->code, "settlement_refused");
  EXPECT_THAT(after.error->message, ::testing::StartsWith("done task: "));
  EXPECT_EQ(metrics().refused, 1U);
  EXPECT_EQ(metrics().stats.processed, 0U);
  EXPECT_EQ(metrics().handled, 1U);
  EXPECT_THAT(metrics().stats.last_error, ::testing::StartsWith("done task: "));
}

// S1-073
TEST_F(StepTest, a_retry_that_cannot_be_stored_says_so) {
  handle("q", [&](Context& task) {
    EXPECT_THAT(task.put({.queue = QueueNumber{99}}), IsOk());  // there is none
    EXPECT_THAT(task.settle(RetryAt{t0 + 30s, {.message = "later"}}), IsOk());
  });
  const TaskId id = put("q");
  step();
  EXPECT_EQ(d_.find(id).error->code, "settlement_refused");
  EXPECT_THAT(d_.find(id).error->message, ::testing::StartsWith("retry task: "));
  EXPECT_THAT(metrics().stats.last_error, ::testing::StartsWith("retry task: "));
}

// C-13
TEST_F(StepTest, with_manual_acknowledgement_the_handler_is_told_what_is_stored) {
  auto& how = handle("q", [&](Context& task) {
    EXPECT_THAT(task.settle(Done{std::string((1 << 20) + 1, 'x')}),
                FailsWith(ErrorCode::too_large));
    EXPECT_FALSE(task.settled());
    EXPECT_EQ(must(task.settle(Done{"small"})), TaskState::completed);
    EXPECT_EQ(d_.find(task.id()).state, TaskState::completed);
  });
  how.acknowledge = Acknowledge::manual;
  put("q");
  EXPECT_EQ(step(), 1U);
  EXPECT_EQ(metrics().left, 0U);
}

// C-13
TEST_F(StepTest, what_a_manual_handler_leaves_keeps_its_lease_until_that_ends) {
  int runs = 0;
  handle("q", [&](Context&) { ++runs; }).acknowledge = Acknowledge::manual;
  const TaskId id = put("q");
  step();
  EXPECT_EQ(d_.find(id).state, TaskState::processing);
  EXPECT_EQ(metrics().left, 1U);
  d_.live(3min);
  steps();
  EXPECT_EQ(runs, 2);
}

// S1-067, S1-071, S1-072, C-13, C-14
TEST_F(StepTest, of_a_batch_each_task_may_be_settled_and_the_rest_is_done) {
  std::size_t largest = 0;
  queues_.push_back({.queue = "q", .batch_size = 10});
  queues_.back().any = [&](std::span<Context* const> tasks) {
    largest = std::max(largest, tasks.size());
    EXPECT_THAT(tasks[1]->settle(RetryAt{t0 + 30s, {.message = "later"}}), IsOk());
    d_.clock.advance(250ms);
  };
  std::vector<TaskId> ids;
  for (int i = 0; i < 10; ++i) ids.push_back(put("q"));
  EXPECT_EQ(step(), 10U);
  EXPECT_EQ(largest, 10U);
  EXPECT_EQ(d_.find(ids[0]).state, TaskState::completed);
  EXPECT_EQ(d_.find(ids[1]).state, TaskState::retrying);
  EXPECT_EQ(metrics().stats, (HandlerStats{9, 1, 1, 250ms, "later"}));
}

// S1-070
TEST_F(StepTest, an_exception_fails_what_a_batch_has_not_settled) {
  queues_.push_back({.queue = "q", .batch_size = 3});
  queues_.back().any = [&](std::span<Context* const> tasks) {
    EXPECT_THAT(tasks[0]->settle(Done{}), IsOk());
    throw std::runtime_error("no database");
  };
  const TaskId first = put("q");
  const TaskId second = put("q");
  const TaskId third = put("q");
  step();
  EXPECT_EQ(d_.find(first).state, TaskState::completed);
  EXPECT_EQ(d_.find(second).error->message, "no database");
  EXPECT_EQ(d_.find(third).error->message, "no database");
}

TEST_F(StepTest, a_batch_has_one_handler) {
  std::vector<std::size_t> sizes;
  queues_.push_back({.queue = "q", .batch_size = 10});
  queues_.back().any = [&](auto tasks) { sizes.push_back(tasks.size()); };
  queues_.back().by_type["b"] = [&](auto tasks) { sizes.push_back(100 + tasks.size()); };
  for (const char* type : {"a", "a", "b", "b", "b", "c"}) put("q", {.type = type});
  EXPECT_EQ(steps(), 6U);
  EXPECT_THAT(sizes, ElementsAre(2, 103, 1));
}

// S1-052, S1-053
TEST_F(StepTest, queues_take_turns_with_a_batch_each) {
  std::string order;
  for (const char* name : {"a", "b", "c"}) {
    queues_.push_back({.queue = name, .batch_size = 2});
    queues_.back().any = [&order, name](auto tasks) {
      order += name + std::to_string(tasks.size());
    };
    for (int i = 0; i < 4; ++i) put(name);
  }
  options_.processors = 1;
  steps();
  EXPECT_EQ(order, "a2b2c2a2b2c2");
}

TEST_F(StepTest, hooks_hear_what_is_stored) {
  std::vector<std::string> heard;
  handle("q", [&](Context& task) {
    const std::string& what = task.task().payload;
    if (what == "fail") throw TaskFailure({.message = "no"}, false);
    if (what == "retry") throw std::runtime_error("again");
    if (what == "snooze") must(task.settle(Snooze{t0 + 1h}));
    if (what == "back") must(task.settle(GiveBack{}));
  });
  auto& how = queues_.back();
  const auto hook = [&](std::string name) -> Hook {
    return [&, name](const TaskEvent& event) {
      EXPECT_EQ(d_.find(event.task.id).state, event.state);
      heard.push_back(name + " " + event.task.payload);
      throw std::runtime_error("a hook that fails");
    };
  };
  how.on_completed = hook("completed");
  how.on_failed = hook("failed");
  how.on_dead = hook("dead");
  how.on_requeued = hook("requeued");
  put("q", {.payload = "done"});
  put("q", {.payload = "fail"});
  put("q", {.payload = "retry"});
  put("q", {.payload = "retry", .retry = RetryRules{.max_retries = 0}});
  put("q", {.payload = "snooze"});
  steps();
  put("q", {.payload = "back"});
  step();
  EXPECT_THAT(heard, ElementsAre("completed done", "failed fail", "requeued retry", "dead retry",
                                 "requeued snooze"));
  EXPECT_THAT(logged_.lines(), Contains(HasSubstr("a hook of queue q failed: a hook that fails")));
}

// S1-087, S1-066, S1-078
TEST_F(StepTest, long_cycles_are_counted_and_logged) {
  handle("q", [&](Context& task) { task.wait_for(task.attempt() == 1 ? 11s : 1s); });
  put("q");
  put("q", {.payload = "2"});
  step();
  EXPECT_EQ(metrics().slow_cycles, 1U);
  EXPECT_THAT(worker().cycles("q").bounds, Contains(10.0));
  EXPECT_EQ(worker().cycles("q").count, 1U);
  EXPECT_THAT(logged_.lines(), Contains(HasSubstr("a cycle took 11.0 s")));
}

TEST_F(StepTest, a_lost_lease_ends_a_run_and_nothing_is_settled) {
  d_.put_queue(queue("q", {.lease = 60s}));
  handle("q", [&](Context& task) {
    d_.live(2min);  // another worker has it
    ASSERT_THAT(d_.take("q"), SizeIs(1));
    EXPECT_FALSE(task.wait_for(1s));
    EXPECT_EQ(task.stop_reason(), StopReason::lease_lost);
    EXPECT_THAT(task.settle(Done{}), FailsWith(ErrorCode::conflict));
  });
  const TaskId id = put("q");
  step();
  EXPECT_EQ(d_.find(id).state, TaskState::processing);
  EXPECT_EQ(metrics().lost, 1U);
}

TEST_F(StepTest, a_task_of_a_queue_that_was_not_asked_is_given_back) {
  struct Astray final : ForwardingBroker {
    using ForwardingBroker::ForwardingBroker;
    void work(Ask ask, WorkOrder order, Completion<WorkResult> done) override {
      for (TakeRequest& take : order.takes) take.queues = {{std::string("other"), 1}};
      ForwardingBroker::work(ask, std::move(order), std::move(done));
    }
  } astray(*d_.broker);
  handle("q", [](Context&) { FAIL() << "it is no task of this queue"; });
  const TaskId id = put("other");
  Worker worker(d_.clock, astray, options_, queues_);
  EXPECT_EQ(must(worker.step()), 0U);
  // No hook is called when it is stored.
  SystemClock clock;
  while (d_.find(id).state != TaskState::queued && clock.steady() < 30s) std::this_thread::yield();
  EXPECT_EQ(d_.find(id).state, TaskState::queued);
  EXPECT_EQ(d_.find(id).counters.deliveries, 1U);
  EXPECT_THAT(logged_.lines(),
              Contains(HasSubstr("came from queue other, which was not asked for")));
}

TEST_F(StepTest, one_processor_finds_the_queue_that_has_something) {
  std::string ran;
  for (const char* name : {"a", "b", "c", "d"}) {
    handle(name, [&](Context& task) { ran += task.task().queue; });
  }
  options_.processors = 1;
  for (const char* name : {"c", "a", "d"}) {
    put(name);
    EXPECT_EQ(steps(), 1U) << name;
  }
  EXPECT_EQ(ran, "cad");
}

TEST_F(StepTest, cannot_be_stepped_after_a_shutdown) {
  handle("q", [](Context&) {});
  worker().shutdown();
  EXPECT_THAT(worker().step(), FailsWith(ErrorCode::conflict));
  EXPECT_EQ(worker().graceful_stop(1s).running, 0U);
  EXPECT_THAT(logged_.lines(), Contains("Shutting down workers..."));
  EXPECT_THAT(logged_.lines(), Contains("Workers stopped"));
}

TEST_F(StepTest, an_error_of_the_broker_is_an_error_of_the_step) {
  handle("q", [](Context&) {});
  EXPECT_EQ(step(), 0U);
  d_.broker->stop();
  EXPECT_THAT(worker().step(), FailsWith(ErrorCode::unavailable));
}

}  // namespace
}  // namespace millrace::worker
