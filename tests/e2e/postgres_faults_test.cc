// Three real servers on one PostgreSQL under load, and what may happen to a database: nothing that
// was acknowledged is lost, no task is held by two, and all goes on by itself within seconds.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "postgres/connection.h"
#include "store/store.h"
#include "tests/e2e/fault_cluster.h"
#include "tests/e2e/fault_trial.h"

namespace millrace::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class PostgresFaults : public FaultTrial {
 protected:
  std::deque<ServerProcess>& servers() override { return cluster_.servers(); }
  std::string url() const override { return cluster_.url(); }
  void SetUp() override { begin_work(); }

  // For sessions of the test's own.
  std::unique_ptr<postgres::Connection> connect() {
    auto opened = postgres::Connection::open({.url = url(), .application_name = "hog"});
    return opened ? std::move(*opened) : nullptr;
  }

  FaultCluster& cluster_ = FaultCluster::get();
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
  for (ServerProcess& each : servers()) {
    const Reply put =
        each.ask({.method = "POST", .path = "/v1/queues/other/tasks", .body = R"({"payload":1})"});
    EXPECT_EQ(put.status, 503U) << put.body;
    EXPECT_EQ(each.ask({.path = "/ready"}).status, 503U);
    EXPECT_EQ(each.ask({.path = "/health"}).status, 200U);
  }
  EXPECT_FALSE(load_->goes_on(1, 1s)) << "a server still has a connection";
  hogs.clear();
  ASSERT_NO_FATAL_FAILURE(all_recover());
  ends_well();
}

// S0-007, S0-191
// Last of those with three servers: from here on there are two.
TEST_F(PostgresFaults, the_death_of_one_of_three_servers) {
  servers()[2].signal(SIGKILL);
  EXPECT_EQ(servers()[2].exit(), 128 + SIGKILL);
  ASSERT_NO_FATAL_FAILURE(all_recover({0, 1}));
  ASSERT_TRUE(load_->goes_on(300, recovery)) << complaints();
  ends_well();
  for (const std::size_t each : {0, 1}) {
    ServerProcess& server = servers()[each];
    server.signal(SIGTERM);
    EXPECT_EQ(server.exit(), 0) << server.said();
    EXPECT_THAT(server.said(), Not(HasSubstr("internal")));
  }
}

}  // namespace
}  // namespace millrace::test
