#include "broker/service_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "broker/local_broker.h"
#include "tests/support/broker_driver.h"
#include "tests/support/matchers.h"

namespace millrace {
namespace {

using namespace millrace::test;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Runs every ten seconds; what it did is told to whoever wants to know.
class Beat final : public Service {
 public:
  Result<TimePoint> run_once(Store&, TimePoint now) override {
    ++runs;
    if (fails) return fail(ErrorCode::internal, "out of order");
    return later(now, 10s);
  }
  void stored() override { stored_runs = runs.load(); }

  std::atomic<int> runs = 0;
  std::atomic<int> stored_runs = 0;
  std::atomic<bool> fails = false;
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

TEST_F(ServiceRunnerTest, runs_it_sooner_if_somebody_wishes) {
  runner_.add("beat", beat_);
  runner_.run_due();
  runner_.wake_at(beat_, t0 + 3s);
  runner_.wake_at(beat_, t0 + 5s);
  clock_.advance(3s);
  runner_.run_due();
  EXPECT_EQ(beat_.runs, 2);
}

TEST_F(ServiceRunnerTest, one_that_fails_is_logged_once_and_tried_again) {
  Beat other;
  runner_.add("beat", beat_);
  runner_.add("other", other);
  beat_.fails = true;
  for (int i = 0; i < 5; ++i) {
    runner_.run_due();
    clock_.advance(2s);
  }
  EXPECT_EQ(beat_.runs, 5);
  EXPECT_EQ(other.runs, 1);
  EXPECT_THAT(lines_.lines(), SizeIs(1));
  EXPECT_THAT(lines_.lines(), Contains(HasSubstr("beat failed: out of order")));
}

TEST_F(ServiceRunnerTest, its_thread_notices_a_clock_that_moves_and_a_wish) {
  runner_.add("beat", beat_);
  runner_.start();
  const auto reaches = [&](int runs) {
    for (int i = 0; i < 3000 && beat_.stored_runs < runs; ++i) {
      std::promise<void>().get_future().wait_for(std::chrono::milliseconds(10));
    }
    return beat_.stored_runs >= runs;
  };
  EXPECT_TRUE(reaches(1));
  runner_.wake_at(beat_, t0);
  EXPECT_TRUE(reaches(2));
  clock_.advance(10s);
  EXPECT_TRUE(reaches(3));
}

// ---- With all threads
// ----------------------------------------------------------------------------

TEST(LocalBrokerThreads, a_delayed_task_reaches_a_parked_take_within_milliseconds) {
  SystemClock clock;
  const std::unique_ptr<Store> store = open_memory();
  LocalBroker broker(clock, *store);
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
  const Lease& lease = result.taken.front()->front();
  // The poll of parked takes alone would be late by 125 ms on average, up to 250 ms.
  EXPECT_LT(lease.started_at - lease.start, 100ms);
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

// Puts, works, cancels and looks from several threads; then everything that asked for a webhook and
// is final has exactly one.
TEST(LocalBrokerThreads, every_final_task_with_a_callback_has_its_webhook) {
  SystemClock clock;
  const std::unique_ptr<Store> store = open_memory();
  LocalBrokerOptions options;
  options.rules.compose = compose_line;
  options.rules.retry = {.base = 1ms, .jitter = Jitter::none, .max_retries = 2};
  LocalBroker broker(clock, *store, options);
  constexpr int puts = 300;
  std::atomic<int> ended = 0;
  std::vector<TaskId> ids;
  for (int i = 0; i < puts; ++i) ids.push_back(fresh_id());
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    const Ask ask{.caller = broker.new_caller()};
    for (int i = 0; i < puts; ++i) {
      NewTask task{.id = ids[static_cast<std::size_t>(i)],
                   .queue = "q",
                   .callback = Callback{.url = "http://x"}};
      must(wait_for_answer<std::vector<Result<Put>>>(
          [&](auto done) { broker.put(ask, {task}, std::move(done)); }));
    }
  });
  threads.emplace_back([&] {
    const Ask ask{.caller = broker.new_caller()};
    for (int i = 0; i < puts; i += 3) {
      const auto state = only(wait_for_answer<Broker::States>([&](auto done) {
        broker.cancel(ask, {ids[static_cast<std::size_t>(i)]}, "enough", std::move(done));
      }));
      if (state && *state == TaskState::cancelled) ++ended;
      if (i % 30 == 0)
        wait_for_answer<std::vector<WorkerView>>(
            [&](auto done) { broker.workers(ask, std::move(done)); });
    }
  });
  for (int w = 0; w < 2; ++w) {
    threads.emplace_back([&, w] {
      const Ask ask{.caller = broker.new_caller()};
      WorkOrder order;
      for (int turn = w; ended < puts; ++turn) {
        const bool reports = !order.reports.empty();
        order.takes = {{.worker = "w" + std::to_string(w), .queues = {{"q", 7}}}};
        order.wait = reports ? 0ms : 20ms;
        const auto result = must(wait_for_answer<WorkResult>(
            [&](auto done) { broker.work(ask, std::move(order), std::move(done)); }));
        order = {};
        for (const auto& settled : result.settled) {
          if (must(Result<Settled>(settled)).status == SettleStatus::applied &&
              is_final(settled->state)) {
            ++ended;
          }
        }
        for (const Lease& lease : *result.taken.front()) {
          ++turn;
          Outcome outcome = Done{"r"};
          if (turn % 3 == 0) outcome = Failed{error("no")};
          if (turn % 7 == 0) outcome = GiveBack{};
          order.reports.push_back({lease.id, lease.token, std::move(outcome)});
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  broker.stop();
  StoreDriver driver(*store);
  std::map<TaskId, int> webhooks;
  for (const Task& task : driver.list({.queue = "$webhooks"})) ++webhooks[task.parent];
  for (const TaskId& id : ids) {
    EXPECT_TRUE(is_final(driver.state_of(id)));
    EXPECT_EQ(webhooks[id], 1) << to_text(id.value) << " " << name_of(driver.state_of(id));
  }
}

}  // namespace
}  // namespace millrace
