#include "core/rate_window.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <deque>
#include <limits>
#include <random>
#include <vector>

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

TimePoint at(std::int64_t ms) {
  return TimePoint(Duration(ms));
}

struct Use {
  std::int64_t ms;  // the greatest `now` of this use and those before it
  std::uint32_t n;
};

// The most that was used in any interval [t, t + per], both ends included. It is enough to try the
// intervals that begin with a use.
std::uint64_t most_in_any_interval(const std::vector<Use>& uses, Duration per) {
  std::uint64_t most = 0;
  std::uint64_t sum = 0;
  std::size_t first = 0;
  for (const Use& use : uses) {
    sum += use.n;
    while (use.ms - uses[first].ms > per.count()) sum -= uses[first++].n;
    most = std::max(most, sum);
  }
  return most;
}

// Takes what fits at random moments; `back` of 1000 steps go back in time, to a `per` before the
// latest use at most.
std::vector<Use> random_uses(const Rate& rate, std::uint64_t seed, std::uint32_t back) {
  std::mt19937_64 random(seed);
  RateWindow window;
  std::vector<Use> uses;
  std::int64_t now = static_cast<std::int64_t>(random() % 1'000'000) - 500'000;
  std::int64_t latest = std::numeric_limits<std::int64_t>::min();
  for (int i = 0; i < 3000; ++i) {
    const auto step = static_cast<std::int64_t>(
        random() % (static_cast<std::uint64_t>(rate.per.count()) / (1 + random() % 64) + 2));
    now += random() % 1000 < back ? -step : step;
    if (!uses.empty()) now = std::max(now, latest - rate.per.count());
    const std::uint32_t room = window.room(rate, at(now));
    EXPECT_LE(room, rate.max);
    if (room == 0) continue;
    const auto n = static_cast<std::uint32_t>(1 + random() % room);
    window.add(rate, at(now), n);
    latest = std::max(latest, now);
    uses.push_back({latest, n});
  }
  return uses;
}

const std::vector<Rate> rates = {
    {.max = 1, .per = milliseconds(1)},   {.max = 3, .per = milliseconds(31)},
    {.max = 10, .per = milliseconds(32)}, {.max = 10, .per = milliseconds(33)},
    {.max = 10, .per = seconds(1)},       {.max = 1000, .per = seconds(60)},
    {.max = 7, .per = milliseconds(997)}, {.max = 100'000, .per = hours(24)},
};

// S2-035 S2-052 S3-041 C-16
TEST(RateWindow, no_interval_ever_holds_more_than_the_rate) {
  for (const Rate& rate : rates) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const auto uses = random_uses(rate, seed, 0);
      ASSERT_FALSE(uses.empty());
      ASSERT_LE(most_in_any_interval(uses, rate.per), rate.max) << rate.per.count() << ' ' << seed;
    }
  }
}

TEST(RateWindow, a_clock_that_goes_back_a_little_gives_no_more_room) {
  for (const Rate& rate : rates) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const auto uses = random_uses(rate, 100 + seed, 300);
      ASSERT_LE(most_in_any_interval(uses, rate.per), rate.max) << rate.per.count() << ' ' << seed;
    }
  }
}

// A slot late at most: a caller that always takes what fits gets nearly the whole rate.
TEST(RateWindow, a_steady_user_gets_nearly_the_whole_rate) {
  const Rate rate{.max = 100, .per = seconds(10)};
  RateWindow window;
  std::uint64_t used = 0;
  for (std::int64_t ms = 0; ms < 1'000'000; ms += 10) {
    const std::uint32_t room = window.room(rate, at(ms));
    window.add(rate, at(ms), room);
    used += room;
  }
  EXPECT_GE(used, 100U * 100 * 32 / 34);
  EXPECT_LE(used, 100U * 101);
}

