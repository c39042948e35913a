// Settings of queues and schedules that two servers change at the same time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "broker/local_broker.h"
#include "store/forwarding.h"
#include "store/store.h"
#include "tests/support/broker_driver.h"
#include "tests/support/matchers.h"
#include "tests/support/shared_server.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Lets other servers write between a broker's read and its write.
class Interrupted final : public ForwardingStore {
 public:
  explicit Interrupted(std::unique_ptr<Store> store)
      : ForwardingStore(*store), owned_(std::move(store)) {}

  // Called before each write of settings, from the applying thread.
  std::function<void()> before_write;

  Result<Queue> put_queue(const QueueSettings& settings, PutQueue mode, TimePoint now) override {
    interrupt();
    return ForwardingStore::put_queue(settings, mode, now);
  }
  Result<Schedule> put_schedule(const Schedule& schedule, PutSchedule mode,
                                TimePoint now) override {
    interrupt();
    return ForwardingStore::put_schedule(schedule, mode, now);
  }

 private:
  void interrupt() {
    if (before_write) before_write();
  }

  std::unique_ptr<Store> owned_;
};

class LocalEdits : public ::testing::Test {
 protected:
  SharedServer server_;
  Interrupted* between_ = nullptr;
  BrokerDriver one_{{}, interrupted()};
  BrokerDriver two_{{}, server_.connect()};

  std::unique_ptr<Store> interrupted() {
    auto store = std::make_unique<Interrupted>(server_.connect());
    between_ = store.get();
    return store;
  }
  // The next write of the first server finds that the second one was faster.
  void interrupt_once(std::function<void()> by) {
    between_->before_write = [this, by = std::move(by)] {
      const auto act = std::exchange(between_->before_write, nullptr);
      by();
    };
  }
  static Result<Queue> change(BrokerDriver& d, QueueChange change) {
    return d.wait<Queue>([&](auto done) {
      d.broker->change_queue(d.ask(), "q", std::move(change), std::move(done));
    });
  }
  static Result<Queue> pause(BrokerDriver& d) {
    return change(d, [](QueueSettings& settings) -> Result<void> {
      settings.paused_until = never;
      return {};
    });
  }
  static Result<Queue> set_priority(BrokerDriver& d, std::uint8_t priority) {
    return change(d, [priority](QueueSettings& settings) -> Result<void> {
      settings.priority = priority;
      return {};
    });
  }
  static Result<Schedule> change_schedule(BrokerDriver& d, ScheduleChange change) {
    return d.wait<Schedule>([&](auto done) {
      d.broker->change_schedule(d.ask(), "s", std::move(change), std::move(done));
    });
  }
  static Result<Schedule> set_type(BrokerDriver& d, const std::string& type) {
    return change_schedule(d, [type](Schedule& schedule) -> Result<void> {
      schedule.task.type = type;
      return {};
    });
  }
  static Schedule every_minute() {
    return {.name = "s",
            .rule = {.every = 1min},
            .task = NewTask{.queue = "q"},
            .overlap = Overlap::allow};
  }
  void live(Duration by) {
    for (Duration done{}; done < by; done += 250ms) {
      for (BrokerDriver* each : {&one_, &two_}) each->clock.advance(250ms);
      for (BrokerDriver* each : {&one_, &two_}) each->broker->run_services();
    }
  }
};

// ---- Queues ------------------------------------------------------------------------------------

TEST_F(LocalEdits, a_pause_through_one_server_is_not_undone_by_a_change_through_another) {
  one_.put_queue(queue("q"));
  interrupt_once([&] { must(pause(two_)); });
  EXPECT_THAT(set_priority(one_, 9), IsOk());
  const QueueSettings stored = one_.queue("q").queue.settings;
  EXPECT_EQ(stored.priority, 9);
  EXPECT_EQ(stored.paused_until, never);
}

TEST_F(LocalEdits, a_pause_that_ended_meanwhile_does_not_come_back) {
  one_.put_queue(queue("q", {.paused_until = t0 + 1s}));
  for (BrokerDriver* each : {&one_, &two_}) each->clock.advance(1s);
  interrupt_once([&] { two_.broker->run_services(); });
  EXPECT_THAT(set_priority(one_, 9), IsOk());
  const QueueSettings stored = one_.queue("q").queue.settings;
  EXPECT_EQ(stored.priority, 9);
  EXPECT_EQ(stored.paused_until, std::nullopt);
}

TEST_F(LocalEdits, a_queue_that_another_server_has_just_created_is_a_conflict) {
  interrupt_once([&] { two_.put_queue(queue("q", {.priority = 3})); });
  EXPECT_THAT(one_.try_put_queue({.name = "q", .priority = 9}, PutQueue::create),
              FailsWith(ErrorCode::conflict, HasSubstr("there is a queue")));
  EXPECT_EQ(one_.queue("q").queue.settings.priority, 3);
}

TEST_F(LocalEdits, a_queue_that_another_server_has_just_created_is_replaced) {
  interrupt_once([&] { two_.put_queue(queue("q", {.priority = 3})); });
  EXPECT_THAT(one_.try_put_queue({.name = "q", .priority = 9}, PutQueue::replace), IsOk());
  EXPECT_EQ(two_.queue("q").queue.settings.priority, 9);
}

