// A Worker with its threads in a test, over a broker and a store that run, in real time.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "broker/wait_for_answer.h"
#include "store/store.h"
#include "tests/support/broker_driver.h"
#include "tests/support/forwarding_broker.h"
#include "tests/support/matchers.h"
#include "worker/run.h"
#include "worker/worker.h"

namespace millrace::worker {

using namespace std::chrono_literals;

// What handlers and hooks have done, so that tests can wait for it.
class Seen {
 public:
  template <class Change>
  auto note(Change change) {
    const std::scoped_lock lock(mutex_);
    changed_.notify_all();
    return change();
  }
  template <class Condition>
  bool eventually(Condition condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 30s, condition);
  }
  // Handlers wait here until the test releases them.
  void wait_for_gate() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open; });
  }
  void open_gate() {
    note([&] { open = true; });
  }

  template <class Condition>
  bool eventually_for(Duration limit, Condition condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, condition);
  }

  bool open = false;
  int runs = 0;
  int inside = 0;  // handlers that run
  int most_inside = 0;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

// The way to the broker, which can be closed; also gives instructions.
class Doorway final : public test::ForwardingBroker {
 public:
  Doorway(Broker& next, Seen& seen) : test::ForwardingBroker(next), seen_(seen) {}

  void work(Ask ask, WorkOrder order, Completion<WorkResult> done) override {
    if (closed) {
      seen_.note([&] { ++refused; });
      return done(fail(ErrorCode::unavailable, "the door is closed"));
    }
    test::ForwardingBroker::work(ask, std::move(order), std::move(done));
  }
  void beat(Ask, WorkerReport report, Completion<Instructions> done) override {
    Instructions told;
    seen_.note([&] {
      told = instructions;
      ++beats;
      if (report.stopping) ++last_beats;
      last_report = std::move(report);
    });
    if (closed) return done(fail(ErrorCode::unavailable, "the door is closed"));
    done(told);
  }

  std::atomic<bool> closed = false;
  int refused = 0;  // these five are under the lock of Seen
  int beats = 0;
  int last_beats = 0;  // since the worker began to stop
  Instructions instructions;
  WorkerReport last_report;

 private:
  Seen& seen_;
};

class WorkerTest : public ::testing::Test {
 protected:
  SystemClock clock_;
  std::unique_ptr<Store> store_ = open_memory();
  test::LogLines logged_;
  LocalBroker broker_{clock_, *store_};
  Seen seen_;
  Doorway door_{broker_, seen_};
  std::vector<QueueHandlers> queues_;
  WorkerOptions options_{.name = "$local-test", .internal = true, .log = logged_.log()};
  std::unique_ptr<Worker> worker_;

  // Handlers may have been given up and still run: they must not outlive what they use.
  void TearDown() override {
    seen_.open_gate();
    worker_.reset();
    EXPECT_TRUE(seen_.eventually([&] { return seen_.inside == 0; }));
  }

  QueueHandlers& handle(std::string queue, std::function<void(Context&)> handler) {
    queues_.push_back({.queue = std::move(queue)});
    queues_.back().any = [this, handler = std::move(handler)](std::span<Context* const> tasks) {
      seen_.note([&] {
        ++seen_.inside;
        seen_.most_inside = std::max(seen_.most_inside, seen_.inside);
      });
      const Leaving leaving{seen_};
      for (Context* each : tasks) handler(*each);
      seen_.note([&] { seen_.runs += static_cast<int>(tasks.size()); });
    };
    return queues_.back();
  }
  Worker& start() {
    worker_ = std::make_unique<Worker>(clock_, door_, options_, queues_);
    worker_->start();
    return *worker_;
  }
  Moment steady() { return clock_.steady(); }

  Ask ask() { return {.caller = {1}, .internal = true}; }
  std::vector<TaskId> put(const std::string& queue, std::size_t count, const NewTask& fields = {}) {
    std::vector<TaskId> ids;
    for (std::size_t done = 0; done < count;) {
      std::vector<NewTask> tasks;
      for (; tasks.size() < 1000 && done < count; ++done) {
        tasks.push_back(test::task(queue, fields));
        ids.push_back(tasks.back().id);
      }
      const auto puts = wait_for_answer<std::vector<Result<Put>>>(
          [&](auto answer) { broker_.put(ask(), std::move(tasks), std::move(answer)); });
      EXPECT_THAT(puts, test::IsOk());
    }
    return ids;
  }
  Task find(TaskId id) {
    return test::must(
        wait_for_answer<Task>([&](auto done) { broker_.find(ask(), id, std::move(done)); }));
  }
  TaskState end_of(TaskId id) {
    return test::must(wait_for_answer<Task>(
                          [&](auto done) { broker_.await(ask(), id, 30s, std::move(done)); }))
        .state;
  }
  void make_queue(QueueSettings settings) {
    test::must(wait_for_answer<Queue>([&](auto done) {
      broker_.put_queue(ask(), std::move(settings), PutQueue::replace, std::move(done));
    }));
  }
  QueueCounts counts(const std::string& queue) {
    return test::must(wait_for_answer<std::vector<QueueView>>(
                          [&](auto done) { broker_.queues(ask(), queue, std::move(done)); }))
        .front()
        .counts;
  }
  // Waits until the worker's own report satisfies the condition.
  template <class Condition>
  bool shows(Condition condition) {
    const Moment end = steady() + 30s;
    while (!condition(worker_->metrics().front())) {
      if (steady() > end) return false;
      seen_.eventually_for(2ms, [] { return false; });
    }
    return true;
  }

 private:
  struct Leaving {
    Seen& seen;
    ~Leaving() {
      seen.note([&] { --seen.inside; });
    }
  };
};

}  // namespace millrace::worker