TEST(RateWindow, everything_fits_at_first_and_nothing_once_it_is_used) {
  const Rate rate{.max = 5, .per = seconds(1)};
  RateWindow window;
  EXPECT_EQ(window.room(rate, at(777)), 5U);
  window.add(rate, at(777), 2);
  EXPECT_EQ(window.room(rate, at(777)), 3U);
  window.add(rate, at(777), 3);
  EXPECT_EQ(window.room(rate, at(777)), 0U);
  EXPECT_EQ(window.room(rate, at(1777)), 0U) << "a second later, to the millisecond, is too early";
  EXPECT_EQ(window.room(rate, at(1777 + 64)), 5U) << "two slots after that it is late enough";
}

TEST(RateWindow, room_comes_back_within_two_slots_also_where_a_slot_is_a_millisecond) {
  for (const Rate& rate : rates) {
    const Duration slot = std::max(Duration(1), (rate.per + Duration(31)) / 32);
    for (std::int64_t start = 1000; start < 1100; ++start) {
      RateWindow window;
      window.add(rate, at(start), rate.max);
      ASSERT_EQ(window.room(rate, at(start) + rate.per), 0U) << rate.per.count();
      ASSERT_EQ(window.room(rate, at(start) + rate.per + 2 * slot), rate.max) << rate.per.count();
    }
  }
}

TEST(RateWindow, retry_after_is_the_first_moment_at_which_they_fit) {
  for (const Rate& rate : rates) {
    std::mt19937_64 random(17);
    RateWindow window;
    std::int64_t now = -12'345;
    for (int i = 0; i < 2000; ++i) {
      now += static_cast<std::int64_t>(random() %
                                       static_cast<std::uint64_t>(rate.per.count() / 8 + 2));
      const auto n = static_cast<std::uint32_t>(1 + random() % rate.max);
      const Duration wait = window.retry_after(rate, at(now), n);
      if (window.room(rate, at(now)) >= n) {
        ASSERT_EQ(wait, Duration::zero());
        window.add(rate, at(now), n);
        continue;
      }
      ASSERT_GE(wait, Duration(1));
      ASSERT_GE(window.room(rate, at(now) + wait), n);
      ASSERT_LT(window.room(rate, at(now) + wait - Duration(1)), n);
    }
  }
}

TEST(RateWindow, more_than_the_rate_never_fits_and_must_wait_until_the_window_is_empty) {
  const Rate rate{.max = 5, .per = milliseconds(32)};
  RateWindow window;
  EXPECT_EQ(window.retry_after(rate, at(100), 6), Duration(1));
  window.add(rate, at(100), 2);
  window.add(rate, at(110), 1);
  EXPECT_EQ(window.retry_after(rate, at(110), 6), Duration(33));
  EXPECT_EQ(window.retry_after(rate, at(110), 4), Duration(23));
}

