#include "worker/hand.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace millrace::worker {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const RunHost nobody;

std::vector<RunPtr> runs(std::size_t count) {
  std::vector<RunPtr> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(std::make_shared<Run>(Lease{.number = {i}}, 0, nobody, std::nullopt,
                                        Acknowledge::automatic));
  }
  return all;
}

TEST(Hand, gives_one_task_a_call) {
  Hand hand(0, runs(2), {}, Moment{});
  EXPECT_TRUE(hand.has_several_calls());
  EXPECT_THAT(hand.next_call(), SizeIs(1));
  EXPECT_TRUE(hand.returned());
  EXPECT_THAT(hand.next_call(), SizeIs(1));
  EXPECT_TRUE(hand.returned());
  EXPECT_THAT(hand.next_call(), IsEmpty());
}

TEST(Hand, gives_as_many_as_was_said) {
  Hand hand(0, runs(5), {3, 5}, Moment{});
  EXPECT_TRUE(hand.has_several_calls());
  EXPECT_THAT(hand.next_call(), SizeIs(3));
  const auto call = hand.call();
  ASSERT_TRUE(call);
  EXPECT_EQ(call->from, 0U);
  EXPECT_EQ(call->to, 3U);
  EXPECT_TRUE(hand.returned());
  EXPECT_FALSE(hand.call());
  EXPECT_THAT(hand.next_call(), SizeIs(2));
  EXPECT_FALSE(Hand(0, runs(5), {5}, Moment{}).has_several_calls());
}

TEST(Hand, what_is_not_begun_can_be_reclaimed) {
  Hand hand(0, runs(4), {}, Moment{});
  EXPECT_THAT(hand.next_call(), SizeIs(1));
  const auto rest = hand.reclaim();
  ASSERT_THAT(rest, SizeIs(3));
  EXPECT_EQ(rest.front()->lease.number.value, 1U);
  EXPECT_TRUE(hand.returned());
  EXPECT_THAT(hand.next_call(), IsEmpty());
  EXPECT_THAT(hand.reclaim(), IsEmpty());
}

TEST(Hand, an_abandoned_call_does_not_return) {
  Hand hand(0, runs(2), {}, Moment{});
  EXPECT_FALSE(hand.call());
  EXPECT_THAT(hand.next_call(), SizeIs(1));
  const auto first = hand.call();
  EXPECT_TRUE(hand.returned());
  EXPECT_FALSE(hand.abandon(*first)) << "it had come back";
  EXPECT_THAT(hand.next_call(), SizeIs(1));
  EXPECT_FALSE(hand.abandon(*first)) << "this is another call";
  EXPECT_TRUE(hand.abandon(*hand.call()));
  EXPECT_FALSE(hand.returned());
  EXPECT_FALSE(hand.call());
}

// Every task is run or reclaimed, and none both.
TEST(Hand, a_processor_and_a_reclaimer_never_have_the_same_task) {
  for (int round = 0; round < 300; ++round) {
    Hand hand(0, runs(50), {}, Moment{});
    std::size_t ran = 0;
    std::atomic<bool> go = false;
    std::thread processor([&] {
      while (!go) {
      }
      for (auto call = hand.next_call(); !call.empty(); call = hand.next_call()) {
        ran += call.front() ? 1 : 1000;
        EXPECT_TRUE(hand.returned());
      }
    });
    go = true;
    const std::size_t reclaimed = hand.reclaim().size();
    processor.join();
    ASSERT_EQ(ran + reclaimed, 50U);
  }
}

}  // namespace
}  // namespace millrace::worker
