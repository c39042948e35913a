#include "broker/alert_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/builders.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const AlertKey one{AlertKind::task_dead, "q", "t"};

TEST(AlertBook, the_same_alert_is_sent_once_in_a_window_and_the_rest_is_counted) {
  AlertBook book(10min);
  EXPECT_EQ(book.let_through(one, t0), 0U);
  for (int i = 1; i <= 3; ++i) EXPECT_EQ(book.let_through(one, t0 + i * 3min), std::nullopt);
  EXPECT_EQ(book.let_through(one, t0 + 10min), 3U);
  EXPECT_EQ(book.let_through(one, t0 + 10min), std::nullopt);
}

TEST(AlertBook, other_kinds_queues_and_types_are_other_alerts) {
  AlertBook book(10min);
  EXPECT_TRUE(book.let_through(one, t0));
  EXPECT_TRUE(book.let_through({AlertKind::key_refused, "q", "t"}, t0));
  EXPECT_TRUE(book.let_through({AlertKind::task_dead, "r", "t"}, t0));
  EXPECT_TRUE(book.let_through({AlertKind::task_dead, "q", "u"}, t0));
  EXPECT_FALSE(book.let_through(one, t0));
}

TEST(AlertBook, what_was_held_back_is_told_when_its_window_ends) {
  AlertBook book(10min);
  book.let_through(one, t0);
  book.let_through(one, t0 + 1min);
  book.let_through(one, t0 + 2min);
  EXPECT_THAT(book.ended(t0 + 10min - 1ms), IsEmpty());
  const auto ended = book.ended(t0 + 10min);
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_EQ(ended[0].key, one);
  EXPECT_EQ(ended[0].count, 2U);
  EXPECT_EQ(ended[0].since, t0);
  // That was an alert, too.
  EXPECT_FALSE(book.let_through(one, t0 + 11min));
  EXPECT_EQ(book.ended(t0 + 20min).at(0).count, 1U);
  EXPECT_THAT(book.ended(t0 + 30min), IsEmpty());
  EXPECT_EQ(book.let_through(one, t0 + 31min), 0U);
}

TEST(AlertBook, a_clock_that_was_set_back_does_not_silence_it) {
  AlertBook book(10min);
  book.let_through(one, t0);
  EXPECT_TRUE(book.let_through(one, t0 - 24h));
}

TEST(AlertBook, memory_is_bounded) {
  AlertBook book(10min, 3);
  int sent = 0;
  for (int i = 0; i < 100; ++i) {
    sent += book.let_through({AlertKind::task_dead, "q" + std::to_string(i), {}}, t0) ? 1 : 0;
  }
  EXPECT_EQ(sent, 4);  // three, and one for all others
  const auto ended = book.ended(t0 + 10min);
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_EQ(ended[0].key.queue, "");
  EXPECT_EQ(ended[0].count, 96U);
}

}  // namespace
}  // namespace millrace
