// Producers and workers at two brokers, while the server that both use crashes and comes back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "broker/blocking.h"
#include "broker/local_broker.h"
#include "core/uuid.h"
#include "store/store.h"
#include "tests/support/driver.h"
#include "tests/support/matchers.h"
#include "tests/support/shared_server.h"

namespace millrace {
namespace {

using namespace millrace::test;

class LocalOutage : public ::testing::Test {
 protected:
  SystemClock clock_;
  SharedServer server_;
  std::unique_ptr<Store> store_one_ = server_.connect();
  std::unique_ptr<Store> store_two_ = server_.connect();
  LocalBroker one_{clock_, *store_one_, {.rules = {.seed = 1}}};
  LocalBroker two_{clock_, *store_two_, {.rules = {.seed = 2}}};
  std::atomic<bool> over_ = false;

  std::mutex mutex_;
  std::set<TaskId> put_;             // acknowledged
  std::map<TaskId, Token> held_;     // as answered to workers, until they report
  std::map<TaskId, int> completed_;  // acknowledged, how often
  std::vector<std::string> wrong_;

  void produce(LocalBroker& broker, int count) {
    const CallerId caller = broker.new_caller();
    for (int i = 0; i < count; ++i) {
      const NewTask one = task("q");
      for (;;) {
        const auto puts = wait_for_answer<std::vector<Result<Put>>>(
            [&](auto done) { broker.put({.caller = caller}, {one}, std::move(done)); });
        if (puts && puts->front()) break;
        std::this_thread::yield();
      }
      const std::scoped_lock lock(mutex_);
      put_.insert(one.id);
    }
  }

  void settle(LocalBroker& broker, CallerId caller, const Lease& lease) {
    {
      const std::scoped_lock lock(mutex_);
      held_.erase(lease.id);
    }
    while (true) {
      WorkOrder order;
      order.reports.push_back({lease.id, lease.token, Done{.result = "ok"}});
      const auto result = wait_for_answer<WorkResult>(
          [&](auto done) { broker.work({.caller = caller}, std::move(order), std::move(done)); });
      if (!result || (!result->settled.front() &&
                      result->settled.front().error().code == ErrorCode::unavailable)) {
        std::this_thread::yield();
        continue;
      }
      const std::scoped_lock lock(mutex_);
      if (!result->settled.front()) wrong_.push_back(result->settled.front().error().message);
      ++completed_[lease.id];
      return;
    }
  }

  void work(LocalBroker& broker) {
    const CallerId caller = broker.new_caller();
    while (!over_) {
      const auto taken = wait_for_answer<WorkResult>([&](auto done) {
        broker.work({.caller = caller},
                    {.takes = {{.worker = "w", .queues = {{"q", 3}}}}, .wait = 20ms},
                    std::move(done));
      });
      if (!taken || !taken->taken.front()) continue;
      {
        const std::scoped_lock lock(mutex_);
        for (const Lease& lease : *taken->taken.front()) {
          if (!held_.emplace(lease.id, lease.token).second) wrong_.push_back("held by two");
          if (completed_.contains(lease.id)) wrong_.push_back("taken after its end");
        }
      }
      for (const Lease& lease : *taken->taken.front()) settle(broker, caller, lease);
    }
  }

  void wait_for_calls(std::uint64_t more) {
    const std::uint64_t until = server_.calls() + more;
    while (server_.calls() < until) std::this_thread::yield();
  }
};

TEST_F(LocalOutage, nothing_acknowledged_is_lost_and_nothing_is_given_out_twice) {
  constexpr int each = 150;
  const auto direct = server_.connect();
  must(direct->put_queue(queue("q", {.keep_completed = {}, .keep_dead = {}}), PutQueue::create,
                         clock_.now()));
  must(direct->flush());
  std::vector<std::thread> producers;
  std::vector<std::thread> workers;
  for (LocalBroker* broker : {&one_, &two_}) {
    producers.emplace_back([=, this] { produce(*broker, each); });
    producers.emplace_back([=, this] { produce(*broker, each); });
    workers.emplace_back([=, this] { work(*broker); });
    workers.emplace_back([=, this] { work(*broker); });
  }
  for (int i = 0; i < 25; ++i) {
    wait_for_calls(20);
    if (i % 3 == 0) server_.lose_answers(3);
    if (i % 3 == 1) server_.go_away();
    if (i % 3 == 2) server_.crash();
    wait_for_calls(6);
    server_.come_back();
  }
  for (std::thread& producer : producers) producer.join();
  over_ = true;
  for (std::thread& worker : workers) worker.join();
  one_.stop();
  two_.stop();
  server_.crash();  // loses nothing that was answered
  EXPECT_THAT(wrong_, ::testing::IsEmpty());
  EXPECT_EQ(put_.size(), 4U * each);
  for (const TaskId& id : put_) {
    const auto found = find_task(server_.direct(), id);
    ASSERT_TRUE(found) << "an acknowledged task is gone";
    if (completed_.contains(id)) {
      EXPECT_EQ(found->state, TaskState::completed);
    }
  }
  EXPECT_GT(completed_.size(), each);
}

}  // namespace
}  // namespace millrace
