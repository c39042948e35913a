// Promises of the broker, checked over long random lives: operations, restarts, lost workers and
// passing time, the same for the same seed.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "broker/local_broker.h"
#include "payload/delivery_payload.h"
#include "tests/support/broker_driver.h"
#include "tests/support/matchers.h"

namespace millrace {
namespace {

using namespace millrace::test;

class Life {
 public:
  explicit Life(std::uint32_t seed) : dice_(seed), d_(options()) {
    d_.put_queue({.name = "a", .retry = {.base = 3s}, .keep_completed = {}, .keep_dead = {}});
    d_.put_queue({.name = "b", .lease = 5s, .max_lost = 0, .keep_completed = {}, .keep_dead = {}});
    Queue webhooks = d_.queue("$webhooks").queue;
    webhooks.settings.keep_completed = webhooks.settings.keep_dead = {};
    must(d_.try_put_queue(webhooks.settings, PutQueue::replace, {.internal = true}));
  }

  void live(int steps) {
    for (int i = 0; i < steps; ++i) step();
    d_.live(10min, 5s);
  }

  // Every task that asked for webhooks has one for its end, if it has ended, and one for each
  // failed try that was to be retried.
  void check() {
    std::map<TaskId, std::map<std::string, int>> webhooks;
    for (const Task& task : d_.all("$webhooks")) {
      ++webhooks[task.parent][must(parse_delivery(task.payload)).state];
    }
    for (const TaskId& id : put_) {
      const Task task = d_.find(id);
      auto& told = webhooks[id];
      const int retried = std::exchange(told["retrying"], 0);
      int ends = 0;
      for (const auto& [state, count] : told) ends += count;
      EXPECT_EQ(ends, is_final(task.state) ? 1 : 0) << name_of(task.state);
      if (is_final(task.state)) {
        EXPECT_EQ(told[std::string(name_of(task.state))], 1);
      }
      EXPECT_EQ(retried, std::ranges::count(task.history, Event::retry, &Attempt::event));
    }
    for (const std::string queue : {"a", "b"}) {
      const QueueView view = d_.queue(queue);
      EXPECT_EQ(view.counts.total(), 0U + std::ranges::count(queues_, queue));
      EXPECT_EQ(view.counts.taken(), 0U);  // every lease ended or was lost
    }
  }

 private:
  static LocalBrokerOptions options() {
    LocalBrokerOptions options;
    options.rules.retry = {.base = 2s, .jitter = Jitter::none, .max_retries = 2};
    options.rules.leases.notes = 5;  // so that some are forgotten
    return options;
  }

  std::uint32_t roll(std::uint32_t sides) { return static_cast<std::uint32_t>(dice_() % sides); }

  void step() {
    switch (roll(12)) {
      case 0:
      case 1:
      case 2:
        return put();
      case 3:
      case 4:
        return take();
      case 5:
      case 6:
      case 7:
        return settle();
      case 8:
        if (!put_.empty())
          std::ignore = d_.try_cancel(put_[roll(static_cast<std::uint32_t>(put_.size()))]);
        return;
      case 9:
        return d_.live(Duration(100 * (1 + roll(50))), 1s);
      case 10:
        if (roll(10) == 0) d_.restart();
        return;
      default:
        if (!leases_.empty() && roll(3) == 0) leases_.pop_back();  // its worker is gone
    }
  }

  void put() {
    NewTask task{.queue = roll(2) == 0 ? "a" : "b",
                 .callback = Callback{.url = "http://x", .events = 31}};
    if (roll(5) == 0) task.delay = Duration(roll(5000));
    if (roll(5) == 0) task.start_by = d_.now() + Duration(1 + roll(5000));
    if (task.delay && task.start_by) task.delay.reset();
    queues_.push_back(std::get<std::string>(task.queue));
    put_.push_back(d_.put(task).id);
  }

  void take() {
    for (Lease& lease : d_.take(roll(2) == 0 ? "a" : "b", 1 + roll(4))) leases_.push_back(lease);
  }

  void settle() {
    WorkOrder order;
    while (!leases_.empty() && order.reports.size() < 3) {
      order.reports.push_back({leases_.back().id, leases_.back().token, outcome()});
      leases_.pop_back();
    }
    const auto result = must(d_.try_work(std::move(order)));
    for (const auto& settled : result.settled) {
      if (settled) {
        EXPECT_NE(settled->status, SettleStatus::cancel_requested);
      } else {
        EXPECT_EQ(settled.error().code, ErrorCode::lease_lost);  // nothing is ever removed here
      }
    }
  }

  Outcome outcome() {
    switch (roll(7)) {
      case 0:
        return Failed{error("no")};
      case 1:
        return Failed{error("no"), false};
      case 2:
        return RetryAt{d_.now() + 1s, error("later")};
      case 3:
        return Snooze{d_.now() + 1s};
      case 4:
        return GiveBack{};
      case 5:
        return Cancel{"no"};
      default:
        return Done{"r"};
    }
  }

  std::mt19937 dice_;
  BrokerDriver d_;
  std::vector<TaskId> put_;
  std::vector<std::string> queues_;  // where they went
  std::vector<Lease> leases_;
};

TEST(LocalBrokerProperty, every_end_that_was_to_be_told_is_told_once) {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    Life life(seed);
    life.live(400);
    life.check();
    if (::testing::Test::HasFailure()) return;
  }
}

// What the broker remembers of a lease, and what it reads from the store if it remembers nothing,
// lead to the same decision.
TEST(LocalBrokerProperty, a_decision_is_the_same_with_and_without_a_memory) {
  const std::vector<Outcome> outcomes = {Done{"r"},
                                         Failed{error("no", "boom")},
                                         Failed{error("no"), false},
                                         RetryAt{t0 + 1h, error("later")},
                                         Snooze{t0 + 1h},
                                         Cancel{"no"},
                                         GiveBack{}};
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    for (const bool cancelled : {false, true}) {
      SCOPED_TRACE(fmt::format("outcome {}, cancelled {}", i, cancelled));
      std::vector<Task> ends;
      std::vector<std::vector<std::string>> told;
      for (const bool forgets : {false, true}) {
        LocalBrokerOptions options;
        options.rules.retry.jitter = Jitter::none;
        BrokerDriver d(options);
        d.put_queue({.name = "q", .types = {{.type = "t", .retry = {.max_retries = 1}}}});
        const TaskId id = {Uuid{{7}}};
        d.put({.id = id,
               .queue = "q",
               .type = "t",
               .retry = RetryRules{.base = 11s},
               .callback = Callback{.url = "http://x", .events = 31},
               .request_id = "r"});
        const Lease lease = d.take_one("q");
        if (cancelled) must(d.try_cancel(id));
        if (forgets) d.restart();
        d.settle(lease, outcomes[i]);
        ends.push_back(d.find(id));
        told.push_back(d.webhooks());
      }
      EXPECT_EQ(ends[0], ends[1]);
      EXPECT_EQ(told[0], told[1]);
    }
  }
}

}  // namespace
}  // namespace millrace
