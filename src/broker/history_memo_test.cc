#include "broker/history_memo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "core/limits.h"
#include "tests/support/driver.h"
#include "tests/support/matchers.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::SizeIs;

MinuteRow row(std::string queue, std::string type, std::uint32_t put = 1) {
  MinuteRow row{.queue = std::move(queue), .type = std::move(type)};
  row.counts[static_cast<std::size_t>(Counted::put)] = put;
  return row;
}

HistoryMemo memo_of(const std::vector<MinuteRow>& rows) {
  HistoryMemo memo;
  for (const MinuteRow& each : rows) memo.add(each);
  return memo;
}

QueueCounts depth(std::string queue, std::uint64_t waiting, std::uint64_t running = 0) {
  QueueCounts counts{.queue = std::move(queue)};
  counts.by[static_cast<std::size_t>(TaskState::queued)][5] = waiting;
  counts.by[static_cast<std::size_t>(TaskState::processing)][5] = running;
  return counts;
}

std::uint64_t puts(const HistoryMemo& memo) {
  std::uint64_t sum = 0;
  for (const auto& [name, queue] : memo.queues()) {
    for (const auto& [type, each] : queue.types) sum += each.counts[0];
  }
  return sum;
}
std::size_t rows(const HistoryMemo& memo) {
  std::size_t sum = 0;
  for (const auto& [name, queue] : memo.queues()) sum += queue.types.size();
  return sum;
}
std::uint64_t waiting(const HistoryMemo& memo) {
  std::uint64_t sum = 0;
  for (const auto& [name, queue] : memo.queues()) sum += queue.waiting;
  return sum;
}

HistoryMemo random_memo(std::minstd_rand& random, std::uint_fast32_t most) {
  HistoryMemo memo;
  for (auto n = random() % most; n != 0; --n) {
    MinuteRow each = row("q" + std::to_string(random() % 20), "t" + std::to_string(random() % 20));
    for (auto& count : each.counts)
      count = random() % 3 == 0 ? static_cast<std::uint32_t>(random()) : 0;
    for (auto k = random() % 20; k != 0; --k)
      each.waited[random() % fine_buckets] = static_cast<std::uint32_t>(random());
    for (auto k = random() % 20; k != 0; --k) each.ran[random() % fine_buckets] = 1;
    memo.add(each);
  }
  memo.see({depth("q1", random() % 1000, random() % 10), depth("only deep", 5)}, t0);
  return memo;
}

TEST(HistoryMemo, keys_sort_as_time_does_and_fit) {
  EXPECT_EQ(history_key(history_minute, t0), "$history/1m/2030-01-01T00:00:00.000Z");
  EXPECT_LT(history_key(history_hour, t0), history_key(history_hour, t0 + 1h));
  EXPECT_THAT(history_key(history_hour, never).size(), Le(limits::max_memo_key));
  EXPECT_EQ(beginning_of(history_minute, t0 + 119s), t0 + 1min);
  EXPECT_EQ(beginning_of(history_hour, t0 + 119min), t0 + 1h);
  EXPECT_EQ(beginning_of(history_minute, TimePoint(-1ms)), TimePoint(-1min));
}

TEST(HistoryMemo, bytes_become_what_they_were_made_of) {
  std::minstd_rand random(1);
  EXPECT_EQ(must(HistoryMemo::decode(HistoryMemo().encode())), HistoryMemo());
  for (int i = 0; i < 300; ++i) {
    const HistoryMemo memo = random_memo(random, 100);
    ASSERT_EQ(must(HistoryMemo::decode(memo.encode())), memo);
  }
}

