// Brokers on one PostgreSQL, as an application that embeds Millrace has them, under load.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/measure.h"
#include "bench/require.h"
#include "bench/server_load.h"
#include "broker/local_broker.h"
#include "core/clock.h"
#include "store/postgres/postgres.h"

namespace millrace::bench {

// At most so many calls are on their way; a caller that begins another waits.
class InFlight {
 public:
  explicit InFlight(std::size_t most) : most_(most) {}

  void begin() {
    for (auto now = count_.load(); now >= most_; now = count_.load()) count_.wait(now);
    count_.fetch_add(1);
  }
  void end() {
    count_.fetch_sub(1);
    count_.notify_one();
  }
  void wait() {
    for (auto now = count_.load(); now != 0; now = count_.load()) count_.wait(now);
  }

 private:
  const std::size_t most_;
  std::atomic<std::size_t> count_ = 0;
};

class PostgresBroker {
 public:
  explicit PostgresBroker(const std::string& url) {
    auto opened = open_postgres({.url = url}, clock_);
    require(opened.has_value(), opened ? "" : opened.error().message);
    store_ = std::move(*opened);
    broker_ = std::make_unique<LocalBroker>(clock_, *store_);
    caller_ = broker_->new_caller();
  }

  LocalBroker& broker() { return *broker_; }
  Ask ask() const { return {.caller = caller_}; }

  void put(std::size_t batch, InFlight& in_flight) {
    std::vector<NewTask> tasks(batch);
    for (NewTask& task : tasks) {
      task.queue = "emails";
      task.type = "send-email";
      task.payload = payload_;
    }
    in_flight.begin();
    broker_->put(ask(), std::move(tasks), [&](const Result<std::vector<Result<Put>>>& puts) {
      require(puts && puts->back().has_value(), puts ? "put" : puts.error().message);
      in_flight.end();
    });
  }

  // Sends one work call after the other, each with the reports on the tasks of the one before,
  // until there are no more tasks. Returns how many there were.
  std::size_t work_off(std::uint32_t most) {
    WorkOrder order;
    std::size_t worked = 0;
    for (;;) {
      order.takes = {{.worker = "bench", .queues = {{.queue = "emails", .most = most}}}};
      std::promise<WorkResult> answer;
      broker_->work(ask(), std::exchange(order, {}), [&](Result<WorkResult> result) {
        require(result.has_value(), result ? "" : result.error().message);
        answer.set_value(std::move(*result));
      });
      const WorkResult result = answer.get_future().get();
      for (const auto& settled : result.settled) require(settled.has_value(), "settle");
      const auto& leases = result.taken.front();
      require(leases.has_value(), "take");
      if (leases->empty()) return worked;
      worked += leases->size();
      for (const Lease& lease : *leases) {
        order.reports.push_back({.id = lease.id, .token = lease.token, .outcome = Done{}});
      }
    }
  }

 private:
  SystemClock clock_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<LocalBroker> broker_;
  CallerId caller_ = {};
  std::string payload_ = payload_text();
};

}  // namespace millrace::bench
