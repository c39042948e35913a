// What happened in the past, read through a LocalBroker that writes it.
#include "broker/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "broker/history_memo.h"
#include "broker/history_writer.h"
#include "broker/local_broker.h"
#include "broker/recorder.h"
#include "store/forwarding.h"
#include "store/store.h"
#include "tests/support/broker_driver.h"
#include "tests/support/matchers.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::Optional;
using ::testing::SizeIs;

LocalBrokerOptions with_history() {
  LocalBrokerOptions options;
  options.rules.history = true;
  return options;
}

class HistoryTest : public ::testing::Test {
 protected:
  std::vector<HistoryPoint> history(HistoryRequest request = {}) {
    return must(try_history(std::move(request))).points;
  }
  Result<History> try_history(HistoryRequest request) {
    return d.wait<History>(
        [&](auto done) { d.broker->history(d.ask(), std::move(request), std::move(done)); });
  }
  std::vector<Memo> memos() {
    std::vector<Memo> all;
    for (;;) {
      const auto page = must(d.store->recall(
          {.prefix = "$history/", .after = all.empty() ? "" : all.back().key, .limit = 1000},
          d.now()));
      all.insert(all.end(), page.begin(), page.end());
      if (page.size() < 1000) return all;
    }
  }
  void put(const std::string& queue, const std::string& type, int count = 1) {
    must(d.try_put(
        std::vector<NewTask>(static_cast<std::size_t>(count), task_without_id(queue, type))));
  }
  static NewTask task_without_id(const std::string& queue, const std::string& type) {
    return {.queue = queue, .type = type};
  }
  // One task from put to done: waits this long, runs this long.
  void life(const std::string& queue, const std::string& type, Duration waits, Duration runs,
            Outcome outcome = Done{}) {
    put(queue, type);
    d.pass(waits);
    const Lease lease = d.take_one(queue);
    d.pass(runs);
    d.settle(lease, std::move(outcome));
  }
  // To the beginning of the next minute, with upkeep.
  void next_minute() {
    d.clock.advance(beginning_of(history_minute, d.now()) + 1min - d.now());
    d.broker->run_services();
  }

  BrokerDriver d{with_history()};
};

// S0-028, S0-184
TEST_F(HistoryTest, a_minute_tells_how_many_how_long_and_how_much_is_left) {
  d.broker->run_services();
  life("q", "a", 200ms, 1s);
  life("q", "a", 200ms, 1s);
  life("q", "b", 0ms, 4s, Failed{error("no"), false});
  put("q", "c", 3);
  d.take_one("q");
  next_minute();
  const auto points = history();
  ASSERT_THAT(points, SizeIs(2));  // the new one has what waits now
  EXPECT_EQ(points[0].at, t0);
  EXPECT_EQ(points[0].put, 6U);
  EXPECT_EQ(points[0].taken, 4U);
  EXPECT_EQ(points[0].completed, 2U);
  EXPECT_EQ(points[0].failed, 1U);
  EXPECT_THAT(points[0].run_p50, Optional(DoubleNear(1, 0.15)));
  EXPECT_THAT(points[0].run_p99, Optional(DoubleNear(4, 0.5)));
  EXPECT_THAT(points[0].wait_p95, Optional(DoubleNear(0.2, 0.03)));
  EXPECT_EQ(points[0].waiting, 2U);
  EXPECT_EQ(points[0].running, 1U);
  EXPECT_EQ(points[1].put, 0U);
  EXPECT_EQ(points[1].run_p50, std::nullopt);
  EXPECT_EQ(points[1].waiting, 2U);
}

