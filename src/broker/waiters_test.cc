#include "broker/waiters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "store/store.h"
#include "tests/support/broker_driver.h"
#include "tests/support/matchers.h"
#include "tests/support/rounds_driver.h"

namespace millrace {
namespace {

using namespace millrace::test;

class WaitersTest : public ::testing::Test {
 protected:
  WaitersTest() {
    driver_.make_queue("q");
    answer_from_the_store();
  }

  void answer_from_the_store() {
    waiters_->answer = [this](std::vector<Waiters::Over> over) {
      for (Waiters::Over& each : over) {
        for (auto& done : each.done) done(find_task(*store_, each.id));
      }
    };
  }

  Heard<Task> wait_for(TaskId id, Duration wait, CallerId caller = {1}) {
    Heard<Task> heard;
    auto done = heard.completion();
    must(waiters_->add(id, caller, driver_.now + wait, done));
    return heard;
  }
  TimePoint run() {
    const TimePoint next = must(waiters_->run_once(*store_, driver_.now));
    waiters_->stored();
    return next;
  }

  std::unique_ptr<Store> store_ = open_memory();
  StoreDriver driver_{*store_};
  std::unique_ptr<Waiters> waiters_ = std::make_unique<Waiters>();
};

TEST_F(WaitersTest, no_caller_is_answered_before_it_is_stored) {
  const Put put = driver_.put(task("q"));
  const auto heard = wait_for(put.id, 1min);
  driver_.settle(done(driver_.take_one("q")));
  EXPECT_TRUE(waiters_->finished(put.id));
  must(waiters_->run_once(*store_, driver_.now));
  EXPECT_FALSE(heard.answered());
  waiters_->stored();
  EXPECT_EQ(heard.get()->state, TaskState::completed);
  EXPECT_EQ(waiters_->size(), 0U);
}

TEST_F(WaitersTest, tells_when_the_next_wait_is_over) {
  const Put put = driver_.put(task("q"));
  const auto first = wait_for(put.id, 10s);
  const auto second = wait_for(put.id, 20s);
  EXPECT_EQ(run(), t0 + 10s);
  driver_.pass(10s);
  EXPECT_EQ(run(), t0 + 20s);
  EXPECT_TRUE(first.answered());
  EXPECT_FALSE(second.answered());
}

TEST_F(WaitersTest, tasks_without_waiters_are_ignored) {
  EXPECT_FALSE(waiters_->finished(fresh_id()));
  const auto heard = wait_for(driver_.put(task("q")).id, 10s);
  EXPECT_FALSE(waiters_->finished(fresh_id()));
}

TEST_F(WaitersTest, if_other_processes_may_end_tasks_it_looks_every_second) {
  waiters_ = std::make_unique<Waiters>(WaitersOptions{.poll = true});
  answer_from_the_store();
  const Put put = driver_.put(task("q"));
  const auto heard = wait_for(put.id, 1min);
  EXPECT_EQ(run(), t0 + 1s);
  driver_.settle(done(driver_.take_one("q")));  // and finished() is not called
  driver_.pass(1s);
  run();
  EXPECT_TRUE(heard.answered());
}

TEST_F(WaitersTest, many_are_answered_in_bounded_steps) {
  std::vector<Heard<Task>> heard;
  for (int i = 0; i < 2500; ++i) heard.push_back(wait_for(driver_.put(task("q")).id, 10s));
  driver_.pass(10s);
  EXPECT_EQ(run(), driver_.now);
  EXPECT_EQ(waiters_->size(), 1500U);
  run();
  EXPECT_EQ(run(), never);
  for (const auto& each : heard) EXPECT_TRUE(each.answered());
}

TEST_F(WaitersTest, a_caller_that_leaves_is_forgotten) {
  const Put put = driver_.put(task("q"));
  const auto heard = wait_for(put.id, 10s, {7});
  waiters_->leave({8});
  EXPECT_EQ(waiters_->size(), 1U);
  waiters_->leave({7});
  EXPECT_EQ(waiters_->size(), 0U);
  driver_.pass(10s);
  EXPECT_EQ(run(), never);
  EXPECT_FALSE(heard.answered());
}

}  // namespace
}  // namespace millrace
