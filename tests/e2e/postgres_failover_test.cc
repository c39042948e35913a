// Two real servers on a PostgreSQL that has a synchronous standby, under load, and the ways in
// which the standby takes over: nothing that was acknowledged is lost, no task is held by two, and
// all goes on by itself within seconds.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/store.h"
#include "tests/e2e/fault_trial.h"
#include "tests/support/postgres_server.h"

namespace millrace::test {
namespace {

class PostgresFailover : public FaultTrial {
 protected:
  std::deque<ServerProcess>& servers() override { return servers_; }
  std::string url() const override { return url_of(""); }
  std::string url_of(std::string_view options) const {
    return fmt::format("postgres://postgres@127.0.0.1:{},127.0.0.1:{}/postgres{}", primary_.port(),
                       standby_.port(), options);
  }

  // `options` of the URL that the servers get.
  void serve(std::string_view options) {
    const std::string following =
        "select count(*) from pg_stat_replication where sync_state = 'sync'";
    while (primary_.run_sql(following) != "1\n") {
    }
    for (int i = 0; i < 2; ++i) {
      servers_.emplace_back(std::vector<std::string>{"--store", url_of(options)});
      ASSERT_TRUE(servers_.back().ready()) << servers_.back().said();
    }
    begin_work();
  }

  static PostgresOptions options() {
    auto settings = quick_settings();
    // A commit that does not wait is not sent: a failover loses as much as it ever may.
    settings.emplace_back("wal_writer_delay", "10s");
    return {.settings = std::move(settings)};
  }
  static PostgresOptions primary() {
    PostgresOptions primary = options();
    primary.settings.emplace_back("synchronous_standby_names", "*");
    return primary;
  }
  static PostgresOptions standby_of(const PostgresServer& primary) {
    PostgresOptions standby = options();
    standby.standby_of = &primary;
    return standby;
  }

  PostgresServer primary_{primary()};
  PostgresServer standby_{standby_of(primary_)};
  std::deque<ServerProcess> servers_;
};

TEST_F(PostgresFailover, a_standby_takes_over_from_a_primary_that_dies) {
  ASSERT_NO_FATAL_FAILURE(serve("?target_session_attrs=read-write"));
  // What the standby has not received is not answered, so it may be lost.
  const pid_t receiver = std::stoi(standby_.run_sql("select pid from pg_stat_wal_receiver"));
  kill(receiver, SIGSTOP);
  // The answers to what it had received are still on their way, and then there are no more.
  int answers = 0;
  while (answers < 1000 && load_->goes_on(1, 3s)) ++answers;
  EXPECT_LT(answers, 1000) << "answered before the standby has it";
  primary_.kill_postmaster();
  kill(receiver, SIGCONT);
  standby_.promote();
  ASSERT_NO_FATAL_FAILURE(all_recover());
  ASSERT_TRUE(load_->goes_on(100, recovery)) << complaints();
  ends_well();
}

// Its sessions are not ended, and it still answers reads.
TEST_F(PostgresFailover, a_primary_that_takes_no_more_writes_is_left) {
  ASSERT_NO_FATAL_FAILURE(serve(""));
  primary_.set_read_only(true);
  standby_.promote();
  ASSERT_NO_FATAL_FAILURE(all_recover());
  // By all of them: work, flushes, hints, vacuums.
  const std::string left_behind =
      "select count(*) from pg_stat_activity where application_name like 'millrace%'";
  const auto until = clock_.steady() + recovery;
  while (primary_.run_sql(left_behind) != "0\n" && clock_.steady() < until) {
  }
  EXPECT_EQ(primary_.run_sql(left_behind), "0\n");
  ends_well();
}

}  // namespace
}  // namespace millrace::test
