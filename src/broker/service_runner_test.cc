#include "broker/service_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "broker/local_broker.h"
#include "store/store.h"
#include "tests/support/broker_driver.h"
#include "tests/support/matchers.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

// Runs every ten seconds, and counts what was stored.
class Beat final : public Service {
 public:
  Result<TimePoint> run_once(Store&, TimePoint now) override {
    ++runs;
    if (fails) return fail(ErrorCode::internal, "out of order");
    return later(now, 10s);
  }
  void stored() override {
    const std::scoped_lock lock(mutex_);
    stored_runs = runs.load();
    changed_.notify_all();
  }
  bool reaches(int wanted) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 30s, [&] { return stored_runs >= wanted; });
  }

  std::atomic<int> runs = 0;
  std::atomic<int> stored_runs = 0;
  std::atomic<bool> fails = false;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

class ServiceRunnerTest : public ::testing::Test {
 protected:
  ManualClock clock_{t0};
  std::unique_ptr<Store> store_ = open_memory();
  LogLines lines_;
  Log log_ = lines_.log();
  Coalescer coalescer_{clock_, *store_};
  ServiceRunner runner_{clock_, coalescer_, log_};
  Beat beat_;
};

// Always has something to do, and is in the middle of it when the runner stops.
class Busy final : public Service {
 public:
  Result<TimePoint> run_once(Store&, TimePoint now) override {
    ++runs;
    runs.notify_all();
    return now;
  }
  std::atomic<int> runs = 0;
};

TEST_F(ServiceRunnerTest, an_end_in_the_middle_of_something_is_no_failure) {
  Busy busy;
  runner_.add("busy", busy);
  runner_.start();
  busy.runs.wait(0);
  runner_.begin_stop();
  coalescer_.stop();
  runner_.stop();
  EXPECT_THAT(lines_.lines(), Not(Contains(HasSubstr("failed"))));
}

TEST_F(ServiceRunnerTest, runs_a_service_when_it_said_so) {
  runner_.add("beat", beat_);
  runner_.run_due();
  runner_.run_due();
  EXPECT_EQ(beat_.runs, 1);
  EXPECT_EQ(beat_.stored_runs, 1);
  clock_.advance(10s);
  runner_.run_due();
  EXPECT_EQ(beat_.runs, 2);
}

TEST_F(ServiceRunnerTest, runs_it_sooner_if_woken) {
  runner_.add("beat", beat_);
  runner_.run_due();
  runner_.wake_at(beat_, t0 + 3s);
  runner_.wake_at(beat_, t0 + 5s);
  clock_.advance(3s);
  runner_.run_due();
  EXPECT_EQ(beat_.runs, 2);
}

TEST_F(ServiceRunnerTest, a_clock_that_was_set_back_stops_nothing) {
  runner_.add("beat", beat_);
  runner_.run_due();
  clock_.set(t0 - 1h);
  runner_.run_due();
  EXPECT_EQ(beat_.runs, 2);
  clock_.advance(10s);
  runner_.run_due();
  EXPECT_EQ(beat_.runs, 3);
}

TEST_F(ServiceRunnerTest, one_that_fails_is_logged_once_and_tried_again_after_longer_pauses) {
  Beat other;
  runner_.add("beat", beat_);
  runner_.add("other", other);
  beat_.fails = true;
  std::vector<std::chrono::nanoseconds> tried;
  for (int i = 0; i < 180; ++i) {
    const int before = beat_.runs;
    runner_.run_due();
    if (beat_.runs != before) tried.push_back(clock_.steady());
    clock_.advance(100ms);
  }
  EXPECT_THAT(tried, ::testing::ElementsAre(0s, 1s, 3s, 7s, 12s, 17s));
  EXPECT_EQ(other.runs, 2);
  EXPECT_THAT(lines_.lines(), SizeIs(1));
  EXPECT_THAT(lines_.lines(), Contains(HasSubstr("beat failed: out of order")));
}

TEST_F(ServiceRunnerTest, one_that_fails_may_be_woken_and_others_are_not) {
  Beat other;
  runner_.add("beat", beat_);
  runner_.add("other", other);
  beat_.fails = true;
  runner_.run_due();
  beat_.fails = false;
  runner_.wake_failing();
  runner_.run_due();
  EXPECT_EQ(beat_.runs, 2);
  EXPECT_EQ(other.runs, 1);
  EXPECT_EQ(runner_.next_due(), t0 + 10s) << "and it is as if nothing had been";
}

TEST_F(ServiceRunnerTest, its_thread_notices_a_clock_that_moves_and_a_wake_up) {
  runner_.add("beat", beat_);
  runner_.start();
  EXPECT_TRUE(beat_.reaches(1));
  runner_.wake_at(beat_, t0);
  EXPECT_TRUE(beat_.reaches(2));
  clock_.advance(10s);
  EXPECT_TRUE(beat_.reaches(3));
}

// ---- With all threads ---------------------------------------------------------------------------

TEST(LocalBrokerThreads, a_delayed_task_reaches_a_parked_take_within_milliseconds) {
  SystemClock clock;
  const std::unique_ptr<Store> store = open_memory();
  LocalBrokerOptions options;
  options.coalescer.rounds.poll = 1h;  // so that only a wake-up can find it
  LocalBroker broker(clock, *store, options);
  auto taken = std::async(std::launch::async, [&] {
    return wait_for_answer<WorkResult>([&](auto done) {
      broker.work({.caller = broker.new_caller()},
                  {.takes = {{.worker = "w", .queues = {{"q", 1}}}}, .wait = 20s}, std::move(done));
    });
  });
  must(wait_for_answer<std::vector<Result<Put>>>([&](auto done) {
    broker.put({.caller = broker.new_caller()}, {{.queue = "q", .delay = 300ms}}, std::move(done));
  }));
  const auto result = must(taken.get());
  ASSERT_THAT(*result.taken.front(), SizeIs(1));
}

