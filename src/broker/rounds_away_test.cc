// Rounds over a store that may go away and come back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/rounds.h"
#include "store/store.h"
#include "tests/support/rounds_driver.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::Not;
using ::testing::SizeIs;

class RoundsAway : public ::testing::Test {
 protected:
  static inline const Traits traits{.name = "served", .recovers = true};
  RoundsDriver d{{}, &traits};

  void away() { d.store.failure = Error{ErrorCode::unavailable, "connection lost"}; }
  void back() { d.store.failure.reset(); }
  // Goes on as a runner would, until this much time has passed.
  void live(Duration by) {
    const TimePoint end = d.now + by;
    while (d.rounds->next_wakeup() <= end) {
      d.now = std::max(d.now, d.rounds->next_wakeup());
      d.apply();
      if (d.rounds->needs_flush()) d.flush();
    }
    d.now = end;
  }
  template <class T>
  static void expect_unknown(const Heard<T>& heard) {
    ASSERT_THAT(heard.get(), FailsWith(ErrorCode::unavailable));
    EXPECT_THAT(heard.get().error().message,
                AllOf(HasSubstr("connection lost"), HasSubstr("unknown"), HasSubstr("same id")));
    EXPECT_EQ(heard.get().error().retry_after, 1s);
  }
};

TEST_F(RoundsAway, the_requests_it_had_are_unknown_and_later_ones_go_on) {
  away();
  const auto put = d.put(1);
  const auto take = d.take(2, 1h);
  const auto find = d.find(3, fresh_id());
  d.round();
  expect_unknown(put);
  expect_unknown(take);
  expect_unknown(find);
  EXPECT_THAT(d.calls(), ElementsAre("put 1", "flush"))
      << "nothing is tried again, and nothing of a round that failed at once is flushed";
  ASSERT_TRUE(d.rounds->failure());
  EXPECT_THAT(d.rounds->failure()->message, Not(HasSubstr("unknown")));

  back();
  const auto later = d.put(1);
  d.round();
  EXPECT_THAT(later.get(), IsOk());
  EXPECT_FALSE(d.rounds->failure());
}

TEST_F(RoundsAway, what_was_applied_before_it_went_away_is_flushed_as_ever) {
  const auto put = d.put(1);
  const auto find = d.submit(call_request<int>(
      {2},
      [&](Store&, TimePoint) -> Result<int> {
        return fail(ErrorCode::unavailable, "connection lost");
      },
      never, [](const Result<int>&) {}));
  ASSERT_NE(find.number, 0);
  d.apply();
  EXPECT_FALSE(put.answered());
  d.flush();
  EXPECT_THAT(put.get(), IsOk());
  EXPECT_TRUE(d.rounds->failure()) << "nothing was flushed that came later";
}

TEST_F(RoundsAway, after_a_failed_flush_all_that_was_applied_is_unknown_and_the_rest_goes_on) {
  const auto parked = d.take(1, 1h);
  d.round();
  const auto flushing = d.put(2, {task("r")});
  d.apply();
  const auto applied = d.rounds->applied();
  const auto next = d.put(3, {task("r")});
  d.apply();
  const auto waiting = d.put(4, {task("r")});
  away();
  d.rounds->flushed(applied, d.store.flush()).deliver();
  expect_unknown(flushing);
  expect_unknown(next);
  EXPECT_FALSE(waiting.answered());
  EXPECT_FALSE(parked.answered());
  back();
  d.round();
  EXPECT_THAT(waiting.get(), IsOk());
  EXPECT_FALSE(parked.answered());
}

