#include "broker/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/time_text.h"
#include "store/store.h"
#include "tests/support/broker_driver.h"
#include "tests/support/matchers.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Schedule every(Duration interval, Schedule fields = {}) {
  fields.name = "s";
  fields.rule = {.every = interval};
  fields.task.queue = "q";
  if (fields.task.payload.empty()) fields.task.payload = "{{tick}}";
  return fields;
}

// Payloads of all tasks that were put, oldest first.
std::vector<std::string> ticks(BrokerDriver& d) {
  return d.payloads("q");
}

// ---- Which ticks --------------------------------------------------------------------------------

class TicksToFireTest : public ::testing::Test {
 protected:
  std::vector<Duration> fire(Missed missed, TimePoint now, std::uint32_t most = 10) {
    Schedule schedule = every(1min, {.missed = missed, .missed_most = most});
    schedule.next = t0;
    const auto found = ticks_to_fire(schedule, must(Ticks::of(schedule.rule)), now);
    next = found.next.value_or(never) - t0;
    std::vector<Duration> ticks;
    for (const TimePoint tick : found.ticks) ticks.push_back(tick - t0);
    return ticks;
  }
  Duration next{};
};

TEST_F(TicksToFireTest, a_tick_in_time_fires_whatever_the_policy) {
  for (const Missed missed : {Missed::skip, Missed::one, Missed::all}) {
    EXPECT_THAT(fire(missed, t0 + 59s), ElementsAre(0s));
    EXPECT_EQ(next, 1min);
  }
}

TEST_F(TicksToFireTest, skip_fires_no_missed_tick) {
  EXPECT_THAT(fire(Missed::skip, t0 + 10min), ElementsAre(10min));
  EXPECT_EQ(next, 11min);
}

TEST_F(TicksToFireTest, one_fires_the_latest) {
  EXPECT_THAT(fire(Missed::one, t0 + 10min + 30s), ElementsAre(10min));
  EXPECT_EQ(next, 11min);
}

TEST_F(TicksToFireTest, all_fires_the_last_so_many) {
  EXPECT_THAT(fire(Missed::all, t0 + 3min), ElementsAre(0min, 1min, 2min, 3min));
  EXPECT_THAT(fire(Missed::all, t0 + 10min, 2), ElementsAre(8min, 9min, 10min));
}

TEST_F(TicksToFireTest, a_rare_tick_that_is_late_is_missed) {
  for (const auto& [missed, fires] :
       {std::pair{Missed::skip, 0U}, {Missed::one, 1U}, {Missed::all, 1U}}) {
    Schedule schedule = every(24h, {.missed = missed});
    schedule.next = t0;
    const Ticks rule = must(Ticks::of(schedule.rule));
    EXPECT_THAT(ticks_to_fire(schedule, rule, t0 + 61s).ticks, SizeIs(fires));
    EXPECT_THAT(ticks_to_fire(schedule, rule, t0 + 60s).ticks, SizeIs(1));
  }
}

TEST(FireTime, is_the_same_for_the_same_tick_and_spread_over_the_jitter) {
  const Schedule schedule = every(1min, {.jitter = 10s});
  std::set<TimePoint::rep> offsets;
  for (int i = 0; i < 1000; ++i) {
    const TimePoint tick = t0 + i * 1min;
    const Duration offset = fire_time(schedule, tick) - tick;
    EXPECT_EQ(fire_time(schedule, tick) - tick, offset);
    ASSERT_GE(offset, 0s);
    ASSERT_LT(offset, 10s);
    offsets.insert(offset.count() / 1000);
  }
  EXPECT_THAT(offsets, SizeIs(10));
}

// ---- Firing -------------------------------------------------------------------------------------

// C-22
TEST(Scheduler, fires_each_tick_once_over_a_long_time_with_stops) {
  BrokerDriver d;
  d.put_schedule(
      every(1min, {.overlap = Overlap::allow, .missed = Missed::all, .missed_most = 1000}));
  for (int day = 0; day < 2; ++day) {
    d.live(6h, 7s);
    d.broker.reset();
    d.pass(5h + 31s);  // no broker runs
    d.start();
    d.live(2h, 11s);
    d.restart();
  }
  const auto fired = ticks(d);
  const auto minutes = std::chrono::floor<std::chrono::minutes>(d.now() - t0).count();
  ASSERT_EQ(fired.size(), static_cast<std::size_t>(minutes));
  for (std::size_t i = 0; i < fired.size(); ++i) {
    ASSERT_EQ(fired[i], format_time(t0 + (i + 1) * 1min));
  }
}

