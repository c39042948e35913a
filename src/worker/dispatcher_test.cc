// The worker without its threads: what it asks for, chunks out, and gives back.
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
  EXPECT_THAT(wanted(core().next_request(now_)), ElementsAre(Pair("a", 3), Pair("b", 20)));
}

// S0-118
TEST_F(DispatcherTest, one_request_at_a_time) {
  queue("a", 3);
  auto request = core().next_request(now_);
  EXPECT_FALSE(core().next_request(now_));
  answer(std::move(request), {{"a", 2}});
  // It had less than was wanted: it is polled from now on.
  EXPECT_FALSE(core().next_request(now_));
  const auto poll = core().next_poll(now_);
  EXPECT_THAT(wanted(poll), ElementsAre(Pair("a", 1)));
  EXPECT_EQ(poll->wait, 1s);
  EXPECT_FALSE(core().next_poll(now_));
}

// C-27, S1-062
TEST_F(DispatcherTest, polls_again_and_again_where_there_is_nothing) {
  queue("a", 1);
  answer(core().next_request(now_));
  for (int i = 0; i < 3; ++i) answer(core().next_poll(now_));
  answer(core().next_poll(now_), {{"a", 1}});
  EXPECT_FALSE(core().next_poll(now_));
  EXPECT_FALSE(core().next_request(now_));
  EXPECT_TRUE(core().has_work());
}

TEST_F(DispatcherTest, settles_and_takes_in_one_request) {
  queue("a", 2, 0);
  answer(core().next_request(now_), {{"a", 2}});
  run(core().next_chunk(now_), 1s);
  auto request = core().next_request(now_);
  EXPECT_THAT(request->reports, SizeIs(1));
  EXPECT_THAT(wanted(request), ElementsAre(Pair("a", 1)));
  const WorkOrder words = core().words_of(*request);
  EXPECT_THAT(words.reports, SizeIs(1));
  EXPECT_EQ(words.reports.front().token.value, 16U);
  ASSERT_THAT(words.takes, SizeIs(1));
  EXPECT_EQ(words.takes.front().worker, "w");
  EXPECT_EQ(words.wait, Duration::zero());
}

TEST_F(DispatcherTest, prefetches_what_is_handled_in_100_ms) {
  queue("a", 2);
  answer(core().next_request(now_), {{"a", 2}});
  for (int i = 0; i < 10; ++i) {
    while (auto chunk = core().next_chunk(now_)) run(chunk, 10ms);
    auto request = core().next_request(now_);
    const auto counts = wanted(request);
    answer(std::move(request), counts);
  }
  EXPECT_EQ(worker_queue().most_ahead(), 20U);
}

TEST_F(DispatcherTest, prefetches_nothing_of_slow_tasks_and_grows_step_by_step_with_fast_ones) {
  queue("a", 2);
  answer(core().next_request(now_), {{"a", 2}});
  run(core().next_chunk(now_), 1s);
  EXPECT_THAT(wanted(core().next_request(now_)), ElementsAre(Pair("a", 1)));
  core_.reset();
  answer(core().next_request(now_), {{"a", 2}});
  run(core().next_chunk(now_), 1us);
  std::vector<std::size_t> asked;
  for (int i = 0; i < 10; ++i) {
    auto request = core().next_request(now_);
    const auto counts = wanted(request);
    asked.push_back(counts.at("a"));
    answer(std::move(request), counts);
    while (auto chunk = core().next_chunk(now_)) run(chunk, 1us);
  }
  EXPECT_LE(asked[1], 8U);
  EXPECT_GE(asked.back(), 990U);
  EXPECT_LE(asked.back(), 1000U);
}

