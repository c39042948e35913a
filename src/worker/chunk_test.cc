#include "worker/chunk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "tests/support/quiet_host.h"

namespace millrace::worker {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

test::QuietHost no_host;

std::vector<RunPtr> runs(std::size_t count) {
  std::vector<RunPtr> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(std::make_shared<Run>(Lease{.number = {i}}, 0, no_host, std::nullopt,
                                        Acknowledge::automatic));
  }
  return all;
}

TEST(Chunk, gives_one_task_per_call) {
  Chunk chunk(0, runs(2), {}, Moment{});
  EXPECT_TRUE(chunk.has_several_calls());
  EXPECT_THAT(chunk.next_call(), SizeIs(1));
  EXPECT_TRUE(chunk.returned());
  EXPECT_THAT(chunk.next_call(), SizeIs(1));
  EXPECT_TRUE(chunk.returned());
  EXPECT_THAT(chunk.next_call(), IsEmpty());
}

TEST(Chunk, gives_as_many_as_was_said) {
  Chunk chunk(0, runs(5), {3, 5}, Moment{});
  EXPECT_TRUE(chunk.has_several_calls());
  EXPECT_THAT(chunk.next_call(), SizeIs(3));
  const auto call = chunk.call();
  ASSERT_TRUE(call);
  EXPECT_EQ(call->from, 0U);
  EXPECT_EQ(call->to, 3U);
  EXPECT_TRUE(chunk.returned());
  EXPECT_FALSE(chunk.call());
  EXPECT_THAT(chunk.next_call(), SizeIs(2));
  EXPECT_FALSE(Chunk(0, runs(5), {5}, Moment{}).has_several_calls());
}

TEST(Chunk, what_is_not_begun_can_be_reclaimed) {
  Chunk chunk(0, runs(4), {}, Moment{});
  EXPECT_THAT(chunk.next_call(), SizeIs(1));
  const auto rest = chunk.reclaim();
  ASSERT_THAT(rest, SizeIs(3));
  EXPECT_EQ(rest.front()->lease.number.value, 1U);
  EXPECT_TRUE(chunk.returned());
  EXPECT_THAT(chunk.next_call(), IsEmpty());
  EXPECT_THAT(chunk.reclaim(), IsEmpty());
}

TEST(Chunk, an_abandoned_call_does_not_return) {
  Chunk chunk(0, runs(2), {}, Moment{});
  EXPECT_FALSE(chunk.call());
  EXPECT_THAT(chunk.next_call(), SizeIs(1));
  const auto first = chunk.call();
  EXPECT_TRUE(chunk.returned());
  EXPECT_FALSE(chunk.abandon(*first)) << "it had come back";
  EXPECT_THAT(chunk.next_call(), SizeIs(1));
  EXPECT_FALSE(chunk.abandon(*first)) << "this is another call";
  EXPECT_TRUE(chunk.abandon(*chunk.call()));
  EXPECT_FALSE(chunk.returned());
  EXPECT_FALSE(chunk.call());
}

// Every task is run or reclaimed, and none both.
TEST(Chunk, a_processor_and_a_reclaimer_never_have_the_same_task) {
  for (int round = 0; round < 300; ++round) {
    Chunk chunk(0, runs(50), {}, Moment{});
    std::size_t ran = 0;
    std::atomic<bool> go = false;
    std::thread processor([&] {
      while (!go) {
      }
      for (auto call = chunk.next_call(); !call.empty(); call = chunk.next_call()) {
        ran += call.front() ? 1 : 1000;
        EXPECT_TRUE(chunk.returned());
      }
    });
    go = true;
    const std::size_t reclaimed = chunk.reclaim().size();
    processor.join();
    ASSERT_EQ(ran + reclaimed, 50U);
  }
}

}  // namespace
}  // namespace millrace::worker
