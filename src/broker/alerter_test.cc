#include "broker/alerter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "store/forwarding.h"
#include "store/store.h"
#include "tests/support/broker_driver.h"
#include "tests/support/matchers.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint64_t gib = std::uint64_t{1} << 30U;

std::vector<std::string> briefly(const std::vector<Alert>& alerts) {
  std::vector<std::string> lines;
  for (const Alert& alert : alerts) {
    lines.push_back(
        std::string(name_of(alert.facts.kind)) + " " + alert.queue +
        (alert.facts.resolved ? " resolved" : "") +
        (alert.facts.held_back != 0 ? " +" + std::to_string(alert.facts.held_back) : ""));
  }
  return lines;
}

class ConditionsTest : public ::testing::Test {
 protected:
  // A look ten seconds after the last.
  std::vector<std::string> look(std::vector<QueueLook> queues,
                                std::optional<DiskSpace> disk = std::nullopt) {
    now += 10s;
    last = conditions.look({.at = now, .queues = std::move(queues), .disk = disk});
    return briefly(last);
  }
  std::vector<std::string> after(Duration time, const QueueLook& queue) {
    now += time - 10s;
    return look({queue});
  }

  TimePoint now = t0;
  AlertLimits limits = {};
  Conditions conditions{limits, 10min};
  std::vector<Alert> last;
};

QueueLook depth(std::uint64_t waiting) {
  return {.name = "q", .waiting = waiting};
}
QueueLook ready(std::uint64_t tasks, std::uint64_t taken) {
  return {.name = "q", .waiting = tasks, .ready = tasks, .taken = taken};
}

// S0-031, S3-074
TEST_F(ConditionsTest, a_queue_over_its_depth_alerts_once_and_says_when_that_is_over) {
  EXPECT_THAT(look({depth(1000)}), IsEmpty());
  EXPECT_THAT(look({depth(1001)}), ElementsAre("queue_deep q"));
  EXPECT_EQ(last[0].facts.level, LogLevel::warning);
  EXPECT_EQ(last[0].facts.since, now);
  EXPECT_THAT(last[0].message, HasSubstr("1001 tasks wait in queue q; the alert is at 1000"));
  EXPECT_THAT(look({depth(5000)}), IsEmpty());
  ASSERT_THAT(conditions.holding(), SizeIs(1));
  EXPECT_EQ(conditions.holding()[0].count, 5000U);  // as it is now
  EXPECT_EQ(conditions.holding()[0].since, now - 10s);
  EXPECT_THAT(look({depth(900)}), IsEmpty());  // the first tasks that are taken do not end it
  EXPECT_THAT(look({depth(800)}), ElementsAre("queue_deep q resolved"));
  EXPECT_EQ(last[0].facts.level, LogLevel::info);
  EXPECT_THAT(conditions.holding(), IsEmpty());
  EXPECT_THAT(look({depth(10)}), IsEmpty());
}

