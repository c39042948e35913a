// Three real servers on one PostgreSQL under load, and what may happen to a database: nothing that
// was acknowledged is lost, no task is held by two, and all goes on by itself within seconds.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <memory>
#include <string>
#include <vector>

#include "core/clock.h"
#include "postgres/connection.h"
#include "store/postgres/postgres.h"
#include "tests/e2e/fault_cluster.h"
#include "tests/e2e/fault_load.h"
#include "tests/support/driver.h"

namespace millrace::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::size_t> all_servers = {0, 1, 2};
// Generous: the machine may be busy with something else.
constexpr Duration recovery = 15s;

class PostgresFaults : public ::testing::Test {
 protected:
  // A queue of its own for each test, and work in it.
  void SetUp() override {
    queue_ =
        fmt::format("faults_{}", ::testing::UnitTest::GetInstance()->current_test_info()->line());
    const Reply made = cluster_.servers()[0].ask({.method = "PUT",
                                                  .path = "/v1/queues/" + queue_,
                                                  .body = R"({"lease_ms":2000,"max_lost":1000})"});
    ASSERT_LT(made.status, 300U) << made.body;
    load_ = std::make_unique<FaultLoad>(cluster_.ports(), queue_);
    ASSERT_TRUE(load_->goes_on(300, 30s)) << complaints();
  }

  // Each server is back, does its part and says so; nobody has restarted it.
  void all_recover(const std::vector<std::size_t>& servers = all_servers) {
    ASSERT_TRUE(load_->all_serve(servers, recovery)) << complaints();
    for (const std::size_t each : servers) {
      EXPECT_EQ(cluster_.servers()[each].ask({.path = "/ready"}).status, 200U);
    }
  }

  void ends_well() {
    // A lease that nobody knows of ends by time; after a long outage that takes half a minute.
    EXPECT_TRUE(load_->drains(60s));
    load_->stop();
    EXPECT_EQ(complaints(), "");
    const FaultFigures figures = load_->history().figures();
    fmt::print("{}: {} tasks\n", queue_, figures.all_put);
  }

  std::string complaints() {
    const auto store = open_postgres({.url = cluster_.url()}, clock_);
    if (!store) return store.error().message;
    return load_->history().check(**store, queue_, clock_.now());
  }

  // For sessions of the test's own.
  std::unique_ptr<postgres::Connection> connect() {
    auto opened = postgres::Connection::open({.url = cluster_.url(), .application_name = "hog"});
    return opened ? std::move(*opened) : nullptr;
  }

  FaultCluster& cluster_ = FaultCluster::get();
  SystemClock clock_;
  std::string queue_;
  std::unique_ptr<FaultLoad> load_;
};

constexpr const char* end_sessions =
    "select pg_terminate_backend(pid) from pg_stat_activity "
    "where backend_type = 'client backend' and application_name <> 'hog' "
    "and pid <> pg_backend_pid()";

TEST_F(PostgresFaults, sessions_ended_again_and_again) {
  const auto session = connect();
  ASSERT_NE(session, nullptr);
  for (int i = 0; i < 25; ++i) {
    // In the middle of something, and now and then while they come back.
    load_->goes_on(i % 5 == 0 ? 0 : 20, 300ms);
    ASSERT_TRUE(session->run_script(end_sessions).has_value());
  }
  ASSERT_NO_FATAL_FAILURE(all_recover());
  ends_well();
}

TEST_F(PostgresFaults, restarts_of_the_database) {
  for (int i = 0; i < 3; ++i) {
    cluster_.postgres().restart();
    ASSERT_NO_FATAL_FAILURE(all_recover());
  }
  ends_well();
}

TEST_F(PostgresFaults, crashes_of_the_database) {
  for (int i = 0; i < 4; ++i) {
    cluster_.postgres().kill_postmaster();
    cluster_.postgres().start();
    ASSERT_NO_FATAL_FAILURE(all_recover());
    ASSERT_TRUE(load_->goes_on(100, recovery)) << complaints();
  }
  ends_well();
}

TEST_F(PostgresFaults, no_connection_is_left) {
  std::vector<std::unique_ptr<postgres::Connection>> hogs;
  const auto take_all = [&] {
    while (auto one = connect()) hogs.push_back(std::move(one));
  };
  take_all();
  ASSERT_FALSE(hogs.empty());
  // Those that the servers had are taken from them, one loss after the other.
  while (hogs.size() < FaultCluster::max_connections) {
    ASSERT_TRUE(hogs.front()->run_script(end_sessions).has_value());
    take_all();
  }
  for (ServerProcess& each : cluster_.servers()) {
    const Reply put =
        each.ask({.method = "POST", .path = "/v1/queues/other/tasks", .body = R"({"payload":1})"});
    EXPECT_EQ(put.status, 503U) << put.body;
    EXPECT_EQ(each.ask({.path = "/ready"}).status, 503U);
    EXPECT_EQ(each.ask({.path = "/health"}).status, 200U);
  }
  EXPECT_FALSE(load_->goes_on(1, 1s)) << "somebody has a connection";
  hogs.clear();
  ASSERT_NO_FATAL_FAILURE(all_recover());
  ends_well();
}

// Last of those with three servers: from here on there are two.
TEST_F(PostgresFaults, the_death_of_one_of_three_servers) {
  cluster_.servers()[2].signal(SIGKILL);
  EXPECT_EQ(cluster_.servers()[2].exit(), 128 + SIGKILL);
  ASSERT_NO_FATAL_FAILURE(all_recover({0, 1}));
  ASSERT_TRUE(load_->goes_on(300, recovery)) << complaints();
  ends_well();
  for (const std::size_t each : {0, 1}) {
    ServerProcess& server = cluster_.servers()[each];
    server.signal(SIGTERM);
    EXPECT_EQ(server.exit(), 0) << server.said();
    EXPECT_THAT(server.said(), Not(HasSubstr("internal")));
  }
}

}  // namespace
}  // namespace millrace::test
