// A test of several servers on one PostgreSQL: a queue of its own, work in it while things break,
// and at the end a look whether everything is as its clients were told.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "core/clock.h"
#include "store/postgres/postgres.h"
#include "tests/e2e/fault_load.h"
#include "tests/e2e/server.h"
#include "tests/support/builders.h"

namespace millrace::test {

// Generous: the machine may be busy with something else.
inline constexpr Duration recovery = 15s;

class FaultTrial : public ::testing::Test {
 protected:
  virtual std::deque<ServerProcess>& servers() = 0;
  // Of the database that they are on.
  virtual std::string url() const = 0;

  // Each server has clients from now on, in a queue of the test's own.
  void begin_work() {
    queue_ =
        fmt::format("faults_{}", ::testing::UnitTest::GetInstance()->current_test_info()->line());
    const Reply made = servers()[0].ask({.method = "PUT",
                                         .path = "/v1/queues/" + queue_,
                                         .body = R"({"lease_ms":2000,"max_lost":1000})"});
    ASSERT_LT(made.status, 300U) << made.body;
    std::vector<std::uint16_t> ports;
    for (const ServerProcess& each : servers()) ports.push_back(each.port());
    load_ = std::make_unique<FaultLoad>(ports, queue_);
    ASSERT_TRUE(load_->goes_on(300, 30s)) << complaints();
  }

  // Each server is back, does its part and says so; it was not restarted.
  void all_recover() {
    std::vector<std::size_t> all(servers().size());
    std::iota(all.begin(), all.end(), 0);
    all_recover(all);
  }
  void all_recover(const std::vector<std::size_t>& those) {
    ASSERT_TRUE(load_->all_serve(those, recovery)) << complaints();
    for (const std::size_t each : those) {
      EXPECT_EQ(servers()[each].ask({.path = "/ready"}).status, 200U);
    }
  }

  void ends_well() {
    // A lease that no worker knows of ends by time; after a long outage that takes half a minute.
    EXPECT_TRUE(load_->drains(60s));
    load_->stop();
    EXPECT_EQ(complaints(), "");
    const FaultFigures figures = load_->history().figures();
    fmt::print("{}: {} tasks\n", queue_, figures.all_put);
  }

  std::string complaints() {
    const auto store = open_postgres({.url = url()}, clock_);
    if (!store) return store.error().message;
    return load_->history().check(**store, queue_, clock_.now());
  }

  SystemClock clock_;
  std::string queue_;
  std::unique_ptr<FaultLoad> load_;
};

}  // namespace millrace::test