TEST_F(HistoryTest, retries_losses_and_cancellations_are_counted) {
  d.live(31s);
  const TaskId id = d.put({.queue = "q"}).id;
  d.settle(d.take_one("q"), RetryAt{d.now() + 1s, error("no")});
  d.live(2s);
  d.take_one("q");
  d.live(62s);
  must(d.try_cancel(id));
  d.put({.queue = "q", .start_by = d.now() + 1s});
  d.live(2s);
  HistoryPoint sum;
  for (const HistoryPoint& point : history()) {
    sum.retried += point.retried, sum.lost += point.lost, sum.cancelled += point.cancelled;
  }
  EXPECT_EQ(sum.retried, 1U);
  EXPECT_EQ(sum.lost, 1U);
  EXPECT_EQ(sum.cancelled, 2U);
}

TEST_F(HistoryTest, the_minute_that_is_not_over_is_part_of_the_answer) {
  put("q", "a", 5);
  EXPECT_THAT(memos(), IsEmpty());
  EXPECT_THAT(history(),
              ElementsAre(AllOf(Field(&HistoryPoint::at, t0), Field(&HistoryPoint::put, 5U),
                                Field(&HistoryPoint::waiting, 5U))));
  EXPECT_THAT(history({.step = 1h}), ElementsAre(Field(&HistoryPoint::put, 5U)));
}

TEST_F(HistoryTest, queues_and_types_can_be_asked_for) {
  put("q", "a", 1);
  put("q", "b", 2);
  put("r", "a", 4);
  d.live(61s);
  EXPECT_EQ(history({.queue = "q", .until = t0 + 1min}).front().put, 3U);
  EXPECT_EQ(history({.type = "a", .until = t0 + 1min}).front().put, 5U);
  EXPECT_EQ(history({.queue = "r", .type = "a", .until = t0 + 1min}).front().put, 4U);
  EXPECT_THAT(history({.queue = "none"}), IsEmpty());
  EXPECT_THAT(history({.queue = "q", .until = t0 + 1min}), Each(Field(&HistoryPoint::waiting, 3U)));
}

TEST_F(HistoryTest, the_whole_range_has_its_own_sums_and_percentiles) {
  d.broker->run_services();
  for (int i = 0; i < 9; ++i) life("q", "a", 0ms, 1s);
  next_minute();
  life("q", "a", 0ms, 10s, Failed{error("no"), false});
  const History found = must(try_history({}));
  ASSERT_THAT(found.points, SizeIs(2));
  EXPECT_EQ(found.total.put, 10U);
  EXPECT_EQ(found.total.completed, 9U);
  EXPECT_EQ(found.total.failed, 1U);
  EXPECT_THAT(found.total.run_p50, Optional(DoubleNear(1, 0.15)));
  EXPECT_THAT(found.total.run_p99, Optional(DoubleNear(10, 1.5)));
  EXPECT_EQ(must(try_history({.queue = "none"})).total.put, 0U);
}

TEST_F(HistoryTest, what_each_queue_or_type_had_of_the_points) {
  d.broker->run_services();
  life("q", "a", 1s, 1s);
  life("q", "b", 1s, 1s, Failed{error("no"), false});
  put("r", "a", 5);
  next_minute();
  put("q", "b", 2);
  const History by_queue = must(try_history({.by = HistoryBy::queue}));
  ASSERT_THAT(by_queue.points, SizeIs(2));
  ASSERT_THAT(by_queue.series, SizeIs(2));
  const HistorySeries r{.name = "r",
                        .put = {5, 0},
                        .completed = {0, 0},
                        .failed = {0, 0},
                        .retried = {0, 0},
                        .waiting = {5, 5},
                        .running = {0, 0}};
  EXPECT_EQ(by_queue.series[0], r);  // the busiest first
  EXPECT_EQ(by_queue.series[1].name, "q");
  EXPECT_THAT(by_queue.series[1].put, ElementsAre(2, 2));
  EXPECT_THAT(by_queue.series[1].completed, ElementsAre(1, 0));
  EXPECT_THAT(by_queue.series[1].failed, ElementsAre(1, 0));
  EXPECT_THAT(by_queue.series[1].waiting, ElementsAre(0, 2));
  const History by_type = must(try_history({.queue = "q", .by = HistoryBy::type}));
  ASSERT_THAT(by_type.series, SizeIs(2));
  EXPECT_EQ(by_type.series[0].name, "b");
  EXPECT_THAT(by_type.series[0].put, ElementsAre(1, 2));
  EXPECT_THAT(by_type.series[0].waiting, IsEmpty());
  EXPECT_THAT(must(try_history({})).series, IsEmpty());
}

