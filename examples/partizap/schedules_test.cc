// The schedules over days, with restarts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test_shop.h"
#include "tests/support/matchers.h"

namespace partizap {
namespace {

using millrace::TimePoint;
using millrace::test::TemporaryDirectory;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

const TimePoint midnight = t0 - 9h;

class SchedulesTest : public ::testing::Test {
 protected:
  TemporaryDirectory data_;
  TestShop s_{"journal:" + data_.path() + "?sync=never"};

  Database& database() { return s_.services.database; }
  // A session of which hour `k` after midnight is the first to find it older than 30 days, and a
  // code for each quarter.
  void fill_tables(int hours) {
    for (int k = 1; k <= hours; ++k) {
      database().add_session(std::to_string(k), midnight + k * 1h - 30 * 24h - 1ms);
    }
    for (int k = 1; k <= 4 * hours; ++k) {
      database().add_code(std::to_string(k), midnight + k * 15min - 15min - 1ms);
    }
  }
  std::uint64_t completed(const std::string& queue) { return s_.app().metrics(queue).completed; }
};

// S3-033
TEST_F(SchedulesTest, delayed_tasks_wait_in_every_queue_without_anything_beside_it) {
  std::vector<millrace::TaskId> ids;
  for (const char* queue : {"notifications", "images", "analytics", "cleanup", "reports"}) {
    const auto put =
        s_.client().put({.queue = queue, .type = "no-such-job", .payload = "{}", .delay = 5s});
    ASSERT_TRUE(put) << put.error().message;
    ids.push_back(put->id);
  }
  s_.step(5s - 1ms);
  for (const auto& id : ids) {
    EXPECT_EQ(s_.client().find(id).value().state, millrace::TaskState::delayed);
  }
  const TimePoint due = s_.now() + 1ms;
  s_.step_to(due);
  for (const auto& id : ids) {
    const millrace::Task task = s_.client().find(id).value();
    EXPECT_EQ(task.state, millrace::TaskState::failed) << "run, and not known";
    EXPECT_EQ(task.started_at, due);
  }
}

// S3-006, S3-050, S3-051, S3-052, S3-053, D-23
TEST_F(SchedulesTest, each_tick_of_two_days_comes_once_although_the_shop_restarts) {
  fill_tables(48);
  s_.stay_away_until(midnight + 30s);
  std::uint64_t cleanups = 0;
  for (int quarter = 1; quarter < 4 * 48; ++quarter) {
    const TimePoint tick = midnight + quarter * 15min;
    s_.step_to(tick - 1ms);
    ASSERT_EQ(database().codes(), 4U * 48 - quarter + 1) << quarter;
    ASSERT_EQ(database().sessions(), 48U - (quarter - 1) / 4) << quarter;
    s_.step_to(tick);
    ASSERT_EQ(database().codes(), 4U * 48 - quarter) << quarter;
    ASSERT_EQ(database().sessions(), 48U - quarter / 4) << quarter;
    if (quarter == 1 || quarter == 50 || quarter == 51 || quarter == 120) {
      cleanups += completed("cleanup");
      s_.close();
    }
  }
  cleanups += completed("cleanup");
  EXPECT_EQ(cleanups, 4U * 48 - 1 + 47);
  const auto nights = ElementsAre(midnight + 3h, midnight + 27h);
  EXPECT_THAT(database().synced(),
              ElementsAre(Pair(Table::users, nights), Pair(Table::products, nights),
                          Pair(Table::categories, nights)));
  EXPECT_THAT(s_.alerts, IsEmpty());
}

// S3-053
TEST_F(SchedulesTest, what_was_missed_is_made_up_for_once) {
  s_.stay_away_until(midnight + 30s);
  s_.step_to(midnight + 1h + 1min);
  EXPECT_EQ(completed("cleanup"), 4U + 1);
  s_.close();
  s_.stay_away_until(midnight + 7h + 31min);
  fill_tables(12);
  s_.step(1s);
  EXPECT_EQ(completed("cleanup"), 2U);
  EXPECT_EQ(database().sessions(), 12U - 7);
  EXPECT_EQ(database().codes(), 48U - 30);
  EXPECT_THAT(database().synced(), Each(Pair(::testing::_, ElementsAre(midnight + 7h + 31min))));
}

// S3-030, S3-052
TEST_F(SchedulesTest, codes_can_be_removed_from_another_moment_on) {
  fill_tables(1);
  s_.shop().cleanup.codes({.olderThan = midnight + 15min});
  s_.stay_away_until(t0);
  s_.step(0s);
  EXPECT_EQ(database().codes(), 2U);
}

// S3-029
TEST_F(SchedulesTest, sessions_can_be_removed_from_another_moment_on) {
  fill_tables(10);
  s_.shop().cleanup.sessions({.olderThan = midnight - 30 * 24h + 4h});
  s_.step(0s);
  EXPECT_EQ(database().sessions(), 6U);
}

}  // namespace
}  // namespace partizap
