// The worker without its threads: what it finds due.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/driven_dispatcher.h"
#include "tests/support/matchers.h"

namespace millrace::worker {
namespace {

using namespace millrace::test;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

// ---- What is due
// ---------------------------------------------------------------------------------

TEST_F(DispatcherTest, leases_are_extended_long_before_they_end) {
  queue("a", 1, 5);
  answer(core().next_request(now_), {{"a", 3}});
  const auto chunk = core().next_chunk(now_);
  begin(chunk);
  EXPECT_FALSE(core().next_heartbeats(now_));
  const Moment next = core().next_upkeep(now_);
  EXPECT_GT(next, now_ + 5s);
  EXPECT_LE(next, now_ + 10s);
  now_ += 10s;
  auto heartbeats = core().next_heartbeats(now_);
  ASSERT_TRUE(heartbeats);
  EXPECT_THAT(heartbeats->extensions, SizeIs(3)) << "running and waiting";
  EXPECT_FALSE(core().next_heartbeats(now_)) << "one at a time";
  Due due;
  Result<WorkResult> result = WorkResult{};
  for (int i = 0; i < 3; ++i) result->extended.emplace_back(Extended{});
  core().heartbeats_answered(*heartbeats, result, now_, due);
  EXPECT_GT(core().next_upkeep(now_), now_ + 5s);
  // One whose end is on its way is not extended.
  now_ += 10s;
  EXPECT_TRUE(chunk->returned());
  chunk->runs.front()->end(Done{}, true);
  core().finished(chunk);
  EXPECT_THAT(core().next_heartbeats(now_)->extensions, SizeIs(2));
}

TEST_F(DispatcherTest, a_heartbeat_that_fails_is_tried_again_soon) {
  queue("a", 1, 0);
  answer(core().next_request(now_), {{"a", 1}});
  const RunPtr run = begin(core().next_chunk(now_));
  run->progress(12);
  now_ += 10s;
  auto heartbeats = core().next_heartbeats(now_);
  EXPECT_EQ(heartbeats->extensions.front().progress, 12);
  Due due;
  Result<WorkResult> result = fail(ErrorCode::unavailable, "away");
  core().heartbeats_answered(*heartbeats, result, now_, due);
  EXPECT_FALSE(core().next_heartbeats(now_));
  now_ += 6s;
  EXPECT_EQ(core().next_heartbeats(now_)->extensions.front().progress, 12);
}

// D-16
TEST_F(DispatcherTest, what_has_ended_but_is_not_stored_keeps_its_lease) {
  queue("a", 1, 0);
  answer(core().next_request(now_), {{"a", 1}});
  run(core().next_chunk(now_), 1s);
  answer(*core().next_request(now_), fail(ErrorCode::unavailable, "settlements hang"));
  EXPECT_FALSE(core().next_heartbeats(now_));
  const Moment next = core().next_upkeep(now_);
  EXPECT_GT(next, now_);
  EXPECT_LE(next, now_ + 10s);
  now_ = next;
  auto heartbeats = core().next_heartbeats(now_);
  ASSERT_TRUE(heartbeats);
  EXPECT_THAT(heartbeats->extensions, SizeIs(1));
  Due due;
  Result<WorkResult> result = WorkResult{};
  result->extended.emplace_back(Extended{.cancel_requested = true});
  core().heartbeats_answered(*heartbeats, result, now_, due);
  EXPECT_THAT(due.stops, IsEmpty()) << "it has ended";
  EXPECT_FALSE(core().next_heartbeats(now_));
  EXPECT_GT(core().next_upkeep(now_), now_);
  now_ += 10s;
  auto request = core().next_request(now_);
  ASSERT_TRUE(request);
  EXPECT_THAT(request->reports, SizeIs(1));
  answer(std::move(request));
  EXPECT_EQ(core().next_upkeep(now_ + 10s), no_moment);
}

TEST_F(DispatcherTest, signs_of_life_are_sent_within_a_second) {
  queue("a", 1, 0);
  answer(core().next_request(now_), {{"a", 1}});
  const RunPtr run = begin(core().next_chunk(now_));
  now_ += 500ms;
  run->progress(50);
  EXPECT_FALSE(core().next_heartbeats(now_)) << "a short run tells it with its end";
  EXPECT_EQ(core().next_upkeep(now_), now_ + 500ms);
  now_ += 500ms;
  EXPECT_TRUE(core().next_heartbeats(now_));
}

TEST_F(DispatcherTest, an_end_does_not_overtake_a_heartbeat_with_signs) {
  queue("a", 1, 0);
  answer(core().next_request(now_), {{"a", 1}});
  const auto chunk = core().next_chunk(now_);
  const RunPtr run = begin(chunk);
  run->log("nearly done");
  now_ += 1s;
  auto heartbeats = core().next_heartbeats(now_);
  ASSERT_TRUE(heartbeats);
  EXPECT_TRUE(chunk->returned());
  run->end(Done{}, true);
  core().finished(chunk);
  EXPECT_THAT(core().next_request(now_)->reports, IsEmpty()) << "takes only";
  Due due;
  Result<WorkResult> result = WorkResult{};
  result->extended.emplace_back(Extended{});
  core().heartbeats_answered(*heartbeats, result, now_, due);
  EXPECT_TRUE(core().sending());
}

TEST_F(DispatcherTest, a_waiting_task_that_was_cancelled_is_not_run) {
  queue("a", 1, 5);
  answer(core().next_request(now_), {{"a", 2}});
  const RunPtr running = begin(core().next_chunk(now_));
  now_ += 10s;
  auto heartbeats = core().next_heartbeats(now_);
  Due due;
  Result<WorkResult> result = WorkResult{};
  for (int i = 0; i < 2; ++i) result->extended.emplace_back(Extended{.cancel_requested = true});
  core().heartbeats_answered(*heartbeats, result, now_, due);
  EXPECT_THAT(due.stops, ElementsAre(Pair(running, StopReason::cancelled)));
  EXPECT_TRUE(worker_queue().waiting.empty());
  const auto request = core().next_request(now_);
  ASSERT_THAT(request->reports, SizeIs(1));
  EXPECT_TRUE(std::holds_alternative<Cancel>(request->reports.front()->ending().outcome));
}

// D-16
TEST_F(DispatcherTest, of_a_lost_lease_nothing_is_sent) {
  queue("a", 1, 5);
  answer(core().next_request(now_), {{"a", 2}});
  const auto chunk = core().next_chunk(now_);
  const RunPtr running = begin(chunk);
  now_ += 10s;
  auto heartbeats = core().next_heartbeats(now_);
  Due due;
  Result<WorkResult> result = WorkResult{};
  for (int i = 0; i < 2; ++i) result->extended.emplace_back(fail(ErrorCode::lease_lost, "gone"));
  core().heartbeats_answered(*heartbeats, result, now_, due);
  EXPECT_THAT(due.stops, Contains(Pair(running, StopReason::lease_lost)));
  EXPECT_TRUE(worker_queue().waiting.empty());
  EXPECT_TRUE(chunk->returned());
  EXPECT_FALSE(running->end(Done{}, true));
  core().finished(chunk);
  EXPECT_FALSE(core().has_reports());
  EXPECT_EQ(worker_queue().lost, 2U);
  EXPECT_EQ(worker_queue().left, 0U);
}

TEST_F(DispatcherTest, time_is_up_then_grace_then_the_call_is_abandoned) {
  queue("a", 1, 5).grace = 5s;
  timeout_ = 30s;
  answer(core().next_request(now_), {{"a", 2}});
  const auto chunk = core().next_chunk(now_);
  begin(chunk);
  const Moment begun = now_;
  now_ = begun + 30s - 1ms;
  EXPECT_THAT(look(), IsEmpty());
  now_ = begun + 30s;
  EXPECT_THAT(look(), ElementsAre(StopReason::timed_out));
  EXPECT_THAT(look(), IsEmpty()) << "once";
  auto heartbeats = core().next_heartbeats(now_);
  ASSERT_TRUE(heartbeats);
  EXPECT_EQ(core().next_upkeep(now_), now_ + 5s);
  Due due;
  Result<WorkResult> result = fail(ErrorCode::unavailable, "away");
  core().heartbeats_answered(*heartbeats, result, now_, due);
  EXPECT_FALSE(core().has_reports());
  now_ = begun + 35s - 1ms;
  look();
  EXPECT_EQ(core().busy(), 1U);
  now_ = begun + 35s;
  look();
  EXPECT_EQ(abandoned_, 1U);
  EXPECT_EQ(core().busy(), 0U);
  EXPECT_FALSE(chunk->returned());
  const auto request = core().next_request(now_);
  ASSERT_TRUE(request);
  EXPECT_EQ(std::get<Failed>(request->reports.front()->ending().outcome).error.message,
            "timed out after 30 s");
  EXPECT_EQ(worker_queue().timed_out, 1U);
}

TEST_F(DispatcherTest, a_queue_whose_handlers_do_not_come_back_is_left_alone) {
  queue("a", 2, 5).grace = 0s;
  queue("b", 1, 0);
  timeout_ = 1s;
  answer(core().next_request(now_), {{"a", 7}, {"b", 1}});
  std::vector<ChunkPtr> chunks;
  while (auto chunk = core().next_chunk(now_)) {
    begin(chunk);
    chunks.push_back(chunk);
  }
  ASSERT_THAT(chunks, SizeIs(3));
  now_ += 1s;
  look();
  EXPECT_EQ(worker_queue(0).abandoned, 2U);
  EXPECT_TRUE(worker_queue(0).stuck);
  EXPECT_TRUE(worker_queue(0).waiting.empty()) << "given back";
  EXPECT_THAT(logged_.lines(), Contains(HasSubstr("queue a: 2 handlers do not return; nothing "
                                                  "is taken from the queue until one does")));
  auto request = core().next_request(now_);
  EXPECT_FALSE(wanted(request).contains("a"));
  answer(std::move(request));
  core().came_back(*chunks[0]);
  EXPECT_THAT(logged_.lines(), Contains(HasSubstr("queue a: a handler has returned")));
  EXPECT_TRUE(wanted(core().next_request(now_)).contains("a"));
}

TEST_F(DispatcherTest, no_more_calls_are_abandoned_than_may_run_at_once) {
  queue("a", 2, 0).grace = 0s;
  timeout_ = 1s;
  answer(core().next_request(now_), {{"a", 2}});
  const auto first = core().next_chunk(now_);
  const auto second = core().next_chunk(now_);
  begin(first);
  now_ += 500ms;
  begin(second);
  now_ += 500ms;
  look();
  ASSERT_EQ(worker_queue().abandoned, 1U);
  answer(core().next_request(now_), {{"a", 1}});
  const auto third = core().next_chunk(now_);
  begin(third);
  now_ += 500ms;
  look();
  EXPECT_TRUE(worker_queue().stuck);
  answer(core().next_request(now_));
  now_ += 500ms;
  look();
  EXPECT_EQ(worker_queue().abandoned, 2U);
  EXPECT_EQ(core().busy(), 1U) << "it keeps its thread";
  auto request = core().next_request(now_);
  ASSERT_TRUE(request);
  EXPECT_THAT(request->reports, SizeIs(1)) << "but its task has ended";
  EXPECT_THAT(request->wanted, IsEmpty());
  answer(std::move(request));
  core().came_back(*first);
  look();
  EXPECT_EQ(worker_queue().abandoned, 2U) << "now there is room for it";
  EXPECT_EQ(core().busy(), 0U);
}

TEST_F(DispatcherTest, a_batch_is_abandoned_when_the_time_of_all_is_up) {
  queue("a", 1, 0).batch_size = 2;
  queues_[0].grace = 0s;
  timeout_ = 1s;
  answer(core().next_request(now_), {{"a", 2}});
  const auto chunk = core().next_chunk(now_);
  begin(chunk);
  chunk->runs[1]->begin(now_ + 1s);
  now_ += 1s;
  EXPECT_THAT(look(), SizeIs(1));
  EXPECT_EQ(abandoned_, 0U);
  EXPECT_TRUE(core().has_reports()) << "the first is spoken for";
  now_ += 1s;
  look();
  EXPECT_EQ(abandoned_, 1U);
}

TEST_F(DispatcherTest, what_waits_although_it_should_not_is_given_back) {
  queue("a", 1);
  answer(core().next_request(now_), {{"a", 1}});
  run(core().next_chunk(now_), 1ms);
  for (int i = 0; i < 5; ++i) {
    auto request = core().next_request(now_);
    if (!request) break;
    const auto counts = wanted(request);
    answer(std::move(request), counts);
  }
  const auto chunk = core().next_chunk(now_);
  begin(chunk);
  EXPECT_FALSE(worker_queue().waiting.empty());
  now_ += 1999ms;
  look();
  EXPECT_FALSE(worker_queue().waiting.empty());
  now_ += 1ms;
  look();
  EXPECT_TRUE(worker_queue().waiting.empty());
  EXPECT_EQ(worker_queue().most_ahead(), 0U) << "its tasks are slower than it seemed";
}

TEST_F(DispatcherTest, a_task_whose_lease_would_not_last_is_given_back_instead_of_run) {
  queue("a", 1, 5);
  timeout_ = 10min;
  answer(core().next_request(now_), {{"a", 2}});
  now_ += 21s;
  EXPECT_FALSE(core().next_chunk(now_));
  EXPECT_EQ(core().given_back(), 2U);
}

}  // namespace
}  // namespace millrace::worker