TEST_F(HistoryTest, of_many_queues_the_busiest_have_a_series_and_the_rest_is_one) {
  for (int i = 0; i < 120; ++i) put("q" + std::to_string(i), "t", i < 3 ? 5 : 1);
  const History found = must(try_history({.by = HistoryBy::queue}));
  ASSERT_THAT(found.series, SizeIs(History::most_queues));
  EXPECT_EQ(found.series[0].name, "q0");
  EXPECT_EQ(found.series.back().name, "other");
  EXPECT_THAT(found.series.back().put, ElementsAre(21));
  EXPECT_EQ(found.total.put, 132U);
}

TEST_F(HistoryTest, internal_queues_must_be_named) {
  must(d.try_put({{.queue = "$webhooks", .type = "webhook"}}, {.caller = {2}, .internal = true}));
  EXPECT_THAT(history(), IsEmpty());
  EXPECT_THAT(history({.queue = "$webhooks"}), ElementsAre(Field(&HistoryPoint::put, 1U)));
}

TEST_F(HistoryTest, minutes_in_which_nothing_happened_are_left_out) {
  d.broker->run_services();
  life("q", "a", 1s, 1s);
  d.live(10min, 10s);
  EXPECT_THAT(memos(), SizeIs(2));  // a minute and an hour
  life("q", "a", 1s, 1s);
  d.live(1min, 10s);
  EXPECT_THAT(history(),
              ElementsAre(Field(&HistoryPoint::at, t0), Field(&HistoryPoint::at, t0 + 10min)));
}

TEST_F(HistoryTest, times_can_be_asked_for) {
  for (int i = 0; i < 5; ++i) {
    life("q", "a", 1s, 1s);
    next_minute();
  }
  const auto at = [&](TimePoint from, TimePoint until) {
    std::vector<Duration> minutes;
    for (const HistoryPoint& point : history({.from = from, .until = until})) {
      minutes.push_back(point.at - t0);
    }
    return minutes;
  };
  EXPECT_THAT(at(t0 + 1min, t0 + 3min), ElementsAre(1min, 2min));
  // The minute that contains the beginning is part of it.
  EXPECT_THAT(at(t0 + 90s, t0 + 3min), ElementsAre(1min, 2min));
  EXPECT_THAT(at(t0 + 3min, never), ElementsAre(3min, 4min));
  EXPECT_THAT(at(TimePoint::min(), t0 + 1min), ElementsAre(0min));
  EXPECT_THAT(at(t0 + 3min, t0 + 1min), IsEmpty());
  EXPECT_THAT(at(never, never), IsEmpty());
  EXPECT_THAT(at(TimePoint::min(), TimePoint::min()), IsEmpty());
}

TEST_F(HistoryTest, a_step_is_a_minute_or_an_hour) {
  for (const Duration step : {Duration(0), Duration(-1), Duration(2min), Duration::max()}) {
    EXPECT_THAT(try_history({.step = step}), FailsWith(ErrorCode::invalid, HasSubstr("1m or 1h")));
  }
}

TEST_F(HistoryTest, an_hour_is_the_sum_of_its_minutes) {
  for (int i = 0; i < 90; ++i) {
    life("q", "a", 1s, 1s);
    next_minute();
  }
  EXPECT_THAT(
      history({.step = 1h}),
      ElementsAre(AllOf(Field(&HistoryPoint::at, t0), Field(&HistoryPoint::put, 60U),
                        Field(&HistoryPoint::completed, 60U)),
                  AllOf(Field(&HistoryPoint::at, t0 + 1h), Field(&HistoryPoint::put, 30U))));
  // A part of it is in memory only.
  life("q", "a", 1s, 1s);
  EXPECT_EQ(history({.step = 1h}).back().put, 31U);
  EXPECT_EQ(history({.step = 1min}).back().put, 1U);
}

