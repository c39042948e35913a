// Steps, checkpoints and answers, as a handler uses them.
#include "worker/steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "broker/wait_for_answer.h"
#include "core/limits.h"
#include "tests/support/broker_driver.h"
#include "tests/support/matchers.h"
#include "worker/worker.h"

namespace millrace::worker {
namespace {

using namespace millrace::test;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two threads of one run whose steps return at the same moment, twenty times.
Outcome two_threads_of_steps(Context& task) {
  constexpr int rounds = 20;
  std::barrier both(2);
  const auto work = [&](const std::string& name) {
    for (int i = 0; i < rounds; ++i) {
      task.step(name + std::to_string(i), [&] {
        both.arrive_and_wait();
        return i;
      });
    }
  };
  std::thread other(work, "a");
  work("b");
  other.join();
  const std::string checkpoint = task.checkpoint();
  for (int i = 0; i < rounds; ++i) {
    EXPECT_EQ(result_of(checkpoint, "a" + std::to_string(i)), std::to_string(i));
    EXPECT_EQ(result_of(checkpoint, "b" + std::to_string(i)), std::to_string(i));
  }
  const bool all = !::testing::Test::HasFailure();
  return Done{.result = all ? "40 steps, none of them lost" : "some are lost"};
}

class Steps : public ::testing::Test {
 protected:
  Steps() {
    options_.pass_time = [this](Duration by) { d_.clock.advance(by); };
  }

  void handle(std::function<Outcome(Context&)> handler) {
    QueueHandlers queue{.queue = "q"};
    queue.any = [handler = std::move(handler)](std::span<Context* const> tasks) {
      for (Context* each : tasks) static_cast<void>(each->settle(handler(*each)));
    };
    worker_ =
        std::make_unique<Worker>(d_.clock, *d_.broker, options_, std::vector{std::move(queue)});
  }
  // The next run, whenever it is due.
  void run() {
    d_.live(1h);
    ASSERT_EQ(must(worker_->step()), 1U);
  }
  void release(const TaskId& id, std::string answer) {
    TaskUpdate update{.id = id, .release = true, .answer = std::move(answer)};
    const auto states = must(wait_for_answer<Broker::States>(
        [&](auto done) { d_.broker->update(d_.ask(), {std::move(update)}, std::move(done)); }));
    must(states.front());
  }
  TaskId put() { return d_.put(task("q", {.retry = RetryRules{.base = 1s}})).id; }

