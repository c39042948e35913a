// Drives a Dispatcher in a test: answers its requests, and does what processors do, at a time that
// the test moves by hand.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/broker_driver.h"
#include "tests/support/quiet_host.h"
#include "worker/dispatcher.h"

namespace millrace::worker {

using namespace std::chrono_literals;

class DispatcherTest : public ::testing::Test {
 protected:
  using Counts = std::map<std::string, std::size_t>;

  DispatcherTest() { now_ = 1000s; }

  test::QuietHost host_;
  Moment& now_ = host_.steady;
  test::LogLines logged_;
  WorkerOptions options_{.name = "w", .log = logged_.log()};
  std::vector<QueueHandlers> queues_;
  std::unique_ptr<Dispatcher> core_;
  std::vector<StoredEnd> stored_;
  std::uint64_t last_ = 0;
  std::optional<Duration> timeout_;

  QueueHandlers& queue(std::string name, std::uint32_t concurrency,
                       std::optional<std::uint32_t> prefetch = std::nullopt) {
    queues_.push_back({.queue = std::move(name), .concurrency = concurrency, .prefetch = prefetch});
    queues_.back().any = [](auto) {};
    return queues_.back();
  }
  Dispatcher& core() {
    if (!core_) core_ = std::make_unique<Dispatcher>(options_, queues_, host_);
    return *core_;
  }
  WorkerQueue& worker_queue(std::size_t i = 0) { return core().queues()[i]; }

  static Counts wanted(const Dispatcher& core, const std::optional<Request>& request) {
    Counts counts;
    if (!request) return counts;
    for (const Wanted& each : request->wanted)
      counts[core.queues()[each.queue_index].how.queue] = each.most;
    return counts;
  }
  Counts wanted(const std::optional<Request>& request) { return wanted(core(), request); }

  // Answers with so many tasks of each queue; all reports and extensions succeed.
  void answer(std::optional<Request> request, const Counts& counts = {},
              TaskState state = TaskState::completed) {
    ASSERT_TRUE(request);
    WorkResult result;
    for (std::size_t i = 0; i < request->reports.size(); ++i) {
      result.settled.emplace_back(Settled{.state = state});
    }
    for (std::size_t i = 0; i < request->extended.size(); ++i)
      result.extended.emplace_back(Extended{});
    if (!request->wanted.empty()) result.taken.emplace_back();
    for (const auto& [name, count] : counts) {
      if (result.taken.empty()) test::give_up("nothing was asked for", test::Where::current());
      for (std::size_t i = 0; i < count; ++i) {
        result.taken.front()->push_back({.id = test::fresh_id(),
                                         .number = {++last_},
                                         .token = {16 * last_},
                                         .until = test::t0 + 60s,
                                         .queue = name,
                                         .started_at = test::t0,
                                         .timeout = timeout_});
      }
    }
    answer(std::move(*request), std::move(result));
  }
  void answer(Request request, Result<WorkResult> result) {
    Arrived arrived = core().arrived(request, result, now_);
    core().answered(request, result, std::move(arrived), now_, stored_);
  }
  // Does what a processor does, except for the handler.
  void run(const ChunkPtr& chunk, Moment takes, const Outcome& outcome = Done{}) {
    for (auto runs = chunk->next_call(); !runs.empty(); runs = chunk->next_call()) {
      for (const RunPtr& run : runs) run->begin(now_);
      now_ += takes;
      EXPECT_TRUE(chunk->returned());
      for (const RunPtr& run : runs) run->end(outcome, true);
      core().note_cycle(*chunk, *runs.front(), takes);
    }
    core().finished(chunk);
  }
  // Begins the first call and leaves it unanswered.
  RunPtr begin(const ChunkPtr& chunk) {
    const auto runs = chunk->next_call();
    for (const RunPtr& run : runs) run->begin(now_);
    return runs.front();
  }
  std::vector<StopReason> look() {
    Due due;
    core().look(now_, due);
    abandoned_ += due.abandoned;
    std::vector<StopReason> reasons;
    for (const auto& [run, reason] : due.stops) {
      if (run->ask_to_stop(reason)) reasons.push_back(reason);
    }
    return reasons;
  }
  std::uint32_t abandoned_ = 0;
};

}  // namespace millrace::worker