TEST_F(HistoryTest, a_restart_keeps_it_and_goes_on_in_the_same_minute) {
  life("q", "a", 1s, 1s);
  next_minute();
  life("q", "a", 1s, 1s);
  put("q", "b", 2);
  d.restart();
  EXPECT_THAT(history(), ElementsAre(Field(&HistoryPoint::put, 1U), Field(&HistoryPoint::put, 3U)));
  d.broker->run_services();
  life("q", "b", 1s, 1s);
  EXPECT_THAT(history(), ElementsAre(Field(&HistoryPoint::put, 1U), Field(&HistoryPoint::put, 4U)));
  next_minute();
  EXPECT_THAT(history({.until = d.now()}),
              ElementsAre(Field(&HistoryPoint::put, 1U), Field(&HistoryPoint::put, 4U)));
  EXPECT_EQ(history({.step = 1h}).front().put, 5U);
}

TEST_F(HistoryTest, two_servers_write_into_one_history) {
  Books other({.history = true, .seed = 99}, d.store->traits(), d.now());
  HistoryWriter second(other);
  d.broker->run_services();
  must(second.run_once(*d.store, d.now()));
  put("q", "a", 2);
  {
    Recorder recorder(other, d.now());
    for (int i = 0; i < 3; ++i) recorder.put({fresh_id(), "q", "a"}, TaskState::queued);
  }
  next_minute();
  for (TimePoint next = d.now(); next <= d.now();) next = must(second.run_once(*d.store, d.now()));
  EXPECT_THAT(history({.until = t0 + 1min}),
              ElementsAre(AllOf(Field(&HistoryPoint::put, 5U), Field(&HistoryPoint::waiting, 2U))));
  EXPECT_EQ(history({.step = 1h}).front().put, 5U);
  EXPECT_THAT(memos(), SizeIs(2));
}

TEST_F(HistoryTest, a_day_of_minutes_and_a_month_of_hours_stay_bounded) {
  d.broker->run_services();
  put("q", "a");
  // Something waits all the time, so every minute is written.
  for (int i = 0; i < 27 * 60; ++i) {
    put("q", "a");
    next_minute();
  }
  const auto minutes = history();
  EXPECT_THAT(minutes.size(), AllOf(Ge(1499U), Le(1501U)));
  EXPECT_EQ(minutes.back().waiting, 27U * 60 + 1);
  EXPECT_THAT(history({.step = 1h}), SizeIs(28));  // the one that has just begun, too
  for (int i = 0; i < 31 * 24; ++i) {
    d.pass(1h);
    d.broker->run_services();
  }
  EXPECT_THAT(history({.step = 1h}).size(), AllOf(Ge(720U), Le(723U)));
  EXPECT_THAT(memos().size(), Le(750U));
}

TEST_F(HistoryTest, whatever_clients_name_the_memos_stay_small) {
  d.broker->run_services();
  for (int i = 0; i < 300; ++i) {
    for (int k = 0; k < 4; ++k) {
      put("queue-" + std::to_string(i), std::string(90, 't') + std::to_string(i * 4 + k));
    }
  }
  next_minute();
  const auto points = history({.until = t0 + 1min});
  ASSERT_THAT(points, SizeIs(1));
  EXPECT_EQ(points[0].put, 1200U);
  EXPECT_EQ(points[0].waiting, 1200U);
  for (const Memo& memo : memos()) EXPECT_THAT(memo.value.size(), Le(32U * 1024));
}

TEST_F(HistoryTest, broken_memos_are_left_out_and_logged) {
  life("q", "a", 1s, 1s);
  next_minute();
  must(d.store->remember({.key = history_key(history_minute, t0 - 1min), .value = "rubbish"}, t0));
  must(d.store->remember({.key = "$history/1m/yesterday", .value = "x"}, t0));
  EXPECT_THAT(history({.until = t0 + 1min}), ElementsAre(Field(&HistoryPoint::put, 1U)));
  EXPECT_THAT(d.logged.lines(), Contains(HasSubstr("left out of the history")));
}