TEST(HistoryMemo, a_usual_row_is_small) {
  MinuteRow each = row("emails", "welcome", 12'000);
  for (std::size_t what = 1; what < 5; ++what) each.counts[what] = 12'000;
  for (std::size_t bucket = 10; bucket < 18; ++bucket) each.waited[bucket] = each.ran[bucket] = 900;
  EXPECT_THAT(memo_of({each}).encode().size(), Le(90U));
}

TEST(HistoryMemo, broken_bytes_are_an_error_and_nothing_worse) {
  std::minstd_rand random(2);
  const std::string good = random_memo(random, 40).encode();
  for (std::size_t length = 0; length < good.size(); ++length) {
    ASSERT_THAT(HistoryMemo::decode(good.substr(0, length)), FailsWith(ErrorCode::corrupt));
  }
  EXPECT_THAT(HistoryMemo::decode(good + "x"), FailsWith(ErrorCode::corrupt));
  EXPECT_THAT(HistoryMemo::decode("\x02"), FailsWith(ErrorCode::corrupt, HasSubstr("format 2")));
  EXPECT_THAT(HistoryMemo::decode("not at all"), FailsWith(ErrorCode::corrupt));
  // The largest numbers everywhere.
  const std::string most(9, '\xFF');
  for (const std::string& prefix :
       {std::string("\x01"), std::string("\x01\x00", 2), std::string("\x01\x00\x01\x01q", 5),
        std::string("\x01\x00\x01\x01q\x00\x00\x01", 8)}) {
    EXPECT_THAT(HistoryMemo::decode(prefix + most + "\x01"), FailsWith(ErrorCode::corrupt));
    EXPECT_THAT(HistoryMemo::decode(prefix + most + "\x7F"), FailsWith(ErrorCode::corrupt));
    EXPECT_THAT(HistoryMemo::decode(prefix + most + most), FailsWith(ErrorCode::corrupt));
  }
  // Any other damage gives a memo or an error, and a memo can be written again.
  for (int i = 0; i < 20'000; ++i) {
    std::string bad = good;
    for (auto n = 1 + random() % 3; n != 0; --n) {
      bad[random() % bad.size()] = static_cast<char>(random());
    }
    const auto read = HistoryMemo::decode(bad);
    if (!read) continue;
    HistoryMemo sum = *read;
    sum.add(*read);
    sum.cut(10, 10);
    ASSERT_THAT(HistoryMemo::decode(sum.encode_in(1000)), IsOk());
  }
}

TEST(HistoryMemo, two_become_one) {
  HistoryMemo sum = memo_of({row("a", "x", 2), row("b", "x", 3)});
  sum.add(memo_of({row("a", "x", 10), row("a", "y", 1)}));
  EXPECT_EQ(sum, memo_of({row("a", "x", 12), row("b", "x", 3), row("a", "y", 1)}));
}

TEST(HistoryMemo, the_depth_that_was_seen_last_stays) {
  HistoryMemo sum;
  sum.see({depth("a", 7, 1), depth("b", 9)}, t0);
  HistoryMemo later;
  later.see({depth("a", 3)}, t0 + 1s);
  HistoryMemo both = sum;
  both.add(later);
  EXPECT_EQ(both, later);
  later.add(sum);
  EXPECT_EQ(both, later);
  // Two servers read the same store at the same time.
  HistoryMemo same;
  same.see({depth("a", 2), depth("c", 4)}, t0 + 1s);
  both.add(same);
  EXPECT_EQ(both.queues().at("a").waiting, 3U);
  EXPECT_EQ(both.queues().at("c").waiting, 4U);
}

TEST(HistoryMemo, the_busiest_types_stay_and_the_rest_is_other) {
  HistoryMemo memo;
  for (unsigned i = 0; i < 1000; ++i) memo.add(row("q", "t" + std::to_string(i), 1 + i));
  const std::uint64_t before = puts(memo);
  memo.cut();
  EXPECT_THAT(rows(memo), Le(HistoryMemo::most_rows));
  EXPECT_EQ(puts(memo), before);
  const auto& types = memo.queues().at("q").types;
  EXPECT_TRUE(types.contains("t999"));
  EXPECT_TRUE(types.contains("other"));
  EXPECT_FALSE(types.contains("t1"));
  HistoryMemo again = memo;
  again.cut();
  EXPECT_EQ(puts(again), before);
  EXPECT_TRUE(again.queues().at("q").types.contains("t999"));
}

TEST(HistoryMemo, where_there_are_too_many_queues_the_rest_is_the_queue_other) {
  HistoryMemo memo;
  for (unsigned i = 0; i < 2000; ++i) memo.add(row("q" + std::to_string(i), "t", 1 + i));
  std::vector<QueueCounts> counts;
  for (unsigned i = 0; i < 5000; ++i) counts.push_back(depth("d" + std::to_string(i), 1 + i));
  memo.see(counts, t0);
  const std::uint64_t before = puts(memo);
  const std::uint64_t deep = waiting(memo);
  memo.cut();
  EXPECT_THAT(rows(memo), Le(HistoryMemo::most_rows));
  EXPECT_THAT(memo.queues().size(), Le(HistoryMemo::most_rows + HistoryMemo::most_depths));
  EXPECT_EQ(puts(memo), before);
  EXPECT_EQ(waiting(memo), deep);
  EXPECT_TRUE(memo.queues().contains("q1999"));
  EXPECT_TRUE(memo.queues().contains("d4999"));
  EXPECT_TRUE(memo.queues().at("other").types.contains("other"));
}

TEST(HistoryMemo, whatever_happened_it_fits_into_its_bytes) {
  HistoryMemo memo;
  for (unsigned i = 0; i < 1000; ++i) {
    MinuteRow each = row(std::string(95, 'q') + std::to_string(i % 50),
                         std::string(95, 't') + std::to_string(i), 1'000'000'000);
    each.waited.fill(100'000'000);
    each.ran.fill(100'000'000);
    memo.add(each);
  }
  const std::uint64_t before = puts(memo);
  const std::string bytes = memo.encode_in(history_minute.bytes);
  EXPECT_THAT(bytes.size(), Le(history_minute.bytes));
  EXPECT_EQ(puts(must(HistoryMemo::decode(bytes))), before);
  EXPECT_LE(history_hour.bytes, limits::max_memo_value);
}

}  // namespace
}  // namespace millrace
