// The worker without its threads: what it sends, and what it makes of the answers.
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
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

// ---- Sending
// -------------------------------------------------------------------------------------

// S0-119, S2-047
TEST_F(DispatcherTest, keeps_what_ended_while_the_broker_is_away_and_takes_no_more) {
  queue("a", 2, 0);
  answer(core().next_request(now_), {{"a", 2}});
  run(core().next_chunk(now_), 1s);
  const auto away = [] { return fail(ErrorCode::unavailable, "no route"); };
  auto request = core().next_request(now_);
  answer(std::move(*request), away());
  const Moment first = core().next_request_due(now_) - now_;
  EXPECT_GE(first, 4s);
  EXPECT_LE(first, 6s);
  EXPECT_FALSE(core().next_request(now_ + first - 1ms));
  EXPECT_FALSE(core().next_poll(now_ + first - 1ms));
  EXPECT_TRUE(core().sending());
  Moment pause = first;
  for (int i = 0; i < 5; ++i) {
    now_ = core().next_request_due(now_);
    request = core().next_request(now_);
    ASSERT_THAT(request->reports, SizeIs(1));
    answer(std::move(*request), away());
    pause = core().next_request_due(now_) - now_;
  }
  EXPECT_GE(pause, 24s);
  EXPECT_LE(pause, 36s);
  now_ = core().next_request_due(now_);
  answer(core().next_request(now_));
  EXPECT_FALSE(core().sending());
  EXPECT_THAT(stored_, SizeIs(1));
  // S0-120: once when it is lost, once when it is back.
  EXPECT_THAT(logged_.lines(),
              ElementsAre("Error in worker loop: no route", "the broker answers again"));
}

TEST_F(DispatcherTest, two_requests_may_be_under_way_and_each_brings_a_part) {
  options_.requests = 2;
  queue("a", 2, 10);
  const auto first = core().next_request(now_);
  EXPECT_EQ(wanted(first), (Counts{{"a", 5}}));
  const auto second = core().next_request(now_);
  EXPECT_EQ(wanted(second), (Counts{{"a", 5}}));
  EXPECT_FALSE(core().next_request(now_)) << "not a third";
  answer(first, {{"a", 5}});
  EXPECT_EQ(wanted(core().next_request(now_)), (Counts{{"a", 2}})) << "what the two leave";
  answer(second, {{"a", 5}});
  EXPECT_EQ(worker_queue().waiting.size(), 10U);
  run(core().next_chunk(now_), 1ms);
  EXPECT_TRUE(core().has_reports());
  EXPECT_TRUE(core().sending());
}

TEST_F(DispatcherTest, a_queue_found_empty_has_a_poll_of_its_own_where_several_may_be_out) {
  options_.polls = 2;
  for (const char* name : {"a", "b", "c"}) queue(name, 1, 0);
  const auto nothing = core().next_request(now_);
  answer(nothing, {{"b", 1}, {"c", 1}});
  const auto first = core().next_poll(now_);
  EXPECT_EQ(wanted(first), (Counts{{"a", 1}}));
  run(core().next_chunk(now_), 1ms);
  answer(core().next_request(now_));  // it settles, and finds that queue empty
  EXPECT_FALSE(core().should_replace_poll(now_)) << "there may be another";
  const auto second = core().next_poll(now_);
  ASSERT_TRUE(second);
  EXPECT_FALSE(wanted(second).contains("a"));
  run(core().next_chunk(now_), 1ms);
  answer(core().next_request(now_));
  EXPECT_FALSE(core().next_poll(now_)) << "not a third";
  EXPECT_TRUE(core().should_replace_poll(now_));
  answer(first, {{"a", 1}});
  EXPECT_FALSE(core().should_replace_poll(now_));
  EXPECT_TRUE(core().next_poll(now_)) << "the first one is over";
}

TEST_F(DispatcherTest, a_beat_that_is_answered_ends_the_pause) {
  queue("a", 1);
  EXPECT_FALSE(core().broker_answers());
  answer(*core().next_request(now_), fail(ErrorCode::unavailable, "no route"));
  EXPECT_FALSE(core().next_request(now_));
  EXPECT_TRUE(core().broker_answers());
  EXPECT_TRUE(core().next_request(now_));
}

TEST_F(DispatcherTest, nothing_is_due_that_only_an_answer_can_change) {
  queue("a", 1, 0);
  queue("b", 1, 0);
  answer(*core().next_request(now_), fail(ErrorCode::unavailable, "no route"));
  now_ = core().next_request_due(now_);
  auto request = core().next_request(now_);
  ASSERT_TRUE(request);
  EXPECT_EQ(core().next_request_due(now_), no_moment) << "it is on its way";
  EXPECT_EQ(core().next_request_due(now_ + 1s), no_moment);
  // A queue that is refused is asked again later, but not while it is being asked.
  WorkResult refused;
  refused.taken.emplace_back(fail(ErrorCode::not_found, "no queue \"a\""));
  answer(std::move(*request), refused);
  request = core().next_request(now_);
  refused.taken.emplace_back();
  answer(std::move(*request), refused);
  EXPECT_EQ(core().next_request_due(now_), now_ + 5s);
  EXPECT_GT(core().next_request_due(now_ + 5s), now_ + 5s);
  now_ += 5s;
  ASSERT_TRUE(core().next_request(now_));
  EXPECT_EQ(core().next_request_due(now_), no_moment);
}