TEST_F(HistoryTest, a_broken_memo_is_written_anew) {
  put("q", "a");
  must(d.store->remember({.key = history_key(history_minute, t0), .value = "rubbish"}, t0));
  d.broker->run_services();
  next_minute();
  EXPECT_THAT(history({.until = t0 + 1min}), ElementsAre(Field(&HistoryPoint::put, 1U)));
  EXPECT_THAT(d.logged.lines(), Contains(HasSubstr("is replaced")));
}

TEST_F(HistoryTest, a_clock_that_was_set_back_loses_nothing) {
  d.broker->run_services();
  put("q", "a", 2);
  next_minute();
  put("q", "a", 3);
  d.clock.advance(-1h);
  put("q", "a", 4);
  d.broker->run_services();
  next_minute();
  const auto points = history({.until = t0 + 2min});
  ASSERT_THAT(points, SizeIs(Ge(3U)));
  EXPECT_EQ(points[0].at, t0 - 59min);
  EXPECT_EQ(points[0].put, 4U);
  EXPECT_EQ(points.end()[-2].put, 2U);
  EXPECT_EQ(points.end()[-1].put, 3U);
}

TEST_F(HistoryTest, the_depth_of_a_point_that_is_not_over_is_that_of_now) {
  d.broker->run_services();
  put("q", "a", 3);
  next_minute();
  EXPECT_EQ(history({.step = 1h}).front().waiting, 3U);
  for (const Lease& lease : d.take("q")) d.settle(lease, Done{});
  EXPECT_EQ(history({.step = 1h}).front().waiting, 0U);
  EXPECT_EQ(history({.step = 1h}).front().running, 0U);
  // The past does not change with it.
  EXPECT_EQ(history({.until = t0 + 1min}).front().waiting, 3U);
}

TEST(History, what_is_off_is_not_kept) {
  BrokerDriver d;
  d.put({.queue = "q"});
  d.live(2min, 10s);
  EXPECT_THAT(must(d.store->recall({.prefix = "$"}, d.now())), IsEmpty());
  EXPECT_THAT(must(d.wait<History>([&](auto done) {
                d.broker->history(d.ask(), {}, std::move(done));
              })).points,
              IsEmpty());
}

// ---- A store that fails -------------------------------------------------------------------------

// Has no room for memos when told so.
class FullStore final : public ForwardingStore {
 public:
  explicit FullStore(std::unique_ptr<Store> inner)
      : ForwardingStore(*inner), inner_(std::move(inner)) {}
  Result<Memo> remember(const Remember& request, TimePoint now) override {
    if (full || (full_hours && request.key.starts_with(history_hour.prefix))) {
      return fail(ErrorCode::limited, "there is no room");
    }
    if (const auto other = std::exchange(in_between, {})) other(*inner_);
    return ForwardingStore::remember(request, now);
  }
  Result<void> flush() override {
    if (gone) return fail(ErrorCode::unavailable, "the disk is gone");
    return ForwardingStore::flush();
  }
  std::atomic<bool> full = false;
  std::atomic<bool> full_hours = false;
  std::function<void(Store&)> in_between = {};  // another server writes first, once
  std::atomic<bool> gone = false;

 private:
  std::unique_ptr<Store> inner_;
};

class FullHistory : public HistoryTest {
 protected:
  FullHistory() {
    d.broker.reset();
    auto store = std::make_unique<FullStore>(open_memory());
    full_ = store.get();
    d.store = std::move(store);
    d.start();
  }
  FullStore* full_ = nullptr;
};