TEST_F(DispatcherTest, prefetches_what_is_said) {
  queue("a", 2, 5);
  answer(core().next_request(now_), {{"a", 7}});
  EXPECT_FALSE(core().next_request(now_)) << "all slots and all places are taken";
  const auto chunk = core().next_chunk(now_);
  EXPECT_THAT(chunk->runs, SizeIs(1));
  EXPECT_FALSE(core().next_request(now_));
  run(chunk, 1s);
  EXPECT_THAT(wanted(core().next_request(now_)), ElementsAre(Pair("a", 1)));
}

TEST_F(DispatcherTest, never_wants_more_than_a_request_may) {
  for (const char* name : {"a", "b", "c"}) queue(name, 1, 900);
  Counts counts = wanted(core().next_request(now_));
  EXPECT_EQ(counts["a"] + counts["b"] + counts["c"], 1000U);
  EXPECT_GE(std::min({counts["a"], counts["b"], counts["c"]}), 333U);
  queue("small", 1, 0);
  core_.reset();
  answer(core().next_request(now_));
  // A poll that wants as many as it may asks for every queue: it need not be replaced.
  counts = wanted(core().next_poll(now_));
  EXPECT_EQ(counts["small"], 1U);
  EXPECT_EQ(counts["a"] + counts["b"] + counts["c"], 999U);
  EXPECT_FALSE(core().should_replace_poll(now_));
}

TEST_F(DispatcherTest, a_queue_that_is_polled_does_not_hold_up_another) {
  queue("a", 1);
  queue("b", 1);
  answer(core().next_request(now_), {{"b", 1}});
  const auto poll = core().next_poll(now_);
  EXPECT_THAT(wanted(poll), ElementsAre(Pair("a", 1)));
  run(core().next_chunk(now_), 1s);
  auto request = core().next_request(now_);  // b had what was wanted
  EXPECT_THAT(wanted(request), ElementsAre(Pair("b", 1)));
  EXPECT_FALSE(core().should_replace_poll(now_));
  answer(std::move(request));
  // Now b is to be polled, too, and the poll on its way does not.
  EXPECT_FALSE(core().next_poll(now_));
  EXPECT_TRUE(core().should_replace_poll(now_));
  core().poll_left();
  EXPECT_THAT(wanted(core().next_poll(now_)), ElementsAre(Pair("a", 1), Pair("b", 1)));
}

// With fewer processors than slots only tasks for free processors are taken.
TEST_F(DispatcherTest, what_two_queues_brought_for_one_processor_is_given_back) {
  options_.processors = 1;
  queue("a", 1, 0);
  queue("b", 1, 0);
  auto first = core().next_request(now_);
  EXPECT_THAT(wanted(first), ElementsAre(Pair("a", 1)));
  answer(std::move(first));
  answer(core().next_request(now_));
  const auto poll = core().next_poll(now_);
  EXPECT_THAT(wanted(poll), ElementsAre(Pair("a", 1), Pair("b", 1)));
  answer(poll, {{"a", 1}, {"b", 1}});
  const auto request = core().next_request(now_);
  ASSERT_THAT(request->reports, SizeIs(1));
  EXPECT_TRUE(std::holds_alternative<GiveBack>(request->reports.front()->ending().outcome));
  EXPECT_EQ(core().given_back(), 1U);
}

TEST_F(DispatcherTest, behind_a_higher_queue_with_work_nothing_is_prefetched) {
  options_.processors = 1;
  options_.order = QueueOrder::strict;
  queue("low", 1, 10);
  queue("high", 1, 10).priority = 9;
  auto request = core().next_request(now_);
  EXPECT_THAT(wanted(request), ElementsAre(Pair("high", 11)));
  answer(std::move(request), {{"high", 3}});
  request = core().next_request(now_);
  EXPECT_THAT(wanted(request), ElementsAre(Pair("low", 10)));
}

// ---- Chunks
// ---------------------------------------------------------------------------------------