TEST_F(DispatcherTest, a_request_that_is_too_large_is_sent_in_pieces) {
  queue("a", 4, 0);
  answer(core().next_request(now_), {{"a", 4}});
  for (int i = 0; i < 4; ++i) run(core().next_chunk(now_), 1s);
  const auto too_large = [] { return fail(ErrorCode::too_large, "a body of 8 MiB"); };
  auto request = core().next_request(now_);
  answer(std::move(*request), too_large());
  request = core().next_request(now_);
  EXPECT_THAT(request->reports, SizeIs(2));
  answer(std::move(*request), too_large());
  request = core().next_request(now_);
  EXPECT_THAT(request->reports, SizeIs(1));
  answer(std::move(*request), too_large());
  // The one that cannot be sent has failed; if not even that is heard, its lease will end.
  request = core().next_request(now_);
  ASSERT_THAT(request->reports, SizeIs(1));
  EXPECT_EQ(std::get<Failed>(request->reports.front()->ending().outcome).error.code,
            "settlement_refused");
  answer(std::move(*request), too_large());
  answer(core().next_request(now_));
  answer(core().next_request(now_));
  EXPECT_FALSE(core().sending());
  EXPECT_EQ(worker_queue().refused, 2U);
}

TEST_F(DispatcherTest, results_of_one_request_are_bounded_in_bytes) {
  queue("a", 10, 0);
  answer(core().next_request(now_), {{"a", 10}});
  for (int i = 0; i < 10; ++i) run(core().next_chunk(now_), 1s, Done{std::string(1 << 20, 'x')});
  EXPECT_THAT(core().next_request(now_)->reports, SizeIs(4));
}

TEST_F(DispatcherTest, a_queue_that_is_refused_is_found_and_left_alone_for_a_while) {
  queue("good", 1, 0);
  queue("gone", 1, 0);
  const auto refuse = [&](Request request, std::vector<std::string> refused) {
    WorkResult result;
    const WorkOrder words = core().words_of(request);
    for (const TakeRequest& take : words.takes) {
      const bool bad = std::ranges::any_of(take.queues, [&](const Want& want) {
        return std::ranges::find(refused, std::get<std::string>(want.queue)) != refused.end();
      });
      if (bad) {
        result.taken.emplace_back(fail(ErrorCode::not_found, "no queue \"gone\""));
      } else {
        result.taken.emplace_back();
      }
    }
    answer(std::move(request), std::move(result));
  };
  refuse(*core().next_request(now_), {"gone"});
  auto request = core().next_request(now_);
  EXPECT_THAT(core().words_of(*request).takes, SizeIs(2)) << "to learn which it is";
  refuse(std::move(*request), {"gone"});
  EXPECT_THAT(wanted(core().next_poll(now_)), ElementsAre(Pair("good", 1)));
  EXPECT_FALSE(core().next_request(now_));
  EXPECT_EQ(core().next_request_due(now_), now_ + 5s);
  EXPECT_THAT(logged_.lines(),
              ElementsAre("Error in worker loop: cannot take from queue gone: no queue \"gone\""));
  now_ += 5s;
  EXPECT_THAT(wanted(core().next_request(now_)), ElementsAre(Pair("gone", 1)));
}

TEST_F(DispatcherTest, a_settlement_of_a_lost_lease_is_counted_and_forgotten) {
  queue("a", 1, 0);
  answer(core().next_request(now_), {{"a", 1}});
  run(core().next_chunk(now_), 1s);
  WorkResult result;
  result.settled.emplace_back(fail(ErrorCode::lease_lost, "another token"));
  result.taken.emplace_back();
  answer(*core().next_request(now_), std::move(result));
  EXPECT_FALSE(core().sending());
  EXPECT_EQ(worker_queue().lost, 1U);
  EXPECT_THAT(stored_, IsEmpty());
}

TEST_F(DispatcherTest, what_a_run_said_is_sent_before_its_end) {
  queue("a", 1, 0);
  answer(core().next_request(now_), {{"a", 1}});
  const auto chunk = core().next_chunk(now_);
  chunk->runs.front()->log("hello");
  run(chunk, 1ms);
  auto request = core().next_request(now_);
  EXPECT_THAT(request->reports, IsEmpty());
  ASSERT_THAT(request->extensions, SizeIs(1));
  EXPECT_THAT(request->extensions.front().log, ElementsAre("hello"));
  answer(std::move(*request), fail(ErrorCode::unavailable, "away"));
  now_ = core().next_request_due(now_);
  request = core().next_request(now_);
  EXPECT_THAT(request->extensions.front().log, ElementsAre("hello")) << "nothing is lost";
  answer(std::move(request));
  request = core().next_request(now_);
  EXPECT_THAT(request->reports, SizeIs(1));
  EXPECT_THAT(request->extensions, IsEmpty());
}

}  // namespace
}  // namespace millrace::worker
