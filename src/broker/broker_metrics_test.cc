#include "broker/broker_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/builders.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(MinuteRate, is_what_happened_in_the_last_60_seconds) {
  MinuteRate rate;
  for (int i = 0; i < 120; ++i) rate.add(t0 + i * 1s, i < 60 ? 100 : 3);
  EXPECT_DOUBLE_EQ(rate.per_second(t0 + 119s, t0), 3);
  EXPECT_DOUBLE_EQ(rate.per_second(t0 + 149s, t0), 1.5);
  EXPECT_DOUBLE_EQ(rate.per_second(t0 + 1h, t0), 0);
}

TEST(MinuteRate, of_a_young_counter_is_taken_over_its_age) {
  MinuteRate rate;
  rate.add(t0 + 1s, 50);
  EXPECT_DOUBLE_EQ(rate.per_second(t0 + 5s, t0), 10);
  EXPECT_DOUBLE_EQ(rate.per_second(t0 + 1s, t0 + 1s), 50);
}

TEST(MinuteRate, survives_long_gaps_and_clocks_that_go_back) {
  MinuteRate rate;
  rate.add(t0, 60);
  rate.add(t0 + 24h, 60);
  EXPECT_DOUBLE_EQ(rate.per_second(t0 + 24h, t0), 1);
  rate.add(t0, 60);
  EXPECT_DOUBLE_EQ(rate.per_second(t0 + 24h, t0), 2);
}

TEST(BrokerMetrics, are_kept_per_queue) {
  BrokerMetrics metrics(t0);
  {
    BrokerMetrics::Writing writing(metrics);
    writing.of("a").put(3, t0);
    writing.of("b").put(4, t0);
    writing.of("a").put(1, t0);
  }
  EXPECT_EQ(metrics.of("a", t0).put, 4U);
  EXPECT_EQ(metrics.of("b", t0).put, 4U);
  EXPECT_EQ(metrics.of("c", t0).put, 0U);
  EXPECT_EQ(metrics.of("c", t0).since, t0);
  metrics.forget("a");
  EXPECT_EQ(metrics.of("a", t0).put, 0U);
}

TEST(BrokerMetrics, failures_and_retries_have_rates_of_their_own) {
  BrokerMetrics metrics(t0 - 1h);
  {
    BrokerMetrics::Writing writing(metrics);
    Tally& tally = writing.of("q");
    for (int i = 0; i < 6; ++i) tally.ended(Event::done, 1s, t0);
    for (int i = 0; i < 3; ++i) tally.ended(Event::exhaust, 1s, t0);
    tally.ended(Event::fail, 1s, t0);
    for (int i = 0; i < 12; ++i) tally.ended(Event::retry, 1s, t0);
  }
  const QueueStats found = metrics.of("q", t0);
  EXPECT_DOUBLE_EQ(found.finish_rate, 10.0 / 60);
  EXPECT_DOUBLE_EQ(found.fail_rate, 4.0 / 60);
  EXPECT_DOUBLE_EQ(found.retry_rate, 12.0 / 60);
  EXPECT_EQ(metrics.of("q", t0 + 2min).fail_rate, 0);
}

TEST(BrokerMetrics, negative_times_count_as_none) {
  BrokerMetrics metrics(t0);
  BrokerMetrics::Writing(metrics).of("q").taken(-5s, t0);
  BrokerMetrics::Writing(metrics).of("q").taken(5s, t0);
  EXPECT_DOUBLE_EQ(metrics.of("q", t0).mean_wait_seconds, 2.5);
}

std::vector<std::string> names(BrokerMetrics& metrics) {
  std::vector<std::string> all;
  for (const TypeMetrics& each : metrics.types()) {
    all.push_back(each.queue + "/" + each.type + " " + std::to_string(each.put));
  }
  return all;
}

void count(BrokerMetrics& metrics, const std::string& queue, const std::string& type,
           TimePoint now = t0) {
  BrokerMetrics::Writing writing(metrics, now);
  const BrokerMetrics::Row& row = writing.row(queue, type);
  ++row.type->counts[static_cast<std::size_t>(Counted::put)];
  if (row.minute != nullptr) ++row.minute->counts[static_cast<std::size_t>(Counted::put)];
}

TEST(BrokerMetrics, types_beyond_the_bound_of_a_queue_are_others_of_it) {
  BrokerMetrics metrics(t0, {.types_per_queue = 2});
  for (const char* type : {"a", "b", "c", "d", "a", "other"}) count(metrics, "q", type);
  count(metrics, "r", "c");
  EXPECT_THAT(names(metrics), ElementsAre("q/a 2", "q/b 1", "q/other 3", "r/c 1"));
}