// S1-059, C-15
TEST_F(DispatcherTest, runs_no_more_than_it_may) {
  options_.processors = 3;
  queue("a", 2, 10);
  queue("b", 2, 10);
  answer(core().next_request(now_), {{"a", 8}, {"b", 8}});
  std::vector<ChunkPtr> chunks;
  while (auto chunk = core().next_chunk(now_)) chunks.push_back(chunk);
  EXPECT_THAT(chunks, SizeIs(3));
  EXPECT_EQ(core().busy(), 3U);
  EXPECT_LE(worker_queue(0).busy, 2U);
  EXPECT_LE(worker_queue(1).busy, 2U);
}

TEST_F(DispatcherTest, short_tasks_are_handed_out_together_and_shared) {
  queue("a", 2, 1000);
  answer(core().next_request(now_), {{"a", 1000}});
  auto first = core().next_chunk(now_);
  EXPECT_THAT(first->runs, SizeIs(1)) << "nothing is known yet";
  run(first, 10us);
  first = core().next_chunk(now_);
  EXPECT_THAT(first->runs, SizeIs(100)) << "about a millisecond";
  run(first, 1us);
  while (worker_queue().waiting.size() > 40) run(core().next_chunk(now_), 1us);
  const std::size_t left = worker_queue().waiting.size();
  EXPECT_THAT(core().next_chunk(now_)->runs, SizeIs((left + 1) / 2)) << "half for each of two";
}

TEST_F(DispatcherTest, a_slow_task_does_not_hold_up_those_in_the_same_chunk) {
  queue("a", 1, 1000);
  answer(core().next_request(now_), {{"a", 300}});
  run(core().next_chunk(now_), 1us);
  answer(core().next_request(now_));
  const auto chunk = core().next_chunk(now_);
  const std::size_t size = chunk->runs.size();
  const std::size_t waiting = worker_queue().waiting.size();
  ASSERT_GT(size, 10U);
  const RunPtr first = begin(chunk);
  EXPECT_TRUE(chunk->returned());
  first->end(Done{}, true);
  begin(chunk);
  EXPECT_EQ(core().next_collect(), now_ + 5ms);
  core().collect(now_ + 4ms, false);
  EXPECT_FALSE(core().has_reports());
  now_ += 5ms;
  core().collect(now_, false);
  EXPECT_TRUE(core().has_reports()) << "what has ended is sent";
  EXPECT_EQ(worker_queue().waiting.size(), waiting + size - 2)
      << "what has not begun is for others";
  EXPECT_EQ(worker_queue().waiting.front()->lease.number.value, first->lease.number.value + 2);
  EXPECT_EQ(core().next_collect(), no_moment);
}

TEST_F(DispatcherTest, an_end_is_sent_once_although_it_is_collected_twice) {
  queue("a", 1, 0);
  answer(core().next_request(now_), {{"a", 1}});
  const auto chunk = core().next_chunk(now_);
  begin(chunk)->end(Done{}, true);
  core().collect(now_, true);
  core().collect(now_, true);
  EXPECT_TRUE(chunk->returned());
  core().finished(chunk);
  EXPECT_THAT(core().next_request(now_)->reports, SizeIs(1));
}

// S1-087, S1-054, S1-055, S1-061, S1-065
TEST_F(DispatcherTest, an_assignment_holds_from_the_next_batch_on) {
  queue("a", 3, 10);
  queue("b", 3, 10);
  answer(core().next_request(now_), {{"a", 13}, {"b", 13}});
  const auto a1 = core().next_chunk(now_);
  const auto b1 = core().next_chunk(now_);
  core().assign({{"a", 0}, {"b", 1}, {"unknown", 7}});
  EXPECT_FALSE(core().next_chunk(now_)) << "b has its one, a none";
  EXPECT_TRUE(worker_queue(0).waiting.empty()) << "no processor here will run them";
  run(a1, 1s);
  EXPECT_FALSE(core().next_chunk(now_));
  run(b1, 1s);
  EXPECT_EQ(core().next_chunk(now_)->queue_index, 1U);
  auto request = core().next_request(now_);
  EXPECT_FALSE(wanted(request).contains("a"));
  answer(std::move(request));
  const auto report = core().report();
  EXPECT_EQ(report.queues[0].processors, 0U);
  EXPECT_EQ(report.queues[0].most, 3U);
  EXPECT_EQ(report.queues[1].busy, 1U);
}

