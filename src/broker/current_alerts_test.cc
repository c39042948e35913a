#include "broker/current_alerts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "broker/alerter.h"
#include "tests/support/broker_driver.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> briefly(const std::vector<CurrentAlert>& alerts) {
  std::vector<std::string> lines;
  for (const CurrentAlert& alert : alerts) {
    lines.push_back(std::string(name_of(alert.kind)) + " " + alert.queue + " " +
                    std::to_string(alert.count));
  }
  return lines;
}

TEST(Growth, is_what_came_in_the_last_five_minutes) {
  Growth growth(10, t0);
  growth.see(10, t0);
  EXPECT_EQ(growth.grown(), 0U);
  growth.see(13, t0 + 1min);
  growth.see(14, t0 + 2min);
  EXPECT_EQ(growth.grown(), 4U);
  EXPECT_EQ(growth.since(), t0 + 1min);
  growth.see(14, t0 + 6min - 1ms);
  EXPECT_EQ(growth.grown(), 4U);
  growth.see(14, t0 + 6min);
  EXPECT_EQ(growth.grown(), 1U);
  EXPECT_EQ(growth.since(), t0 + 1min);  // it has not stopped since
  growth.see(14, t0 + 7min);
  EXPECT_EQ(growth.grown(), 0U);
  growth.see(15, t0 + 60min);
  EXPECT_EQ(growth.grown(), 1U);
  EXPECT_EQ(growth.since(), t0 + 60min);
}

TEST(Growth, begins_anew_where_there_are_fewer_or_the_clock_was_set_back) {
  Growth growth(0, t0);
  growth.see(5, t0 + 10s);
  growth.see(2, t0 + 20s);
  EXPECT_EQ(growth.grown(), 0U);
  growth.see(4, t0 + 30s);
  EXPECT_EQ(growth.grown(), 2U);
  growth.see(9, t0);
  EXPECT_EQ(growth.grown(), 0U);
}

TEST(Growing, what_was_there_at_the_first_look_is_no_news_but_what_comes_is) {
  Growing growing;
  EXPECT_THAT(growing.look({.at = t0, .queues = {{.name = "q", .lost = 3, .dead = 7}}}), IsEmpty());
  EXPECT_THAT(briefly(growing.look(
                  {.at = t0 + 10s,
                   .queues = {{.name = "q", .lost = 4, .dead = 9}, {.name = "new", .dead = 1}}})),
              ElementsAre("dead_growing q 2", "leases_lost q 1", "dead_growing new 1"));
  // A queue that was removed and made again starts from zero.
  EXPECT_THAT(growing.look({.at = t0 + 20s}), IsEmpty());
  EXPECT_THAT(briefly(growing.look({.at = t0 + 30s, .queues = {{.name = "q", .dead = 1}}})),
              ElementsAre("dead_growing q 1"));
}

TEST(CurrentAlerts, the_gravest_come_first_and_then_the_oldest) {
  CurrentAlerts current;
  for (int i = 0; i < 150; ++i) {
    current.alerts.push_back({.queue = std::to_string(i), .since = t0 - i * 1s});
  }
  current.alerts.push_back(
      {.kind = AlertKind::disk_low, .level = LogLevel::error, .since = t0});
  current.arrange();
  EXPECT_EQ(current.total, 151U);
  ASSERT_THAT(current.alerts, SizeIs(CurrentAlerts::most));
  EXPECT_EQ(current.alerts[0].kind, AlertKind::disk_low);
  EXPECT_EQ(current.alerts[1].queue, "149");
  EXPECT_EQ(current.alerts[2].queue, "148");
}

TEST(CurrentAlerts, is_shown_by_a_broker_that_sends_no_alerts) {
  LocalBrokerOptions options;
  options.alerter = AlerterOptions{.disk = [] { return DiskSpace{.free = 5, .total = 100}; }};
  BrokerDriver d(options);
  d.live(10s);
  EXPECT_THAT(briefly(d.broker->current_alerts().alerts), ElementsAre("disk_low  5"));
  must(d.try_put(std::vector<NewTask>(1000, {.queue = "deep"})));
  d.put({.queue = "deep"});
  d.put({.queue = "bad"});
  d.settle(d.take_one("bad"), Failed{error("no"), false});
  d.live(10s);
  const CurrentAlerts current = d.broker->current_alerts();
  EXPECT_THAT(briefly(current.alerts),
              ElementsAre("disk_low  5", "dead_growing bad 1", "queue_deep deep 1001"));
  EXPECT_THAT(current.alerts[2].message, HasSubstr("1001 tasks wait in queue deep"));
  EXPECT_FALSE(current.alerts_sent);
  EXPECT_EQ(current.disk->total, 100U);
  EXPECT_GT(current.looked_at, t0 + 10s);
  d.live(5min, 10s);  // no task was taken for that long, and no more have died
  EXPECT_THAT(briefly(d.broker->current_alerts().alerts),
              ElementsAre("disk_low  5", "queue_deep deep 1001", "no_take deep 1001"));
}

}  // namespace
}  // namespace millrace