TEST_F(ConditionsTest, a_queue_with_a_max_depth_alerts_when_it_is_nearly_full) {
  QueueLook queue = depth(90'000);
  queue.max_depth = 100'000;
  EXPECT_THAT(look({queue}), IsEmpty());
  queue.waiting = 90'001;
  EXPECT_THAT(look({queue}), ElementsAre("queue_deep q"));
  QueueLook small = depth(1);
  small.name = "small";
  small.max_depth = 1;
  EXPECT_THAT(look({queue, small}), IsEmpty());
  small.max_depth = 2;
  small.waiting = 2;
  EXPECT_THAT(look({queue, small}), ElementsAre("queue_deep small"));
}

TEST_F(ConditionsTest, what_lasts_is_told_again_after_longer_and_longer_rests) {
  std::vector<std::int64_t> minutes;
  for (const TimePoint end = t0 + 24h; now < end;) {
    if (!look({depth(2000)}).empty()) minutes.push_back((now - t0) / 1min);
  }
  EXPECT_THAT(minutes, ElementsAre(0, 10, 30, 70, 150, 310, 550, 790, 1030, 1270));
}

TEST_F(ConditionsTest, what_comes_and_goes_is_held_back_and_counted) {
  std::vector<std::string> all;
  for (int i = 0; i < 6 * 11 / 2; ++i) {  // eleven minutes
    for (const std::string& line : look({depth(1500)})) all.push_back(line);
    for (const std::string& line : look({depth(0)})) all.push_back(line);
  }
  EXPECT_THAT(all, ElementsAre("queue_deep q", "queue_deep q resolved", "queue_deep q +29",
                               "queue_deep q resolved"));
}

TEST_F(ConditionsTest, what_was_held_back_and_lasts_is_told_when_it_may_be) {
  look({depth(2000)});
  look({depth(0)});
  EXPECT_THAT(look({depth(2000)}), IsEmpty());
  EXPECT_THAT(after(5min, depth(2000)), IsEmpty());
  EXPECT_THAT(after(5min, depth(2000)), ElementsAre("queue_deep q"));
}

TEST_F(ConditionsTest, a_queue_that_is_gone_is_no_condition_any_more) {
  look({depth(2000)});
  EXPECT_THAT(look({}), ElementsAre("queue_deep q resolved"));
  EXPECT_THAT(last[0].message, HasSubstr("gone"));
  EXPECT_THAT(look({}), IsEmpty());
}

// S0-031
TEST_F(ConditionsTest, ready_tasks_that_are_not_taken_alert_after_five_minutes) {
  EXPECT_THAT(look({ready(3, 7)}), IsEmpty());
  EXPECT_THAT(after(5min - 1ms, ready(3, 7)), IsEmpty());
  EXPECT_THAT(after(1ms, ready(3, 7)), ElementsAre("no_take q"));
  EXPECT_THAT(last[0].message,
              HasSubstr("3 tasks of queue q are ready, and none was taken for 5 min; no worker has "
                        "ever asked for them"));
  EXPECT_THAT(look({ready(3, 8)}), ElementsAre("no_take q resolved"));
}

TEST_F(ConditionsTest, a_queue_that_is_worked_empty_or_stopped_is_no_alert) {
  for (std::uint64_t taken = 0; taken < 10; ++taken) {
    EXPECT_THAT(after(4min, ready(3, taken)), IsEmpty());
  }
  for (int i = 0; i < 10; ++i) EXPECT_THAT(after(4min, ready(0, 10)), IsEmpty());
  QueueLook paused = ready(3, 10);
  paused.takes_stopped = true;
  for (int i = 0; i < 10; ++i) EXPECT_THAT(after(4min, paused), IsEmpty());
  // Its own rate is one per hour.
  QueueLook slow = ready(3, 10);
  slow.rate_per = 1h;
  EXPECT_THAT(after(59min, slow), IsEmpty());
  EXPECT_THAT(after(1min, slow), ElementsAre("no_take q"));
}

// S0-031
TEST_F(ConditionsTest, lost_leases_alert_with_their_number) {
  const auto lost = [](std::uint64_t n) { return QueueLook{.name = "q", .running = 1, .lost = n}; };
  EXPECT_THAT(look({lost(5)}), IsEmpty());  // before the first look
  EXPECT_THAT(look({lost(6)}), ElementsAre("leases_lost q"));
  EXPECT_THAT(last[0].message, HasSubstr("1 lease of queue q ended without a word"));
  EXPECT_THAT(look({lost(8)}), IsEmpty());
  EXPECT_THAT(look({lost(9)}), IsEmpty());
  EXPECT_THAT(after(10min, lost(9)), ElementsAre("leases_lost q"));
  EXPECT_EQ(last[0].count, 3U);
  EXPECT_THAT(after(1h, lost(9)), IsEmpty());
  EXPECT_THAT(look({lost(2)}), ElementsAre("leases_lost q"));  // counted from zero again: two
  EXPECT_EQ(last[0].count, 2U);
}

// S0-031
TEST_F(ConditionsTest, a_disk_that_fills_up_alerts) {
  const auto disk = [&](std::uint64_t free, std::uint64_t total) {
    return look({}, DiskSpace{free, total});
  };
  EXPECT_THAT(disk(5 * gib, 100 * gib), IsEmpty());
  EXPECT_THAT(disk(5 * gib - 1, 100 * gib), ElementsAre("disk_low "));
  EXPECT_EQ(last[0].facts.level, LogLevel::error);
  EXPECT_THAT(last[0].message, HasSubstr("5.0 GiB of 100.0 GiB are free"));
  EXPECT_THAT(disk(5 * gib, 100 * gib), IsEmpty());
  EXPECT_THAT(disk(6 * gib, 100 * gib), ElementsAre("disk_low  resolved"));
  now += 1h;
  EXPECT_THAT(disk(gib - 1, 2 * gib), ElementsAre("disk_low "));
  EXPECT_THAT(disk(0, 0), IsEmpty());  // unknown
}

TEST(Conditions, each_can_be_switched_off) {
  const AlertLimits off{.depth = 0, .no_take_after = {}, .lost = std::nullopt, .disk_free = 0};
  Conditions conditions(off, 10min);
  QueueLook bad{.name = "q", .waiting = 1'000'000, .ready = 1, .max_depth = 10};
  for (int i = 0; i < 100; ++i) {
    bad.lost += 5;
    EXPECT_THAT(conditions.look({t0 + i * 1min, {bad}, DiskSpace{0, gib}}), IsEmpty());
  }
}

TEST(Conditions, many_at_once_are_told_in_bounded_portions) {
  Conditions conditions({}, 10min, 10);
  std::vector<QueueLook> queues;
  for (int i = 0; i < 25; ++i) {
    queues.push_back({.name = "q" + std::to_string(i), .waiting = 5000});
  }
  std::vector<std::size_t> sizes;
  for (int i = 0; i < 4; ++i) {
    sizes.push_back(conditions.look({t0 + i * 10s, queues}).size());
  }
  for (QueueLook& queue : queues) queue.waiting = 0;
  for (int i = 4; i < 8; ++i) {
    sizes.push_back(conditions.look({t0 + i * 10s, queues}).size());
  }
  EXPECT_THAT(sizes, ElementsAre(10, 10, 5, 0, 10, 10, 5, 0));
}

// ---- Over a broker ------------------------------------------------------------------------------

LocalBrokerOptions watching(bool alerts = true) {
  LocalBrokerOptions options;
  options.rules.alerts = alerts;
  options.alerter = AlerterOptions{};
  return options;
}

TEST(Alerter, alerts_are_stored_as_tasks_and_logged) {
  BrokerDriver d(watching());
  must(d.try_put(std::vector<NewTask>(1000, {.queue = "q"})));
  must(d.try_put(std::vector<NewTask>(1, {.queue = "q", .delay = 1h})));
  d.live(10s);
  const auto alerts = d.all("$alerts");
  ASSERT_THAT(alerts, SizeIs(1));
  EXPECT_THAT(alerts[0].payload, HasSubstr("1001 tasks wait in queue q"));
  EXPECT_EQ(alerts[0].type, "alert");
  EXPECT_THAT(d.logged.lines(), Contains(HasSubstr("Queue over its depth: q: 1001 tasks wait")));
  EXPECT_EQ(d.queue("$alerts").stats.put, 1U);
}

TEST(Alerter, if_alerts_are_not_sent_the_log_has_them) {
  BrokerDriver d(watching(false));
  d.put({.queue = "q"});
  d.live(6min);
  EXPECT_THAT(d.all("$alerts"), IsEmpty());
  EXPECT_THAT(d.logged.lines(), Contains(HasSubstr("No worker takes tasks: q")));
}

TEST(Alerter, a_take_ends_the_alert_about_tasks_that_are_not_taken) {
  BrokerDriver d(watching());
  d.put({.queue = "q"});
  d.live(6min);
  d.take("q");
  d.live(20s);
  EXPECT_THAT(d.alerts(), ElementsAre(HasSubstr("none was taken for 5 min"),
                                      HasSubstr("do not wait for a worker any more")));
}

TEST(Alerter, a_paused_queue_may_wait) {
  BrokerDriver d(watching());
  d.put_queue({.name = "q", .paused_until = never});
  d.put({.queue = "q"});
  d.live(1h, 10s);
  EXPECT_THAT(d.all("$alerts"), IsEmpty());
}

TEST(Alerter, a_clock_that_is_set_back_alerts_once_for_each_time) {
  BrokerDriver d(watching());
  d.live(20s);
  d.clock.set(d.now() - 4s);
  d.live(20s);
  EXPECT_THAT(d.alerts(), IsEmpty()) << "a small step is none";
  d.clock.set(d.now() - 1h);
  d.live(20s);
  EXPECT_THAT(d.alerts(), ElementsAre(HasSubstr("the clock was set back by 3600 s to ")));
  d.clock.set(d.now() - 2h);
  d.live(20s);
  EXPECT_THAT(d.alerts(), SizeIs(2));
  EXPECT_THAT(d.all("$alerts").front().payload, HasSubstr("clock_set_back"));
}

// S0-032
TEST(Alerter, a_worker_that_vanishes_alerts) {
  BrokerDriver d(watching());
  d.put({.queue = "q"});
  d.live(1min);
  d.take("q");
  d.live(2min);
  EXPECT_THAT(d.alerts(), ElementsAre(HasSubstr("1 lease of queue q ended")));
}

// S0-161, S3-062
TEST(Alerter, tasks_that_die_in_a_row_alert_once_and_then_with_their_number) {
  LocalBrokerOptions options = watching();
  options.rules.retry.max_retries = 0;
  BrokerDriver d(options);
  for (int i = 0; i < 5; ++i) {
    d.put({.queue = "q", .type = "t"});
    d.settle(d.take_one("q"), Failed{error("no", "boom")});
  }
  EXPECT_THAT(d.alerts(), ElementsAre(HasSubstr("Task failed after maximum retries|")));
  d.live(10min + 10s);
  EXPECT_THAT(d.alerts(), ElementsAre(HasSubstr("Task failed after maximum retries|"),
                                      HasSubstr("Task failed after maximum retries: 4 more")));
  EXPECT_EQ(d.all("$alerts").back().parent, d.all("q").back().id);
}

TEST(Alerter, internal_queues_are_watched_but_not_the_one_of_alerts) {
  BrokerDriver d(watching());
  d.put({.queue = "q", .callback = Callback{.url = "http://x"}});
  d.settle(d.take_one("q"), Done{});
  d.live(2h, 10s);
  for (const std::string& alert : d.alerts()) {
    EXPECT_THAT(alert, HasSubstr("queue $webhooks"));
  }
  EXPECT_THAT(d.alerts(), SizeIs(4));  // after 5, 15, 35 and 75 minutes
}

// A store with no room for puts, as long as it is told so.
class FullStore : public ForwardingStore {
 public:
  explicit FullStore(std::unique_ptr<Store> inner = open_memory())
      : ForwardingStore(*inner), inner_(std::move(inner)) {}
  bool full = false;

  Result<std::vector<Result<Put>>> put(std::span<const NewTask> tasks, TimePoint now) override {
    if (!full) return ForwardingStore::put(tasks, now);
    return std::vector<Result<Put>>(tasks.size(), fail(ErrorCode::limited, "the disk is full"));
  }

 private:
  std::unique_ptr<Store> inner_;
};

TEST(Alerter, an_alert_that_finds_no_room_goes_out_when_there_is) {
  auto owned = std::make_unique<FullStore>();
  FullStore& store = *owned;
  DiskSpace disk{gib / 2, 100 * gib};
  LocalBrokerOptions options = watching();
  options.alerter->disk = [&] { return disk; };
  BrokerDriver d(options, std::move(owned));
  store.full = true;
  d.live(1min);
  EXPECT_THAT(d.all("$alerts"), IsEmpty());
  EXPECT_THAT(d.logged.lines(), Contains(HasSubstr("Disk nearly full")));
  store.full = false;
  d.live(10s);
  EXPECT_THAT(d.alerts(), ElementsAre(HasSubstr("0.5 GiB of 100.0 GiB are free")));
}

}  // namespace
}  // namespace millrace