TEST_F(DispatcherTest, what_comes_for_a_queue_that_lost_its_processors_is_given_back) {
  queue("a", 2, 0);
  queue("b", 2, 0);
  answer(core().next_request(now_));
  const auto poll = core().next_poll(now_);
  EXPECT_FALSE(core().should_replace_poll(now_));
  core().assign({{"a", 0}});
  EXPECT_TRUE(core().should_replace_poll(now_));
  answer(poll, {{"a", 1}, {"b", 1}});
  EXPECT_TRUE(worker_queue(0).waiting.empty());
  EXPECT_EQ(worker_queue(1).waiting.size(), 1U);
  EXPECT_EQ(core().given_back(), 1U);
}

// ---- Stopping
// ------------------------------------------------------------------------------------

// S1-060, S1-064, C-23, D-24
TEST_F(DispatcherTest, shut_down_takes_no_more_and_gives_back_what_is_not_begun) {
  queue("a", 1, 499);
  answer(core().next_request(now_), {{"a", 500}});
  run(core().next_chunk(now_), 1us);
  auto first = core().next_request(now_);
  const auto chunk = core().next_chunk(now_);
  ASSERT_GT(chunk->runs.size(), 10U);
  begin(chunk);
  core().shut_down();
  EXPECT_FALSE(core().next_chunk(now_));
  EXPECT_EQ(core().given_back(), 498U);
  answer(std::move(first), {{"a", 1}});
  EXPECT_EQ(core().given_back(), 499U) << "what was on its way, too";
  EXPECT_THAT(core().running(), SizeIs(1));
  const auto request = core().next_request(now_);
  EXPECT_THAT(request->reports, SizeIs(499));
  EXPECT_THAT(request->wanted, IsEmpty());
  EXPECT_FALSE(core().next_poll(now_));
  EXPECT_TRUE(core().report().stopping);
}

TEST_F(DispatcherTest, what_still_runs_at_the_end_is_given_back_and_its_words_are_not_heard) {
  queue("a", 2, 0);
  answer(core().next_request(now_), {{"a", 2}});
  const auto first = core().next_chunk(now_);
  const auto second = core().next_chunk(now_);
  const RunPtr settled = begin(first);
  const RunPtr runs = begin(second);
  EXPECT_THAT(settled->settle(Done{}), IsOk());
  core().shut_down();
  EXPECT_EQ(core().give_up(), 2U);
  EXPECT_FALSE(first->returned());
  EXPECT_THAT(runs->settle(Done{}), FailsWith(ErrorCode::conflict));
  const auto request = core().next_request(now_);
  ASSERT_THAT(request->reports, SizeIs(2));
  EXPECT_TRUE(std::holds_alternative<Done>(settled->ending().outcome));
  EXPECT_TRUE(std::holds_alternative<GiveBack>(runs->ending().outcome));
  EXPECT_EQ(core().given_back(), 1U);
}

TEST_F(DispatcherTest, an_exception_after_a_request_to_stop_is_no_failure) {
  queue("a", 1, 0);
  answer(core().next_request(now_), {{"a", 1}});
  const auto chunk = core().next_chunk(now_);
  const RunPtr run = begin(chunk);
  run->ask_to_stop(StopReason::stopping);
  EXPECT_TRUE(chunk->returned());
  run->end_by_failure({.error = {.message = "interrupted"}});
  core().finished(chunk);
  EXPECT_TRUE(std::holds_alternative<GiveBack>(run->ending().outcome));
  EXPECT_EQ(worker_queue().stats.errors, 0U);
}

}  // namespace
}  // namespace millrace::worker
