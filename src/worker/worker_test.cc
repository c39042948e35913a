// The worker with its threads, over a broker and a store that run.
#include "worker/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "broker/wait_for_answer.h"
#include "tests/support/broker_driver.h"
#include "tests/support/matchers.h"

namespace millrace::worker {
namespace {

using namespace millrace::test;
using ::testing::Contains;
using ::testing::HasSubstr;

// What handlers and hooks have done, for tests to wait for.
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
  // Handlers wait here until the test lets them go.
  void wait_for_gate() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open; });
  }
  void open_gate() {
    note([&] { open = true; });
  }

  bool open = false;
  int runs = 0;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

class WorkerTest : public ::testing::Test {
 protected:
  SystemClock clock_;
  std::unique_ptr<Store> store_ = open_memory();
  LogLines logged_;
  LocalBroker broker_{clock_, *store_};
  Seen seen_;

  ~WorkerTest() override { seen_.open_gate(); }

  Ask ask() { return {.caller = {1}, .internal = true}; }
  WorkerOptions options() {
    return {.name = "$local-test", .internal = true, .log = logged_.log()};
  }
  std::vector<TaskId> put(const std::string& queue, std::size_t count, NewTask fields = {}) {
    std::vector<TaskId> ids;
    for (std::size_t done = 0; done < count;) {
      std::vector<NewTask> tasks;
      for (; tasks.size() < 1000 && done < count; ++done) {
        tasks.push_back(task(queue, fields));
        ids.push_back(tasks.back().id);
      }
      const auto puts = wait_for_answer<std::vector<Result<Put>>>(
          [&](auto answer) { broker_.put(ask(), std::move(tasks), std::move(answer)); });
      EXPECT_THAT(puts, IsOk());
    }
    return ids;
  }
  Task find(TaskId id) {
    return must(
        wait_for_answer<Task>([&](auto done) { broker_.find(ask(), id, std::move(done)); }));
  }
  TaskState end_of(TaskId id) {
    return must(wait_for_answer<Task>(
                    [&](auto done) { broker_.await(ask(), id, 30s, std::move(done)); }))
        .state;
  }
  QueueCounts counts(const std::string& queue) {
    return must(wait_for_answer<std::vector<QueueView>>(
                    [&](auto done) { broker_.queues(ask(), queue, std::move(done)); }))
        .front()
        .counts;
  }
};

TEST_F(WorkerTest, runs_what_is_put) {
  std::vector<QueueHandlers> queues(1);
  queues[0] = {
      .queue = "q", .concurrency = 2, .any = [&](auto) { seen_.note([&] { ++seen_.runs; }); }};
  Worker worker(clock_, broker_, options(), queues);
  worker.start();
  const auto ids = put("q", 5000);
  for (const TaskId& id : ids) ASSERT_EQ(end_of(id), TaskState::completed);
  EXPECT_EQ(seen_.runs, 5000);
  const auto stopped = worker.graceful_stop(10s);
  EXPECT_EQ(stopped.running, 0U);
  EXPECT_EQ(worker.figures().front().completed, 5000U);
}

}  // namespace
}  // namespace millrace::worker