TEST_F(FullHistory, what_cannot_be_stored_waits_and_is_shown) {
  d.broker->run_services();
  full_->full = true;
  for (int i = 0; i < 3; ++i) {
    put("q", "a");
    next_minute();
  }
  EXPECT_THAT(memos(), IsEmpty());
  EXPECT_THAT(history({.until = d.now()}), SizeIs(3));
  EXPECT_EQ(history({.step = 1h}).front().put, 3U);
  EXPECT_THAT(d.logged.lines(), Contains(HasSubstr("history cannot be stored")).Times(1));
  full_->full = false;
  d.live(15s);
  EXPECT_THAT(memos(), SizeIs(4));
  EXPECT_THAT(history({.until = d.now()}), SizeIs(Ge(3U)));
  EXPECT_EQ(history({.step = 1h}).front().put, 3U);
}

TEST_F(HistoryTest, a_caller_that_may_see_some_queues_gets_nothing_of_the_others) {
  d.broker->run_services();
  const HistoryRequest mine{.allowed = [](std::string_view name) { return name != "theirs"; },
                            .by = HistoryBy::queue};
  // If there are many queues, `other` is what the least busy of them did.
  for (const auto* queue : {"mine.a", "mine.b", "theirs", "other"}) put(queue, "a", 2);
  d.take_one("theirs");
  const auto check = [&](const HistoryRequest& request) {
    const History found = must(try_history(request));
    EXPECT_EQ(found.total.put, 4U);
    EXPECT_EQ(found.total.taken, 0U);
    EXPECT_EQ(found.points.back().waiting, 4U);
    EXPECT_EQ(found.points.back().running, 0U);
    ASSERT_THAT(found.series, SizeIs(2));
    EXPECT_EQ(found.series[0].name, "mine.a");
    EXPECT_EQ(found.series[1].name, "mine.b");
  };
  check(mine);
  next_minute();  // from the store, and by hours
  check(mine);
  HistoryRequest hours = mine;
  hours.step = 1h;
  check(hours);
  hours.by = HistoryBy::type;
  EXPECT_THAT(must(try_history(hours)).series.front().put, ElementsAre(4U));
}

TEST_F(FullHistory, a_minute_that_is_stored_without_its_hour_counts_once) {
  d.broker->run_services();
  full_->full_hours = true;
  put("q", "a", 7);
  next_minute();
  EXPECT_THAT(memos(), SizeIs(1));
  EXPECT_EQ(history({.until = d.now()}).front().put, 7U);
  EXPECT_EQ(history({.step = 1h}).front().put, 7U);
  full_->full_hours = false;
  d.live(15s);
  EXPECT_EQ(history({.until = t0 + 1min}).front().put, 7U);
  EXPECT_EQ(history({.step = 1h}).front().put, 7U);
}

TEST_F(FullHistory, servers_that_write_at_the_same_time_do_not_overwrite_each_other) {
  d.broker->run_services();
  put("q", "a", 7);
  full_->in_between = [&](Store& store) {
    HistoryMemo theirs;
    MinuteRow row{.queue = "q", .type = "a"};
    row.counts[static_cast<std::size_t>(Counted::put)] = 30;
    theirs.add(row);
    must(store.remember({.key = history_key(history_minute, t0), .value = theirs.encode()}, t0));
  };
  next_minute();
  EXPECT_EQ(history({.until = t0 + 1min}).front().put, 37U);
}

TEST_F(FullHistory, what_waits_for_room_is_bounded) {
  d.broker->run_services();
  full_->full = true;
  for (int i = 0; i < 70; ++i) {
    put("q", "a");
    next_minute();
  }
  EXPECT_THAT(history({.until = d.now()}), SizeIs(60));
  EXPECT_THAT(d.logged.lines(), Contains(HasSubstr("is lost: it could not be stored")));
}

TEST_F(FullHistory, a_broker_over_a_store_that_has_failed_stops) {
  put("q", "a");
  full_->gone = true;
  EXPECT_THAT(only(d.try_put({{.queue = "q"}})), FailsWith(ErrorCode::unavailable));
  d.broker->stop();
  full_->gone = false;
  EXPECT_THAT(memos(), IsEmpty());
}

}  // namespace
}  // namespace millrace