TEST(Scheduler, a_stop_costs_one_tick_by_default) {
  BrokerDriver d;
  d.put_schedule(every(1h, {.overlap = Overlap::allow}));
  d.live(1h, 10s);
  d.pass(10h + 5min);
  d.broker->run_services();
  EXPECT_THAT(ticks(d), ElementsAre(format_time(t0 + 1h), format_time(t0 + 11h)));
  EXPECT_EQ(d.schedule("s").next, t0 + 12h);
  EXPECT_EQ(d.schedule("s").fired, 2U);
}

TEST(Scheduler, skip_moves_over_what_was_missed) {
  BrokerDriver d;
  d.put_schedule(every(1h, {.missed = Missed::skip}));
  d.pass(10h + 5min);
  d.broker->run_services();
  EXPECT_EQ(d.schedule("s").next, t0 + 11h);
  EXPECT_THAT(ticks(d), IsEmpty());
  d.live(55min, 10s);
  EXPECT_THAT(ticks(d), ElementsAre(format_time(t0 + 11h)));
}

TEST(Scheduler, two_brokers_over_one_store_fire_a_tick_once) {
  BrokerDriver d;
  d.put_schedule(every(1min, {.overlap = Overlap::allow}));
  Books other({.seed = 99}, d.store->traits(), t0);
  Scheduler second(other);
  d.broker->run_services();
  for (int i = 0; i < 20; ++i) {
    d.pass(30s);
    d.broker->stop();  // so that its thread is not in the store
    must(second.run_once(*d.store, d.now()));
    d.restart();
    d.broker->run_services();
  }
  EXPECT_THAT(ticks(d), SizeIs(10));
}

// S2-030
TEST(Scheduler, the_overlap_rule_is_kept) {
  BrokerDriver d;
  d.put_schedule(every(1min));
  d.live(5min, 10s);
  EXPECT_THAT(ticks(d), SizeIs(1));
  EXPECT_EQ(d.schedule("s").skipped, 4U);
  d.settle(d.take_one("q"), Done{});
  d.live(1min, 10s);
  EXPECT_THAT(ticks(d), SizeIs(2));
}

TEST(Scheduler, a_paused_schedule_fires_nothing_and_makes_up_for_nothing) {
  BrokerDriver d;
  const auto pause = [&](bool paused) {
    must(d.wait<Schedule>([&](auto done) {
      d.broker->change_schedule(
          d.ask(), "s",
          [paused](Schedule& schedule) -> Result<void> {
            schedule.paused = paused;
            return {};
          },
          std::move(done));
    }));
  };
  d.put_schedule(every(1min, {.overlap = Overlap::allow, .missed = Missed::all}));
  pause(true);
  d.live(5min, 10s);
  EXPECT_THAT(ticks(d), IsEmpty());
  pause(false);
  EXPECT_EQ(d.schedule("s").next, t0 + 6min);
  d.live(1min, 10s);
  EXPECT_THAT(ticks(d), ElementsAre(format_time(t0 + 6min)));
}

TEST(Scheduler, jitter_delays_the_tick_and_not_its_name) {
  BrokerDriver d;
  const Schedule schedule = d.put_schedule(every(1min, {.jitter = 20s}));
  const TimePoint at = fire_time(schedule, t0 + 1min);
  d.pass(at - d.now() - 1ms);
  d.broker->run_services();
  EXPECT_THAT(ticks(d), IsEmpty());
  d.pass(1ms);
  d.broker->run_services();
  EXPECT_THAT(ticks(d), ElementsAre(format_time(t0 + 1min)));
}