TEST_F(LocalEdits, a_queue_that_another_server_has_just_removed_is_created_anew_by_a_replacement) {
  two_.put_queue(queue("q", {.priority = 3}));
  interrupt_once([&] {
    must(two_.wait<void>(
        [&](auto done) { two_.broker->remove_queue(two_.ask(), "q", false, std::move(done)); }));
  });
  EXPECT_THAT(one_.try_put_queue({.name = "q", .priority = 9}, PutQueue::replace), IsOk());
  EXPECT_EQ(two_.queue("q").queue.settings.priority, 9);
}

TEST_F(LocalEdits, a_change_that_is_overtaken_again_and_again_is_a_conflict_and_changes_nothing) {
  one_.put_queue(queue("q"));
  std::uint32_t overtaken = 0;
  between_->before_write = [&] {
    ++overtaken;
    must(change(two_, [&](QueueSettings& settings) -> Result<void> {
      settings.batch_size = overtaken;
      return {};
    }));
  };
  EXPECT_THAT(set_priority(one_, 9), FailsWith(ErrorCode::conflict, HasSubstr("try again")));
  between_->before_write = nullptr;
  EXPECT_GT(overtaken, 3U);
  const QueueSettings stored = one_.queue("q").queue.settings;
  EXPECT_EQ(stored.priority, default_priority);
  EXPECT_EQ(stored.batch_size, overtaken);
}

// Not a race: there is no other change.
TEST_F(LocalEdits, a_conflict_of_another_kind_is_answered_as_it_is) {
  one_.put_queue(queue("p", {.number = QueueNumber{7}}));
  one_.put_queue(queue("q"));
  int writes = 0;
  between_->before_write = [&] { ++writes; };
  EXPECT_FALSE(change(one_, [](QueueSettings& settings) -> Result<void> {
                 settings.number = QueueNumber{7};
                 return {};
               }).has_value());
  between_->before_write = nullptr;
  EXPECT_EQ(writes, 1);
}

// ---- Schedules ---------------------------------------------------------------------------------

TEST_F(LocalEdits, changes_of_a_schedule_through_two_servers_both_hold) {
  one_.put_queue(queue("q"));
  one_.put_schedule(every_minute());
  interrupt_once([&] {
    must(change_schedule(two_, [](Schedule& schedule) -> Result<void> {
      schedule.jitter = 7s;
      return {};
    }));
  });
  EXPECT_THAT(set_type(one_, "new"), IsOk());
  EXPECT_EQ(two_.schedule("s").task.type, "new");
  EXPECT_EQ(two_.schedule("s").jitter, 7s);
}

TEST_F(LocalEdits, a_tick_that_fires_while_its_schedule_is_changed_fires_once) {
  one_.put_queue(queue("q"));
  one_.put_schedule(every_minute());
  live(59s);
  for (BrokerDriver* each : {&one_, &two_}) each->clock.advance(1s);
  interrupt_once([&] { two_.broker->run_services(); });
  EXPECT_THAT(set_type(one_, "new"), IsOk());
  EXPECT_EQ(two_.schedule("s").fired, 1U) << "it did not fire in between";
  live(10s);
  EXPECT_EQ(two_.schedule("s").fired, 1U);
  EXPECT_THAT(one_.all("q"), SizeIs(1));
}

// The clock of the server that changes it may be a little behind that of the server that fired.
TEST_F(LocalEdits, a_new_rule_does_not_bring_back_a_tick_that_has_just_fired) {
  one_.put_queue(queue("q"));
  one_.put_schedule(every_minute());
  live(59'500ms);
  two_.clock.advance(500ms);
  two_.broker->run_services();
  ASSERT_EQ(two_.schedule("s").fired, 1U);
  const auto changed = change_schedule(one_, [](Schedule& schedule) -> Result<void> {
    schedule.rule.every = 30s;
    return {};
  });
  EXPECT_EQ(must(changed).next, t0 + 90s);
}

TEST_F(LocalEdits, skipping_missed_ticks_undoes_no_change) {
  one_.put_queue(queue("q"));
  Schedule schedule = every_minute();
  schedule.rule.every = 1h;
  schedule.missed = Missed::skip;
  one_.put_schedule(schedule);
  one_.broker->run_services();
  for (BrokerDriver* each : {&one_, &two_}) each->clock.advance(90min);
  interrupt_once([&] { must(set_type(two_, "new")); });
  one_.broker->run_services();
  EXPECT_EQ(two_.schedule("s").task.type, "new");
  live(1s);
  EXPECT_EQ(two_.schedule("s").next, t0 + 2h);
  EXPECT_EQ(two_.schedule("s").fired, 0U);
}

TEST_F(LocalEdits, a_schedule_that_another_server_has_just_created_is_a_conflict) {
  one_.put_queue(queue("q"));
  interrupt_once([&] { two_.put_schedule(every_minute()); });
  Schedule mine = every_minute();
  mine.task.type = "mine";
  EXPECT_THAT(one_.try_put_schedule(mine, PutQueue::create),
              FailsWith(ErrorCode::conflict, HasSubstr("there is a schedule")));
  EXPECT_EQ(one_.schedule("s").task.type, "");
}

}  // namespace
}  // namespace millrace
