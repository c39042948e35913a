// The worker without its threads: what it asks for, hands out, and gives back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/driven_dispatcher.h"
#include "tests/support/matchers.h"

namespace millrace::worker {
namespace {

using namespace millrace::test;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

// ---- Taking
// --------------------------------------------------------------------------------------

TEST_F(DispatcherTest, asks_at_first_for_as_many_as_can_run) {
  queue("a", 3);
  queue("b", 2).batch_size = 10;
  EXPECT_THAT(wanted(core().next_order(now_)), ElementsAre(Pair("a", 3), Pair("b", 20)));
}

// S0-118
TEST_F(DispatcherTest, one_order_at_a_time) {
  queue("a", 3);
  auto order = core().next_order(now_);
  EXPECT_FALSE(core().next_order(now_));
  answer(std::move(order), {{"a", 2}});
  // It had less than was wanted: it is polled from now on.
  EXPECT_FALSE(core().next_order(now_));
  const auto poll = core().next_poll(now_);
  EXPECT_THAT(wanted(poll), ElementsAre(Pair("a", 1)));
  EXPECT_EQ(poll->wait, 1s);
  EXPECT_FALSE(core().next_poll(now_));
}

// C-27, S1-062
TEST_F(DispatcherTest, polls_again_and_again_where_there_is_nothing) {
  queue("a", 1);
  answer(core().next_order(now_));
  for (int i = 0; i < 3; ++i) answer(core().next_poll(now_));
  answer(core().next_poll(now_), {{"a", 1}});
  EXPECT_FALSE(core().next_poll(now_));
  EXPECT_FALSE(core().next_order(now_));
  EXPECT_TRUE(core().has_work());
}

TEST_F(DispatcherTest, settles_and_takes_in_one_order) {
  queue("a", 2, 0);
  answer(core().next_order(now_), {{"a", 2}});
  run(core().next_hand(now_), 1s);
  auto order = core().next_order(now_);
  EXPECT_THAT(order->reports, SizeIs(1));
  EXPECT_THAT(wanted(order), ElementsAre(Pair("a", 1)));
  const WorkOrder words = core().words_of(*order);
  EXPECT_THAT(words.reports, SizeIs(1));
  EXPECT_EQ(words.reports.front().token.value, 16U);
  ASSERT_THAT(words.takes, SizeIs(1));
  EXPECT_EQ(words.takes.front().worker, "w");
  EXPECT_EQ(words.wait, Duration::zero());
}

TEST_F(DispatcherTest, prefetches_what_is_handled_in_100_ms) {
  queue("a", 2);
  answer(core().next_order(now_), {{"a", 2}});
  for (int i = 0; i < 10; ++i) {
    while (auto hand = core().next_hand(now_)) run(hand, 10ms);
    auto order = core().next_order(now_);
    const auto counts = wanted(order);
    answer(std::move(order), counts);
  }
  EXPECT_EQ(line().most_ahead(), 20U);
}

TEST_F(DispatcherTest, prefetches_nothing_of_slow_tasks_and_grows_step_by_step_with_fast_ones) {
  queue("a", 2);
  answer(core().next_order(now_), {{"a", 2}});
  run(core().next_hand(now_), 1s);
  EXPECT_THAT(wanted(core().next_order(now_)), ElementsAre(Pair("a", 1)));
  core_.reset();
  answer(core().next_order(now_), {{"a", 2}});
  run(core().next_hand(now_), 1us);
  std::vector<std::size_t> asked;
  for (int i = 0; i < 10; ++i) {
    auto order = core().next_order(now_);
    const auto counts = wanted(order);
    asked.push_back(counts.at("a"));
    answer(std::move(order), counts);
    while (auto hand = core().next_hand(now_)) run(hand, 1us);
  }
  EXPECT_LE(asked[1], 8U);
  EXPECT_GE(asked.back(), 990U);
  EXPECT_LE(asked.back(), 1000U);
}

TEST_F(DispatcherTest, prefetches_what_is_said) {
  queue("a", 2, 5);
  answer(core().next_order(now_), {{"a", 7}});
  EXPECT_FALSE(core().next_order(now_)) << "all slots and all places are taken";
  const auto hand = core().next_hand(now_);
  EXPECT_THAT(hand->runs, SizeIs(1));
  EXPECT_FALSE(core().next_order(now_));
  run(hand, 1s);
  EXPECT_THAT(wanted(core().next_order(now_)), ElementsAre(Pair("a", 1)));
}

TEST_F(DispatcherTest, never_wants_more_than_an_order_may) {
  for (const char* name : {"a", "b", "c"}) queue(name, 1, 900);
  Counts counts = wanted(core().next_order(now_));
  EXPECT_EQ(counts["a"] + counts["b"] + counts["c"], 1000U);
  EXPECT_GE(std::min({counts["a"], counts["b"], counts["c"]}), 333U);
  queue("small", 1, 0);
  core_.reset();
  answer(core().next_order(now_));
  // A poll that wants as many as it may asks for every queue: nobody has to replace it.
  counts = wanted(core().next_poll(now_));
  EXPECT_EQ(counts["small"], 1U);
  EXPECT_EQ(counts["a"] + counts["b"] + counts["c"], 999U);
  EXPECT_FALSE(core().should_replace_poll(now_));
}

TEST_F(DispatcherTest, a_queue_that_is_polled_does_not_hold_up_another) {
  queue("a", 1);
  queue("b", 1);
  answer(core().next_order(now_), {{"b", 1}});
  const auto poll = core().next_poll(now_);
  EXPECT_THAT(wanted(poll), ElementsAre(Pair("a", 1)));
  run(core().next_hand(now_), 1s);
  auto order = core().next_order(now_);  // b had what was wanted
  EXPECT_THAT(wanted(order), ElementsAre(Pair("b", 1)));
  EXPECT_FALSE(core().should_replace_poll(now_));
  answer(std::move(order));
  // Now b is to be polled, too, and the poll on its way does not.
  EXPECT_FALSE(core().next_poll(now_));
  EXPECT_TRUE(core().should_replace_poll(now_));
  core().poll_left();
  EXPECT_THAT(wanted(core().next_poll(now_)), ElementsAre(Pair("a", 1), Pair("b", 1)));
}

// With fewer processors than slots nothing is taken that nobody is free for.
TEST_F(DispatcherTest, what_two_queues_brought_for_one_processor_is_given_back) {
  options_.processors = 1;
  queue("a", 1, 0);
  queue("b", 1, 0);
  auto first = core().next_order(now_);
  EXPECT_THAT(wanted(first), ElementsAre(Pair("a", 1)));
  answer(std::move(first));
  answer(core().next_order(now_));
  const auto poll = core().next_poll(now_);
  EXPECT_THAT(wanted(poll), ElementsAre(Pair("a", 1), Pair("b", 1)));
  answer(poll, {{"a", 1}, {"b", 1}});
  const auto order = core().next_order(now_);
  ASSERT_THAT(order->reports, SizeIs(1));
  EXPECT_TRUE(std::holds_alternative<GiveBack>(order->reports.front()->ending().outcome));
  EXPECT_EQ(core().given_back(), 1U);
}

TEST_F(DispatcherTest, behind_a_higher_queue_with_work_nothing_is_prefetched) {
  options_.processors = 1;
  options_.order = QueueOrder::strict;
  queue("low", 1, 10);
  queue("high", 1, 10).priority = 9;
  auto order = core().next_order(now_);
  EXPECT_THAT(wanted(order), ElementsAre(Pair("high", 11)));
  answer(std::move(order), {{"high", 3}});
  order = core().next_order(now_);
  EXPECT_THAT(wanted(order), ElementsAre(Pair("low", 10)));
}

// ---- Hands
// ---------------------------------------------------------------------------------------

// S1-059, C-15
TEST_F(DispatcherTest, runs_no_more_than_it_may) {
  options_.processors = 3;
  queue("a", 2, 10);
  queue("b", 2, 10);
  answer(core().next_order(now_), {{"a", 8}, {"b", 8}});
  std::vector<HandPtr> hands;
  while (auto hand = core().next_hand(now_)) hands.push_back(hand);
  EXPECT_THAT(hands, SizeIs(3));
  EXPECT_EQ(core().busy(), 3U);
  EXPECT_LE(line(0).busy, 2U);
  EXPECT_LE(line(1).busy, 2U);
}

TEST_F(DispatcherTest, short_tasks_are_handed_out_together_and_shared) {
  queue("a", 2, 1000);
  answer(core().next_order(now_), {{"a", 1000}});
  auto first = core().next_hand(now_);
  EXPECT_THAT(first->runs, SizeIs(1)) << "nothing is known yet";
  run(first, 10us);
  first = core().next_hand(now_);
  EXPECT_THAT(first->runs, SizeIs(100)) << "about a millisecond";
  run(first, 1us);
  while (line().waiting.size() > 40) run(core().next_hand(now_), 1us);
  const std::size_t left = line().waiting.size();
  EXPECT_THAT(core().next_hand(now_)->runs, SizeIs((left + 1) / 2)) << "half for each of two";
}

TEST_F(DispatcherTest, a_slow_task_does_not_hold_up_those_in_the_same_hand) {
  queue("a", 1, 1000);
  answer(core().next_order(now_), {{"a", 300}});
  run(core().next_hand(now_), 1us);
  answer(core().next_order(now_));
  const auto hand = core().next_hand(now_);
  const std::size_t size = hand->runs.size();
  const std::size_t waiting = line().waiting.size();
  ASSERT_GT(size, 10U);
  const RunPtr first = begin(hand);
  EXPECT_TRUE(hand->returned());
  first->end(Done{}, true);
  begin(hand);
  EXPECT_EQ(core().next_collect(), now_ + 5ms);
  core().collect(now_ + 4ms, false);
  EXPECT_FALSE(core().has_reports());
  now_ += 5ms;
  core().collect(now_, false);
  EXPECT_TRUE(core().has_reports()) << "what has ended is sent";
  EXPECT_EQ(line().waiting.size(), waiting + size - 2) << "what has not begun is for others";
  EXPECT_EQ(line().waiting.front()->lease.number.value, first->lease.number.value + 2);
  EXPECT_EQ(core().next_collect(), no_moment);
}

TEST_F(DispatcherTest, an_end_is_sent_once_although_it_is_collected_twice) {
  queue("a", 1, 0);
  answer(core().next_order(now_), {{"a", 1}});
  const auto hand = core().next_hand(now_);
  begin(hand)->end(Done{}, true);
  core().collect(now_, true);
  core().collect(now_, true);
  EXPECT_TRUE(hand->returned());
  core().finished(hand);
  EXPECT_THAT(core().next_order(now_)->reports, SizeIs(1));
}

// S1-087, S1-054, S1-055, S1-061, S1-065
TEST_F(DispatcherTest, an_assignment_holds_from_the_next_batch_on) {
  queue("a", 3, 10);
  queue("b", 3, 10);
  answer(core().next_order(now_), {{"a", 13}, {"b", 13}});
  const auto a1 = core().next_hand(now_);
  const auto b1 = core().next_hand(now_);
  core().assign({{"a", 0}, {"b", 1}, {"unknown", 7}});
  EXPECT_FALSE(core().next_hand(now_)) << "b has its one, a none";
  EXPECT_TRUE(line(0).waiting.empty()) << "nobody here will run them";
  run(a1, 1s);
  EXPECT_FALSE(core().next_hand(now_));
  run(b1, 1s);
  EXPECT_EQ(core().next_hand(now_)->line, 1U);
  auto order = core().next_order(now_);
  EXPECT_FALSE(wanted(order).contains("a"));
  answer(std::move(order));
  const auto report = core().report();
  EXPECT_EQ(report.queues[0].processors, 0U);
  EXPECT_EQ(report.queues[0].most, 3U);
  EXPECT_EQ(report.queues[1].busy, 1U);
}

TEST_F(DispatcherTest, what_comes_for_a_queue_that_lost_its_processors_is_given_back) {
  queue("a", 2, 0);
  queue("b", 2, 0);
  answer(core().next_order(now_));
  const auto poll = core().next_poll(now_);
  EXPECT_FALSE(core().should_replace_poll(now_));
  core().assign({{"a", 0}});
  EXPECT_TRUE(core().should_replace_poll(now_));
  answer(poll, {{"a", 1}, {"b", 1}});
  EXPECT_TRUE(line(0).waiting.empty());
  EXPECT_EQ(line(1).waiting.size(), 1U);
  EXPECT_EQ(core().given_back(), 1U);
}

// ---- Stopping
// ------------------------------------------------------------------------------------

// S1-060, S1-064, C-23, D-24
TEST_F(DispatcherTest, shut_down_takes_no_more_and_gives_back_what_is_not_begun) {
  queue("a", 1, 499);
  answer(core().next_order(now_), {{"a", 500}});
  run(core().next_hand(now_), 1us);
  auto first = core().next_order(now_);
  const auto hand = core().next_hand(now_);
  ASSERT_GT(hand->runs.size(), 10U);
  begin(hand);
  core().shut_down();
  EXPECT_FALSE(core().next_hand(now_));
  EXPECT_EQ(core().given_back(), 498U);
  answer(std::move(first), {{"a", 1}});
  EXPECT_EQ(core().given_back(), 499U) << "what was on its way, too";
  EXPECT_THAT(core().running(), SizeIs(1));
  const auto order = core().next_order(now_);
  EXPECT_THAT(order->reports, SizeIs(499));
  EXPECT_THAT(order->wanted, IsEmpty());
  EXPECT_FALSE(core().next_poll(now_));
  EXPECT_TRUE(core().report().stopping);
}

TEST_F(DispatcherTest, what_still_runs_at_the_end_is_given_back_and_its_words_are_not_heard) {
  queue("a", 2, 0);
  answer(core().next_order(now_), {{"a", 2}});
  const auto first = core().next_hand(now_);
  const auto second = core().next_hand(now_);
  const RunPtr settled = begin(first);
  const RunPtr runs = begin(second);
  EXPECT_THAT(settled->settle(Done{}), IsOk());
  core().shut_down();
  EXPECT_EQ(core().give_up(), 2U);
  EXPECT_FALSE(first->returned());
  EXPECT_THAT(runs->settle(Done{}), FailsWith(ErrorCode::conflict));
  const auto order = core().next_order(now_);
  ASSERT_THAT(order->reports, SizeIs(2));
  EXPECT_TRUE(std::holds_alternative<Done>(settled->ending().outcome));
  EXPECT_TRUE(std::holds_alternative<GiveBack>(runs->ending().outcome));
  EXPECT_EQ(core().given_back(), 1U);
}

TEST_F(DispatcherTest, an_exception_after_a_request_to_stop_is_no_failure) {
  queue("a", 1, 0);
  answer(core().next_order(now_), {{"a", 1}});
  const auto hand = core().next_hand(now_);
  const RunPtr run = begin(hand);
  run->ask_to_stop(StopReason::stopping);
  EXPECT_TRUE(hand->returned());
  run->end_by_failure({.error = {.message = "interrupted"}});
  core().finished(hand);
  EXPECT_TRUE(std::holds_alternative<GiveBack>(run->ending().outcome));
  EXPECT_EQ(line().stats.errors, 0U);
}

}  // namespace
}  // namespace millrace::worker