TEST(Scheduler, one_that_cannot_fire_rests_and_does_not_block_others) {
  BrokerDriver d;
  Schedule bad = every(1min);
  bad.name = "a-bad-one";
  bad.rule = {.cron = "* * * * *", .zone = "Mars/Olympus"};
  bad.next = t0 + 1min;
  d.broker.reset();
  StoreDriver(*d.store).make_queue("q");
  must(d.store->put_schedule(bad, PutSchedule::replace, t0));
  d.start();
  d.put_schedule(every(1min));
  d.live(2min, 10s);
  EXPECT_THAT(ticks(d), SizeIs(1));
  const auto lines = d.logged.lines();
  EXPECT_EQ(std::ranges::count_if(lines,
                                  [](const std::string& line) {
                                    return line.starts_with("schedule a-bad-one cannot fire");
                                  }),
            1);
}

TEST(Scheduler, a_queue_that_is_gone_is_made_again) {
  BrokerDriver d;
  d.put_schedule(every(1min));
  must(d.wait<void>(
      [&](auto done) { d.broker->remove_queue(d.ask(), "q", false, std::move(done)); }));
  d.live(1min, 10s);
  EXPECT_THAT(ticks(d), SizeIs(1));
}

TEST(Scheduler, a_removed_schedule_fires_no_more) {
  BrokerDriver d;
  d.put_schedule(every(1min, {.overlap = Overlap::allow}));
  d.live(1min, 10s);
  must(d.wait<void>([&](auto done) { d.broker->remove_schedule(d.ask(), "s", std::move(done)); }));
  d.live(5min, 10s);
  EXPECT_THAT(ticks(d), SizeIs(1));
}

// ---- Making and changing ------------------------------------------------------------------------

TEST(Scheduler, a_new_rule_starts_strictly_after_now_and_other_changes_keep_the_tick) {
  BrokerDriver d;
  EXPECT_EQ(d.put_schedule(every(1h)).next, t0 + 1h);
  d.pass(1h + 5s);  // its tick is due and not fired yet
  Schedule changed = every(1h, {.missed = Missed::all});
  EXPECT_EQ(d.put_schedule(changed).next, t0 + 1h);
  changed.rule.every = 10min;
  EXPECT_EQ(d.put_schedule(changed).next, t0 + 1h + 10min);
}

TEST(Scheduler, create_refuses_one_that_is_there) {
  BrokerDriver d;
  EXPECT_THAT(d.try_put_schedule(every(1h), PutQueue::create), IsOk());
  EXPECT_THAT(d.try_put_schedule(every(1h), PutQueue::create), FailsWith(ErrorCode::conflict));
}

TEST(Scheduler, bad_schedules_are_refused) {
  BrokerDriver d;
  Schedule schedule = every(1h);
  schedule.name = "$mine";
  EXPECT_THAT(d.try_put_schedule(schedule), FailsWith(ErrorCode::invalid));
  schedule = every(1h);
  schedule.task.queue = "$webhooks";
  EXPECT_THAT(d.try_put_schedule(schedule), FailsWith(ErrorCode::invalid));
  schedule = every(1h);
  schedule.rule = {.cron = "0 25 * * *"};
  EXPECT_THAT(d.try_put_schedule(schedule), FailsWith(ErrorCode::invalid, HasSubstr("hour 25")));
  schedule.rule = {.cron = "0 0 * * *", .zone = "Mars/Olympus"};
  EXPECT_THAT(d.try_put_schedule(schedule), FailsWith(ErrorCode::invalid));
  EXPECT_THAT(d.try_put_schedule(every(1h, {.task = {.payload = "{{tick-24hours}}"}})),
              FailsWith(ErrorCode::invalid, HasSubstr("24hours")));
  EXPECT_THAT(d.try_put(std::vector<NewTask>{}), IsOk());  // the store has not failed
}

TEST(Scheduler, run_puts_its_task_now_and_leaves_its_ticks_alone) {
  BrokerDriver d;
  d.put_schedule(every(1h));
  d.pass(10min);
  const auto run = [&] {
    return d.wait<Put>([&](auto done) { d.broker->run_schedule(d.ask(), "s", std::move(done)); });
  };
  EXPECT_THAT(run(), IsOk());
  EXPECT_THAT(run(), IsOk());
  EXPECT_THAT(ticks(d), ElementsAre(format_time(t0 + 10min), format_time(t0 + 10min)));
  EXPECT_EQ(d.schedule("s").next, t0 + 1h);
  EXPECT_EQ(d.schedule("s").fired, 0U);
}

}  // namespace
}  // namespace millrace