TEST(LocalBrokerThreads, a_schedule_and_a_waiting_caller_meet) {
  SystemClock clock;
  const std::unique_ptr<Store> store = open_memory();
  LocalBroker broker(clock, *store);
  const Ask ask{.caller = broker.new_caller()};
  must(wait_for_answer<Schedule>([&](auto done) {
    broker.put_schedule(ask, {.name = "s", .rule = {.every = 100ms}, .task = {.queue = "q"}},
                        PutQueue::create, std::move(done));
  }));
  const auto taken = must(wait_for_answer<WorkResult>([&](auto done) {
    broker.work(ask, {.takes = {{.worker = "w", .queues = {{"q", 1}}}}, .wait = 20s},
                std::move(done));
  }));
  ASSERT_THAT(*taken.taken.front(), SizeIs(1));
  const Lease lease = taken.taken.front()->front();
  auto awaited = std::async(std::launch::async, [&] {
    return wait_for_answer<Task>([&](auto done) {
      broker.await({.caller = broker.new_caller()}, lease.id, 20s, std::move(done));
    });
  });
  must(wait_for_answer<WorkResult>([&](auto done) {
    WorkOrder order;
    order.reports.push_back({lease.id, lease.token, Done{"r"}});
    broker.work(ask, std::move(order), std::move(done));
  }));
  EXPECT_EQ(must(awaited.get()).result, "r");
}

// Puts, cancels and works from several threads until every task has ended.
class Turmoil {
 public:
  static constexpr std::size_t puts = 300;

  explicit Turmoil(LocalBroker& broker) : broker_(broker) {
    for (std::size_t i = 0; i < puts; ++i) ids.push_back(fresh_id());
  }

  void run() {
    std::vector<std::thread> threads;
    threads.emplace_back([&] { put(); });
    threads.emplace_back([&] { cancel(); });
    for (int w = 0; w < 2; ++w) threads.emplace_back([this, w] { work(w); });
    for (std::thread& thread : threads) thread.join();
  }

  std::vector<TaskId> ids;

 private:
  void put() {
    const Ask ask{.caller = broker_.new_caller()};
    for (const TaskId& id : ids) {
      const NewTask task{.id = id, .queue = "q", .callback = Callback{.url = "http://x"}};
      must(wait_for_answer<std::vector<Result<Put>>>(
          [&](auto done) { broker_.put(ask, {task}, std::move(done)); }));
    }
  }

  void cancel() {
    const Ask ask{.caller = broker_.new_caller()};
    for (std::size_t i = 0; i < puts; i += 3) {
      const auto state = only(wait_for_answer<Broker::States>(
          [&](auto done) { broker_.cancel(ask, {ids[i]}, "enough", std::move(done)); }));
      if (state && *state == TaskState::cancelled) ++ended_;
      wait_for_answer<std::vector<WorkerView>>(
          [&](auto done) { broker_.workers(ask, std::move(done)); });
    }
  }

  void work(int number) {
    const Ask ask{.caller = broker_.new_caller()};
    WorkOrder order;
    for (int turn = number; ended_ < puts; ++turn) {
      order.wait = order.reports.empty() ? 20ms : 0ms;
      order.takes = {{.worker = "w" + std::to_string(number), .queues = {{"q", 7}}}};
      const auto result = must(wait_for_answer<WorkResult>(
          [&](auto done) { broker_.work(ask, std::move(order), std::move(done)); }));
      order = {};
      for (const auto& settled : result.settled) {
        const Settled end = must(Result<Settled>(settled));
        if (end.status == SettleStatus::applied && is_final(end.state)) ++ended_;
      }
      for (const Lease& lease : *result.taken.front()) {
        order.reports.push_back({lease.id, lease.token, outcome(++turn)});
      }
    }
  }

  static Outcome outcome(int turn) {
    if (turn % 7 == 0) return GiveBack{};
    if (turn % 3 == 0) return Failed{error("no")};
    return Done{"r"};
  }

  LocalBroker& broker_;
  std::atomic<std::size_t> ended_ = 0;
};

TEST(LocalBrokerThreads, every_final_task_with_a_callback_has_its_webhook) {
  SystemClock clock;
  const std::unique_ptr<Store> store = open_memory();
  LocalBrokerOptions options;
  options.rules.webhooks = true;
  options.rules.retry = {.base = 1ms, .jitter = Jitter::none, .max_retries = 2};
  LocalBroker broker(clock, *store, options);
  Turmoil turmoil(broker);
  turmoil.run();
  broker.stop();
  StoreDriver driver(*store);
  std::map<TaskId, int> webhooks;
  for (const Task& task : driver.list({.queue = "$webhooks"})) ++webhooks[task.parent];
  for (const TaskId& id : turmoil.ids) {
    EXPECT_TRUE(is_final(driver.state_of(id)));
    EXPECT_EQ(webhooks[id], 1) << to_text(id.value) << " " << name_of(driver.state_of(id));
  }
}

}  // namespace
}  // namespace millrace