TEST(BrokerMetrics, types_beyond_the_bound_of_all_are_others_of_all) {
  BrokerMetrics metrics(t0, {.types_per_queue = 2, .types = 4});
  for (const char* type : {"a", "b", "c"}) count(metrics, "q", type);
  for (const char* type : {"a", "b", "c"}) count(metrics, "r", type);
  EXPECT_THAT(names(metrics), ElementsAre("q/a 1", "q/b 1", "q/other 1", "r/a 1", "other/other 2"));
  count(metrics, "q", "z");
  metrics.forget("q");
  count(metrics, "r", "b");
  EXPECT_THAT(names(metrics), ElementsAre("r/a 1", "r/b 1", "other/other 2"));
}

TEST(BrokerMetrics, many_names_cost_little) {
  BrokerMetrics metrics(t0, {.minutes = true});
  for (int i = 0; i < 30'000; ++i) count(metrics, "q" + std::to_string(i), "t");
  EXPECT_THAT(metrics.types(), SizeIs(10'001));
  std::size_t rows = 0;
  const auto look = [&](TimePoint, std::string_view, std::string_view) { return ++rows != 0; };
  metrics.sum_minutes(t0, look);
  EXPECT_EQ(rows, 10'001U);
  // Queues that come and go.
  for (int i = 0; i < 30'000; ++i) {
    metrics.forget("q0");
    count(metrics, "q0", "t");
  }
  rows = 0;
  const auto sums = metrics.sum_minutes(t0, look);
  EXPECT_LE(rows, 20'001U);
  ASSERT_THAT(sums, SizeIs(1));
  EXPECT_EQ(sums[0].second.counts[0], 60'000U);
}

TEST(BrokerMetrics, minutes_are_added_up_by_what_is_wanted) {
  BrokerMetrics metrics(t0, {.minutes = true});
  for (const TimePoint at : {t0, t0 + 60s}) {
    for (const char* queue : {"q", "r"}) {
      for (const char* type : {"a", "b"}) count(metrics, queue, type, at);
    }
  }
  const auto q = metrics.sum_minutes(
      t0 + 61s, [](TimePoint, std::string_view queue, std::string_view) { return queue == "q"; });
  ASSERT_THAT(q, SizeIs(2));
  EXPECT_EQ(q[0].first, t0);
  EXPECT_EQ(q[1].first, t0 + 60s);
  EXPECT_EQ(q[0].second.counts[0], 2U);
  EXPECT_THAT(metrics.sum_minutes(
                  t0 + 61s, [](TimePoint, std::string_view, std::string_view) { return false; }),
              SizeIs(0));
}

TEST(BrokerMetrics, writers_go_on_while_minutes_are_added_up) {
  BrokerMetrics metrics(t0, {.minutes = true});
  for (int i = 0; i < 200; ++i) count(metrics, "q" + std::to_string(i), "t");
  std::optional<std::thread> other;
  std::size_t rows = 0;
  const auto sums = metrics.sum_minutes(t0, [&](TimePoint, std::string_view, std::string_view) {
    // The minute ends, and is given out, before all of it was seen.
    if (++rows == 10) {
      other.emplace([&] {
        count(metrics, "q0", "t", t0 + 60s);
        EXPECT_THAT(metrics.finished(t0 + 60s), SizeIs(1));
      });
    }
    return true;
  });
  other->join();
  EXPECT_EQ(rows, 200U);
  ASSERT_THAT(sums, SizeIs(1));
  EXPECT_EQ(sums[0].second.counts[0], 200U);
}

TEST(BrokerMetrics, priorities_are_bounded_too) {
  BrokerMetrics metrics(t0, {.priority_types = 2, .priorities = true});
  for (const char* type : {"a", "b", "c", "d"}) {
    BrokerMetrics::Writing(metrics).ended(type, 5, true, 1s);
  }
  const auto all = metrics.priorities();
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all[2].type, "other");
  EXPECT_EQ(all[2].completed, 2U);
}

TEST(BrokerMetrics, every_minute_is_given_once) {
  BrokerMetrics metrics(t0, {.minutes = true});
  count(metrics, "q", "t", t0 + 1s);
  EXPECT_THAT(metrics.finished(t0 + 59s), SizeIs(0));
  // Threads may arrive out of order.
  count(metrics, "q", "t", t0 + 60s);
  count(metrics, "q", "t", t0 + 59s);
  const auto first = metrics.finished(t0 + 61s);
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_EQ(first[0]->at, t0);
  EXPECT_EQ(first[0]->rows.front()->counts[0], 1U);
  EXPECT_THAT(metrics.finished(t0 + 61s), SizeIs(0));
  const auto rest = metrics.finished(t0 + 62s, true);
  ASSERT_THAT(rest, SizeIs(1));
  EXPECT_EQ(rest[0]->rows.front()->counts[0], 2U);
  // If minutes are not collected, only a few are kept.
  for (int i = 2; i < 100; ++i) count(metrics, "q", "t", t0 + i * 1min);
  EXPECT_THAT(metrics.finished(t0 + 100min), SizeIs(3));
}

}  // namespace
}  // namespace millrace
