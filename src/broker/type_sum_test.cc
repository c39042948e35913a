// The types of a queue, read through a LocalBroker that writes its history.
#include "broker/type_sum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "broker/local_broker.h"
#include "tests/support/broker_driver.h"
#include "tests/support/matchers.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::DoubleNear;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::SizeIs;

LocalBrokerOptions with_history() {
  LocalBrokerOptions options;
  options.rules.history = true;
  return options;
}

class TypeSumTest : public ::testing::Test {
 protected:
  TypesPast types(HistoryRequest request) {
    return must(d.wait<TypesPast>(
        [&](auto done) { d.broker->types(d.ask(), std::move(request), std::move(done)); }));
  }
  void put(const std::string& queue, const std::string& type, int count = 1) {
    must(d.try_put(
        std::vector<NewTask>(static_cast<std::size_t>(count), {.queue = queue, .type = type})));
  }
  void life(const std::string& queue, const std::string& type, Duration waits, Duration runs,
            Outcome outcome = Done{}) {
    put(queue, type);
    d.pass(waits);
    const Lease lease = d.take_one(queue);
    d.pass(runs);
    d.settle(lease, std::move(outcome));
  }
  void next_minute() {
    d.clock.advance(beginning_of(history_minute, d.now()) + 1min - d.now());
    d.broker->run_services();
  }

  BrokerDriver d{with_history()};
};

TEST_F(TypeSumTest, types_are_added_up_over_all_the_time_written_or_not) {
  d.broker->run_services();
  life("q", "a", 200ms, 1s);
  next_minute();
  life("q", "a", 200ms, 1s);
  life("q", "b", 0ms, 4s, Failed{error("no"), false});
  life("other", "a", 0ms, 1s);
  for (const Duration step : {Duration(1min), Duration(1h)}) {
    const TypesPast past = types({.queue = "q", .step = step});
    ASSERT_THAT(past.types, SizeIs(2));
    const TypePast& a = past.types[0];
    EXPECT_EQ(a.type, "a");
    EXPECT_EQ(a.sum.put, 2U);
    EXPECT_EQ(a.sum.completed, 2U);
    EXPECT_EQ(a.sum.failed, 0U);
    EXPECT_THAT(a.sum.run_p99, Optional(DoubleNear(1, 0.15)));
    EXPECT_THAT(a.sum.wait_p50, Optional(DoubleNear(0.2, 0.03)));
    EXPECT_EQ(past.types[1].type, "b");
    EXPECT_EQ(past.types[1].sum.failed, 1U);
    EXPECT_EQ(past.all.sum.put, 3U);
    EXPECT_EQ(past.all.sum.completed, 2U);
    EXPECT_THAT(past.all.sum.run_p50, Optional(DoubleNear(1, 0.15)));
    EXPECT_THAT(past.all.sum.run_p99, Optional(DoubleNear(4, 0.5)));
  }
}

TEST_F(TypeSumTest, what_was_before_is_left_out) {
  d.broker->run_services();
  life("q", "old", 0ms, 1s);
  next_minute();
  next_minute();
  const TimePoint from = d.now();
  life("q", "new", 0ms, 1s);
  const TypesPast past = types({.queue = "q", .from = from});
  ASSERT_THAT(past.types, SizeIs(1));
  EXPECT_EQ(past.types[0].type, "new");
  EXPECT_EQ(past.all.sum.at, beginning_of(history_minute, from));
  EXPECT_EQ(past.first, beginning_of(history_minute, from));
  EXPECT_THAT(types({.queue = "nothing"}).types, IsEmpty());
  EXPECT_EQ(types({.queue = "nothing"}).first, std::nullopt);
}

TEST_F(TypeSumTest, dead_ones_are_among_those_that_failed) {
  d.broker->run_services();
  must(d.try_put({NewTask{.queue = "q", .retry = RetryRules{.max_retries = 0}}}));
  d.settle(d.take_one("q"), Failed{error("no"), true});
  const TypesPast past = types({.queue = "q"});
  EXPECT_EQ(past.all.sum.failed, 1U);
  EXPECT_EQ(past.all.dead, 1U);
}

TEST(TypeSum, of_very_many_types_the_busiest_are_told_and_the_rest_together) {
  TypeSum sum;
  const HistorySum asked({.queue = "q"});
  for (int i = 0; i < 120; ++i) {
    MinuteRow row{.queue = "q", .type = "t" + std::to_string(i)};
    row.counts[static_cast<std::size_t>(Counted::put)] = i < 99 ? 3 : 1;
    sum.add(asked, t0, row);
  }
  MinuteRow other{.queue = "q", .type = "other"};
  other.counts[static_cast<std::size_t>(Counted::put)] = 1000;
  sum.add(asked, t0, other);
  const TypesPast past = sum.past(t0);
  ASSERT_THAT(past.types, SizeIs(TypesPast::most));
  EXPECT_EQ(past.types.front().sum.put, 3U);
  EXPECT_EQ(past.types.back().type, "other");
  EXPECT_EQ(past.types.back().sum.put, 1021U);
  EXPECT_EQ(past.all.sum.put, 1318U);
}

}  // namespace
}  // namespace millrace