// The flush covered everything before it, including the calls of a round that is not kept yet.
TEST_F(RoundsAway, a_round_that_runs_while_a_flush_fails_is_unknown) {
  const auto first = d.put(1);
  d.apply();
  const auto second = d.put(2, {task("r")});
  Round round;
  d.rounds->gather(d.now, round).deliver();
  d.rounds->run(round);
  d.rounds->flushed(d.rounds->applied(), fail(ErrorCode::unavailable, "connection lost")).deliver();
  d.rounds->keep(round).deliver();
  expect_unknown(first);
  expect_unknown(second);
  d.flush();
  EXPECT_FALSE(d.rounds->failure());
}

// Its fate is unknown for two reasons, and it is answered once.
TEST_F(RoundsAway, a_round_that_fails_while_a_flush_fails_is_answered_once) {
  const auto first = d.put(1);
  d.apply();
  const auto second = d.put(1, {task("r")});
  const auto third = d.find(1, fresh_id());
  Round round;
  d.rounds->gather(d.now, round).deliver();
  d.rounds->run(round);
  round.failure = Error{ErrorCode::unavailable, "connection lost"};
  d.rounds->flushed(d.rounds->applied(), fail(ErrorCode::unavailable, "connection lost")).deliver();
  d.rounds->keep(round).deliver();
  expect_unknown(first);
  expect_unknown(second);
  expect_unknown(third);
  EXPECT_TRUE(d.rounds->idle());
}

TEST_F(RoundsAway, a_take_whose_caller_left_a_round_that_failed_is_forgotten_once) {
  d.direct.put(task("q"));
  const auto take = d.take(1);
  Round round;
  d.rounds->gather(d.now, round).deliver();
  d.rounds->run(round);
  d.leave(1);
  round.failure = Error{ErrorCode::unavailable, "connection lost"};
  d.rounds->keep(round).deliver();
  EXPECT_FALSE(take.answered());
  EXPECT_EQ(d.rounds->stats().given_back, 1);
  live(1s);
  EXPECT_TRUE(d.rounds->idle());
}

TEST_F(RoundsAway, a_parked_take_stays_and_gets_what_comes_later) {
  const auto parked = d.take(1, 1h, {{"q", 2}});
  d.round();
  away();
  const auto lost = d.put(2);
  d.round();
  expect_unknown(lost);
  live(10s);
  EXPECT_FALSE(parked.answered());
  back();
  const auto put = d.put(2, {task("q"), task("q")});
  live(1s);
  EXPECT_THAT(put.get(), IsOk());
  EXPECT_THAT(leases_of(parked), SizeIs(2)) << "with all that it wanted";
}

TEST_F(RoundsAway, a_parked_take_whose_time_is_over_is_answered) {
  const auto parked = d.take(1, 10s);
  d.round();
  away();
  live(11s);
  expect_unknown(parked);
  EXPECT_GT(d.rounds->next_wakeup(), d.now - 1s);
}

TEST_F(RoundsAway, an_idle_store_is_tried_now_and_then_until_it_is_back) {
  const auto parked = d.take(1, 1h);
  d.round();
  away();
  static_cast<void>(d.put(2));
  d.round();
  d.calls();
  live(10s);
  EXPECT_THAT(d.calls(), SizeIs(AllOf(Ge(20U), Le(90U))));
  back();
  live(300ms);
  EXPECT_FALSE(d.rounds->failure()) << "no request was needed";
  d.calls();
  live(10s);
  EXPECT_THAT(d.calls(), SizeIs(Le(41U))) << "as ever, for the parked take";
}

TEST_F(RoundsAway, without_parked_takes_it_is_tried_and_left_alone_once_it_is_back) {
  away();
  static_cast<void>(d.put(2));
  d.round();
  live(1s);
  back();
  live(1s);
  EXPECT_FALSE(d.rounds->failure());
  EXPECT_EQ(d.rounds->next_wakeup(), never);
}