TEST(RateWindow, a_clock_that_is_set_back_a_little_waits_until_it_has_caught_up) {
  const Rate rate{.max = 1, .per = seconds(1)};
  RateWindow window;
  window.add(rate, at(1'000'000), 1);
  EXPECT_EQ(window.room(rate, at(999'500)), 0U);
  const Duration wait = window.retry_after(rate, at(999'500), 1);
  EXPECT_GE(wait, milliseconds(1500));
  EXPECT_LE(wait, milliseconds(1564));
  const RateWindow before = window;
  window.add(rate, at(999'500), 0);
  EXPECT_EQ(window, before);
}

TEST(RateWindow, a_clock_that_is_set_back_by_more_than_its_length_begins_anew) {
  const Rate rate{.max = 2, .per = seconds(1)};
  RateWindow window;
  window.add(rate, at(1'000'000), 2);
  EXPECT_EQ(window.room(rate, at(941'000)), 0U) << "less than a minute";
  EXPECT_EQ(window.room(rate, at(939'000)), 2U);
  EXPECT_EQ(window.retry_after(rate, at(0), 1), Duration::zero());
  window.add(rate, at(0), 2);
  EXPECT_EQ(window.room(rate, at(999)), 0U) << "the rate holds from then on";
  EXPECT_EQ(window.room(rate, at(1100)), 2U);
}

TEST(RateWindow, a_window_of_a_clock_a_year_ahead_is_forgotten_also_when_the_length_changed) {
  RateWindow window;
  window.add({.max = 5, .per = seconds(1)}, at(hours(24 * 365).count() * 3'600'000), 5);
  EXPECT_EQ(window.room({.max = 5, .per = seconds(9)}, at(0)), 5U);
}

TEST(RateWindow, another_max_holds_at_once) {
  RateWindow window;
  window.add({.max = 5, .per = seconds(1)}, at(0), 5);
  EXPECT_EQ(window.room({.max = 8, .per = seconds(1)}, at(0)), 3U);
  EXPECT_EQ(window.room({.max = 2, .per = seconds(1)}, at(0)), 0U);
  EXPECT_EQ(window.retry_after({.max = 8, .per = seconds(1)}, at(0), 3), Duration::zero());
}

TEST(RateWindow, another_length_keeps_what_was_used_as_if_it_were_used_now) {
  const Rate second{.max = 5, .per = seconds(1)};
  const Rate minute{.max = 5, .per = seconds(60)};
  RateWindow window;
  window.add(second, at(10'000), 2);
  window.add(second, at(10'500), 1);
  EXPECT_EQ(window.room(minute, at(10'600)), 2U);
  window.add(minute, at(10'600), 1);
  EXPECT_EQ(window.room(minute, at(70'000)), 1U);
  EXPECT_EQ(window.room(minute, at(75'000)), 5U);
  EXPECT_EQ(window.room(second, at(10'600)), 1U) << "back again";
  EXPECT_EQ(window.room(second, at(14'000)), 5U);
}

// A slot of an hour's rate is longer than a minute, and most of it may still lie ahead.
TEST(RateWindow, a_much_shorter_length_neither_forgets_what_was_used_nor_keeps_it_for_longer) {
  const Rate hour{.max = 100, .per = hours(1)};
  const Rate minute{.max = 100, .per = seconds(60)};
  const std::int64_t slot = 112'500;
  for (const std::int64_t into : {std::int64_t{0}, slot / 2, slot - 1}) {
    const std::int64_t now = 40 * slot + into;
    RateWindow window;
    window.add(hour, at(now), 100);
    EXPECT_EQ(window.room(minute, at(now)), 0U) << into;
    window.add(minute, at(now), 0);
    EXPECT_EQ(window.room(minute, at(now + 60'000)), 0U) << into;
    EXPECT_EQ(window.room(minute, at(now + 60'000 + 4'000)), 100U) << into;
  }
}

TEST(RateWindow, a_window_long_past_is_forgotten_also_when_the_length_changed) {
  RateWindow window;
  window.add({.max = 5, .per = seconds(1)}, at(0), 5);
  EXPECT_EQ(window.room({.max = 5, .per = seconds(9)}, at(100'000)), 5U);
}

TEST(RateWindow, two_lengths_with_slots_of_one_width_share_the_window) {
  RateWindow window;
  window.add({.max = 5, .per = milliseconds(40)}, at(0), 5);
  const RateWindow before = window;
  window.add({.max = 5, .per = milliseconds(64)}, at(0), 0);
  EXPECT_EQ(window, before);
}

TEST(RateWindow, counts_stop_at_their_greatest_value_and_far_moments_are_harmless) {
  const Rate rate{.max = std::numeric_limits<std::uint32_t>::max(), .per = hours(24)};
  RateWindow window;
  window.add(rate, at(0), rate.max);
  window.add(rate, at(0), rate.max);
  EXPECT_EQ(window.room(rate, at(0)), 0U);
  EXPECT_EQ(window.used[0], rate.max);
  EXPECT_EQ(window.room(rate, TimePoint::min()), rate.max);
  window.add(rate, never, 1);
  EXPECT_EQ(window.room(rate, never), rate.max - 1);
  window.add(rate, TimePoint::min(), 1);
  EXPECT_EQ(window.room(rate, TimePoint::min()), rate.max - 1);
  EXPECT_EQ(window.retry_after(rate, never, rate.max), Duration::zero());
}

}  // namespace
}  // namespace millrace