  BrokerDriver d_;
  WorkerOptions options_{.name = "$local-test", .internal = true};
  std::unique_ptr<Worker> worker_;
};

TEST_F(Steps, a_step_runs_once_and_gives_its_result_to_later_runs) {
  std::vector<std::string> called;
  std::vector<int> results;
  handle([&](Context& task) -> Outcome {
    results.push_back(task.step("charge", [&] {
      called.emplace_back("charge");
      return 42;
    }));
    task.step("mail", [&] { called.emplace_back("mail"); });
    if (task.attempt() < 3) throw std::runtime_error("later");
    return Done{};
  });
  const TaskId id = put();
  run();
  EXPECT_EQ(d_.find(id).checkpoint, R"({"steps":{"charge":42,"mail":null}})");
  run();
  run();
  EXPECT_EQ(d_.find(id).state, TaskState::completed);
  EXPECT_THAT(called, ElementsAre("charge", "mail"));
  EXPECT_THAT(results, ElementsAre(42, 42, 42));
}

TEST_F(Steps, a_step_is_stored_before_it_returns) {
  handle([&](Context& task) -> Outcome {
    task.step("one", [] { return std::string("1"); });
    EXPECT_EQ(d_.find(task.id()).checkpoint, R"({"steps":{"one":"1"}})");
    EXPECT_EQ(task.checkpoint(), R"({"steps":{"one":"1"}})");
    return Done{};
  });
  put();
  run();
}

TEST_F(Steps, a_step_that_throws_runs_again) {
  int calls = 0;
  handle([&](Context& task) -> Outcome {
    task.step("shaky", [&] {
      if (++calls == 1) throw std::runtime_error("not yet");
    });
    return Done{};
  });
  const TaskId id = put();
  run();
  EXPECT_EQ(d_.find(id).checkpoint, "");
  run();
  EXPECT_EQ(d_.find(id).state, TaskState::completed);
  EXPECT_EQ(calls, 2);
}

TEST_F(Steps, a_parked_task_goes_on_with_its_answer) {
  int asked = 0;
  handle([&](Context& task) -> Outcome {
    task.step("ask", [&] { ++asked; });
    if (!task.answer()) return Park{.until = task.now() + 72h};
    return Done{.result = *task.answer()};
  });
  const TaskId id = put();
  run();
  EXPECT_EQ(d_.find(id).state, TaskState::created);
  EXPECT_EQ(d_.find(id).start, d_.clock.now() + 72h);
  d_.live(73h);  // no answer: it waits again
  ASSERT_EQ(must(worker_->step()), 1U);
  EXPECT_EQ(d_.find(id).state, TaskState::created);
  release(id, R"({"approved":true})");
  run();
  EXPECT_EQ(d_.find(id).result, R"({"approved":true})");
  EXPECT_EQ(asked, 1);
}

TEST_F(Steps, a_checkpoint_by_hand_replaces_the_last_one) {
  std::vector<std::string> seen;
  handle([&](Context& task) -> Outcome {
    seen.push_back(task.checkpoint());
    must(task.checkpoint("page " + std::to_string(seen.size())));
    if (seen.size() < 3) return Snooze{.until = task.now() + 1s};
    return Done{};
  });
  put();
  run();
  run();
  run();
  EXPECT_THAT(seen, ElementsAre("", "page 1", "page 2"));
}

TEST_F(Steps, a_step_that_throws_may_be_tried_again_in_the_same_run) {
  int calls = 0;
  handle([&](Context& task) -> Outcome {
    const auto shaky = [&] {
      if (++calls == 1) throw std::runtime_error("not yet");
      return calls;
    };
    EXPECT_THROW(task.step("shaky", shaky), std::runtime_error);
    return Done{.result = std::to_string(task.step("shaky", shaky))};
  });
  const TaskId id = put();
  run();
  EXPECT_EQ(d_.find(id).result, "2");
}

TEST_F(Steps, a_name_that_is_used_twice_in_one_run_is_refused) {
  int second = 0;
  handle([&](Context& task) -> Outcome {
    task.step("charge", [] { return 1; });
    if (task.attempt() == 1) throw std::runtime_error("later");
    task.step("charge", [&] { return ++second; });
    ADD_FAILURE() << "the second step got the result of the first";
    return Done{};
  });
  const TaskId id = put();
  run();
  run();
  EXPECT_EQ(second, 0);
  EXPECT_EQ(d_.find(id).state, TaskState::failed);
  EXPECT_EQ(d_.find(id).error->code, "step_invalid");
  EXPECT_THAT(d_.find(id).error->message, HasSubstr("step charge is used twice in one run"));
}

TEST_F(Steps, of_several_threads_are_all_stored) {
  handle(&two_threads_of_steps);
  const TaskId id = put();
  run();
  EXPECT_EQ(d_.find(id).result, "40 steps, none of them lost");
}

TEST_F(Steps, a_checkpoint_by_hand_that_is_too_large_is_refused) {
  handle([&](Context& task) -> Outcome {
    EXPECT_THAT(task.checkpoint(std::string(limits::max_checkpoint + 1, 'c')),
                FailsWith(ErrorCode::too_large));
    return Done{.result = task.checkpoint()};
  });
  const TaskId id = put();
  run();
  EXPECT_EQ(d_.find(id).result, "");
}

// Its call would run again each time, and be as large.
TEST_F(Steps, a_result_that_is_too_large_fails_the_task_for_good) {
  int calls = 0;
  handle([&](Context& task) -> Outcome {
    task.step("small", [] { return 1; });
    task.step("large", [&] {
      ++calls;
      return std::string(limits::max_checkpoint, 'c');
    });
    ADD_FAILURE() << "the step returned";
    return Done{};
  });
  const TaskId id = put();
  run();
  EXPECT_EQ(d_.find(id).state, TaskState::failed);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(d_.find(id).error->code, "step_not_stored");
  EXPECT_THAT(d_.find(id).error->message,
              AllOf(HasSubstr("what step large returned"), HasSubstr("64 KiB together"),
                    HasSubstr("return the name of a file or a key rather than the content")));
}

TEST_F(Steps, a_step_of_another_type_or_name_fails_for_good) {
  handle([&](Context& task) -> Outcome {
    if (task.attempt() == 1) {
      task.step("one", [] { return std::string("text"); });
      return Snooze{.until = task.now() + 1s};
    }
    return Done{.result = std::to_string(task.step("one", [] { return 7; }))};
  });
  const TaskId id = put();
  run();
  run();
  EXPECT_EQ(d_.find(id).state, TaskState::failed);
  EXPECT_EQ(d_.find(id).error->code, "step_unreadable");

  handle([](Context& task) -> Outcome {
    task.step("no such name", [] {});
    return Done{};
  });
  const TaskId other = put();
  run();
  EXPECT_EQ(d_.find(other).state, TaskState::failed);
  EXPECT_EQ(d_.find(other).error->code, "step_invalid");
}

TEST_F(Steps, steps_and_checkpoints_by_hand_do_not_mix) {
  handle([](Context& task) -> Outcome {
    must(task.checkpoint("by hand"));
    task.step("one", [] {});
    return Done{};
  });
  const TaskId id = put();
  run();
  EXPECT_THAT(d_.find(id).error->message, HasSubstr("that no step has written"));
}

// A later run may be able to.
TEST_F(Steps, a_step_of_a_lost_lease_is_not_stored_and_may_be_retried) {
  std::string code;
  std::optional<bool> retryable = false;
  handle([&](Context& task) -> Outcome {
    d_.live(5min);  // the lease counts as lost
    try {
      task.step("late", [] {});
    } catch (const TaskFailure& failure) {
      code = failure.error.code;
      retryable = failure.retryable;
    }
    return Done{};
  });
  d_.live(1h);
  put();
  ASSERT_EQ(must(worker_->step()), 1U);
  EXPECT_EQ(code, "step_not_stored");
  EXPECT_EQ(retryable, std::nullopt);
}

TEST_F(Steps, a_lost_lease_stores_nothing) {
  TaskId id{};
  handle([&](Context& task) -> Outcome {
    if (task.attempt() > 1) return Done{.result = task.checkpoint()};
    d_.live(5min);  // the lease counts as lost
    EXPECT_THAT(task.checkpoint("late"), FailsWith(ErrorCode::lease_lost));
    return Done{};
  });
  d_.live(1h);
  id = put();
  ASSERT_EQ(must(worker_->step()), 1U);
  EXPECT_EQ(d_.find(id).state, TaskState::queued);
  EXPECT_EQ(d_.find(id).checkpoint, "");
}

// With its threads, in real time: the keeper sends at once what a handler waits for.
TEST_F(Steps, handlers_on_threads_wait_for_their_checkpoints_only) {
  std::atomic<int> stored = 0;
  handle([&](Context& task) -> Outcome {
    for (int i = 0; i < 20; ++i) {
      must(task.checkpoint(std::to_string(i)));
      ++stored;
    }
    return Done{.result = task.checkpoint()};
  });
  const TaskId id = put();
  worker_->start();
  while (d_.find(id).state != TaskState::completed) std::this_thread::yield();
  EXPECT_EQ(d_.find(id).result, "19");
  EXPECT_EQ(stored, 20);
  worker_->graceful_stop(10s);
}

TEST_F(Steps, of_several_threads_are_all_stored_by_a_worker_with_threads) {
  handle(&two_threads_of_steps);
  const TaskId id = put();
  worker_->start();
  while (d_.find(id).state != TaskState::completed) std::this_thread::yield();
  EXPECT_EQ(d_.find(id).result, "40 steps, none of them lost");
  worker_->graceful_stop(10s);
}

TEST(StepsText, a_checkpoint_of_steps_keeps_whole_numbers_and_order) {
  std::string checkpoint = with_step("", "b", "9007199254740993");
  checkpoint = with_step(checkpoint, "a", R"({"x":[1,2.5,"y"]})");
  EXPECT_EQ(checkpoint, R"({"steps":{"b":9007199254740993,"a":{"x":[1,2.5,"y"]}}})");
  EXPECT_EQ(result_of(checkpoint, "b"), "9007199254740993");
  checkpoint = with_step(checkpoint, "b", "7");  // tried again
  EXPECT_EQ(checkpoint, R"({"steps":{"b":7,"a":{"x":[1,2.5,"y"]}}})");
  EXPECT_EQ(result_of(checkpoint, "c"), std::nullopt);
  EXPECT_THROW(static_cast<void>(result_of("[]", "a")), TaskFailure);
  EXPECT_THROW(static_cast<void>(result_of(R"({"steps":7})", "a")), TaskFailure);
}

}  // namespace
}  // namespace millrace::worker