TEST_F(RoundsAway, tasks_of_a_take_whose_answer_was_lost_are_given_back_when_it_is_back) {
  const TaskId id = d.direct.put(task("q")).id;
  const auto take = d.take(1);
  d.apply();
  away();
  d.flush();
  expect_unknown(take);
  live(2s);
  back();
  EXPECT_EQ(d.direct.find(id).state, TaskState::processing);
  live(300ms);
  EXPECT_EQ(d.direct.find(id).state, TaskState::queued);
  EXPECT_TRUE(d.rounds->idle());
}

TEST_F(RoundsAway, a_task_whose_taker_left_is_given_back_once) {
  const TaskId id = d.direct.put(task("q")).id;
  const auto take = d.take(1);
  d.apply();
  d.leave(1);
  away();
  d.flush();
  back();
  live(300ms);
  EXPECT_EQ(d.direct.find(id).state, TaskState::queued);
  EXPECT_EQ(d.rounds->stats().given_back, 1);
  EXPECT_FALSE(take.answered());
}

TEST_F(RoundsAway, stopping_does_not_wait_for_it) {
  const auto parked = d.take(1, 1h);
  d.round();
  d.direct.put(task("q"));
  const auto take = d.take(2);
  d.apply();
  away();
  d.flush();
  const auto waiting = d.put(3);
  d.rounds->stop().deliver();
  while (!d.rounds->idle()) d.round();
  for (const auto& each : {parked, take}) {
    EXPECT_THAT(each.get(), FailsWith(ErrorCode::unavailable));
  }
  EXPECT_THAT(waiting.get(), FailsWith(ErrorCode::unavailable));
  EXPECT_EQ(d.rounds->next_wakeup(), never);
}

TEST_F(RoundsAway, what_is_refused_for_another_reason_is_no_loss) {
  d.store.failure = Error{ErrorCode::corrupt, "a bad page"};
  const auto find = d.find(1, fresh_id());
  d.apply();
  d.store.failure.reset();
  d.flush();
  EXPECT_THAT(find.get(), FailsWith(ErrorCode::corrupt));
  EXPECT_FALSE(d.rounds->failure());
}

// ---- Hints -------------------------------------------------------------------------------------

TEST_F(RoundsAway, a_hint_makes_parked_takes_of_that_queue_look) {
  const auto parked = d.take(1, 1h);
  d.round();
  d.direct.put(task("q"));
  d.calls();
  d.rounds->hint({"r", "unheard-of"});
  EXPECT_EQ(d.rounds->next_wakeup(), TimePoint::min());
  d.apply();
  EXPECT_THAT(d.calls(), IsEmpty()) << "no take waits for these";
  d.rounds->hint({"q"});
  d.apply();
  EXPECT_THAT(d.calls(), ElementsAre("work 0+0+1")) << "and the store is not asked which are ready";
  d.flush();
  EXPECT_THAT(leases_of(parked), SizeIs(1));
}

TEST_F(RoundsAway, a_hint_that_comes_while_a_take_is_being_parked_is_not_forgotten) {
  const auto take = d.take(1, 1h);
  Round round;
  d.rounds->gather(d.now, round).deliver();
  d.rounds->run(round);
  d.direct.put(task("q"));
  d.rounds->hint({"q"});
  d.rounds->keep(round).deliver();
  EXPECT_EQ(d.rounds->next_wakeup(), TimePoint::min());
  d.round();
  EXPECT_THAT(leases_of(take), SizeIs(1));
}

TEST_F(RoundsAway, a_hint_about_everything_makes_all_parked_takes_look) {
  const auto parked = d.take(1, 1h);
  d.round();
  d.direct.put(task("q"));
  d.rounds->hint_all();
  d.round();
  EXPECT_THAT(leases_of(parked), SizeIs(1));
  EXPECT_GT(d.rounds->next_wakeup(), d.now);
}

TEST_F(RoundsAway, hints_wake_nothing_if_no_take_is_parked) {
  d.rounds->hint({"q"});
  d.rounds->hint_all();
  EXPECT_EQ(d.rounds->next_wakeup(), never);
}

}  // namespace
}  // namespace millrace
