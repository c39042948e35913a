// What an operator does with tasks reads them beside the rounds: the applier does not wait for a
// disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "broker/local_broker.h"
#include "store/forwarding.h"
#include "store/store.h"
#include "tests/support/broker_driver.h"
#include "tests/support/matchers.h"

namespace millrace {
namespace {

using namespace millrace::test;

// Counts reads that a disk may be needed for and that are made on the thread that puts.
class NotingStore final : public ForwardingStore {
 public:
  explicit NotingStore(std::unique_ptr<Store> memory)
      : ForwardingStore(*memory), memory_(std::move(memory)) {}

  std::atomic<std::thread::id> applier;
  std::atomic<int> reads_on_applier = 0;
  std::atomic<int> reads_beside = 0;

  Result<std::vector<Result<Put>>> put(std::span<const NewTask> tasks, TimePoint now) override {
    applier = std::this_thread::get_id();
    return ForwardingStore::put(tasks, now);
  }
  Result<std::vector<Result<Task>>> find(std::span<const TaskRef> tasks, Parts parts) override {
    if (parts.head && !tasks.empty()) note();
    return ForwardingStore::find(tasks, parts);
  }
  Result<TaskPage> list(const ListRequest& request) override {
    note();
    return ForwardingStore::list(request);
  }

 private:
  void note() {
    ++(std::this_thread::get_id() == applier.load() ? reads_on_applier : reads_beside);
  }

  std::unique_ptr<Store> memory_;
};

class LocalBeside : public ::testing::Test {
 protected:
  LocalBeside() { d.put_queue(queue("q", {.retry = {.max_retries = 0}})); }

  TaskId dead() {
    const Put put = d.put(task("q"));
    d.settle(d.take_one("q"), Failed{.error = {.code = "x"}});
    return put.id;
  }
  void expect_only_beside(const auto& verb) {
    store.reads_on_applier = 0, store.reads_beside = 0;
    verb();
    EXPECT_EQ(store.reads_on_applier, 0);
    EXPECT_GT(store.reads_beside, 0);
  }
  Broker::States states(auto verb) { return must(d.wait<Broker::States>(verb)); }

  std::unique_ptr<NotingStore> own = std::make_unique<NotingStore>(open_memory());
  NotingStore& store = *own;
  BrokerDriver d{{}, std::move(own)};
};

TEST_F(LocalBeside, cancelling) {
  const Put put = d.put(task("q", {.callback = Callback{.url = "http://x/"}}));
  expect_only_beside([&] { EXPECT_THAT(d.try_cancel(put.id), IsOk()); });
  EXPECT_EQ(d.webhooks().size(), 1U);
}

TEST_F(LocalBeside, retrying_and_removing) {
  const TaskId id = dead();
  expect_only_beside([&] {
    EXPECT_THAT(states([&](auto done) { d.broker->retry(d.ask(), {id}, std::move(done)); }).front(),
                IsOk());
  });
  expect_only_beside([&] {
    EXPECT_THAT(
        states([&](auto done) { d.broker->remove(d.ask(), {id}, std::move(done)); }).front(),
        IsOk());
  });
}

TEST_F(LocalBeside, changing_and_moving) {
  const Put put = d.put(task("q"));
  for (const TaskUpdate& update : {TaskUpdate{.id = put.id, .priority = 9},
                                   TaskUpdate{.id = put.id, .queue = QueueRef("r")}}) {
    expect_only_beside([&] {
      EXPECT_THAT(
          states([&](auto done) { d.broker->update(d.ask(), {update}, std::move(done)); }).front(),
          IsOk());
    });
  }
}

TEST_F(LocalBeside, handling_dead_letters) {
  for (int i = 0; i < 3; ++i) dead();
  expect_only_beside([&] {
    const auto handled = must(d.wait<Handled>([&](auto done) {
      d.broker->handle_dead(d.ask(), {.queue = "q"}, DeadAction::retry, std::move(done));
    }));
    EXPECT_EQ(handled.done, 3U);
  });
}

TEST_F(LocalBeside, acting_on_what_a_filter_found) {
  const Put put = d.put(task("q"));
  const Task seen = d.find(put.id);
  expect_only_beside([&] {
    BulkBatch batch{.request = {.action = BulkAction::move, .to = QueueRef("r")},
                    .tasks = {{.id = seen.id, .version = seen.version}}};
    EXPECT_THAT(states([&](auto done) {
                  d.broker->act(d.ask(), std::move(batch), std::move(done));
                }).front(),
                IsOk());
  });
}

TEST_F(LocalBeside, answering_callers_that_wait) {
  const Put put = d.put(task("q"));
  const Lease lease = d.take_one("q");
  auto promise = std::make_shared<std::promise<Result<Task>>>();
  auto answer = promise->get_future();
  d.broker->await({.caller = {5}}, put.id, 1h,
                  [promise](Result<Task> task) { promise->set_value(std::move(task)); });
  d.finish_reads();
  expect_only_beside([&] {
    d.settle(lease, Done{.result = "7"});
    d.broker->run_services();
    ASSERT_EQ(answer.wait_for(30s), std::future_status::ready);
  });
  EXPECT_EQ(must(answer.get()).result, "7");
}

}  // namespace
}  // namespace millrace
