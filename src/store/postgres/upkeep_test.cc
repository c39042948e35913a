// What keeps the tables small, tested on a real server.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <future>
#include <thread>

#include "core/clock.h"
#include "core/uuid.h"
#include "postgres/connection.h"
#include "store/postgres/vacuum.h"
#include "store/store.h"
#include "tests/support/matchers.h"
#include "tests/support/sql_session.h"

namespace millrace::test {
namespace {

using namespace std::chrono_literals;
using store_postgres::Vacuum;

class Upkeep : public SqlSession {
 protected:
  Upkeep() { sql("alter table millrace.count_changes set (autovacuum_enabled = off)"); }
  ~Upkeep() override { sql("alter table millrace.count_changes reset (autovacuum_enabled)"); }

  static postgres::ConnectOptions options() { return {.url = shared_postgres().url()}; }

  // Dead rows of a table that others change often.
  static void leave_dead_rows(int count) {
    sql(
        fmt::format("insert into millrace.count_changes select 1, 9, 0, 0 from "
                    "generate_series(1, {}); delete from millrace.count_changes where state = 9",
                    count));
  }
  static int vacuums() {
    return std::stoi(
        sql("select vacuum_count from pg_stat_user_tables "
            "where relid = 'millrace.count_changes'::regclass"));
  }
  // How often it happened since the test began.
  bool eventually_vacuumed(int times) const {
    SystemClock clock;
    for (const auto until = clock.steady() + 20s; clock.steady() < until;) {
      if (vacuums() - before_ >= times) return true;
      sql("select pg_sleep(0.05)");
    }
    return false;
  }

  const int before_ = vacuums();
};

// ---- Pruning -----------------------------------------------------------------------------------

// Two processes that had counted the same tasks would remove twice as many.
TEST_F(Upkeep, one_process_prunes_at_a_time) {
  make_queue(queue("few", {.keep_completed = {.last = 2}}));
  for (int i = 0; i < 5; ++i) {
    put(task("few"));
    settle(done(take_one("few")));
  }
  const auto other = connect();
  other->begin();
  ASSERT_TRUE(
      other->run_script("select pg_advisory_xact_lock(hashtext('millrace.'), -5)").has_value());
  ASSERT_THAT(store().advance(now, 1000), IsOk());
  EXPECT_EQ(counts("few").of(TaskState::completed), 5U);
  other->rollback();
  ASSERT_THAT(store().advance(now, 1000), IsOk());
  EXPECT_EQ(counts("few").of(TaskState::completed), 2U);
}

// A restored task is removed by itself; once its queue is empty there is nothing to look for.
TEST_F(Upkeep, tasks_of_a_removed_queue_set_no_next_moment) {
  make_queue(queue("gone", {.keep_dead = {.for_time = 30 * 24h}}));
  restore(old_task("gone", {.state = TaskState::dead}));
  ASSERT_TRUE(store().advance(now, 1000)->next.has_value());
  ASSERT_THAT(store().remove_queue("gone", true, now), IsOk());
  EXPECT_EQ(store().advance(now, 1000)->next, std::nullopt);
}

// ---- Tables of days ----------------------------------------------------------------------------

// As after a failover to a standby that had not received these tables yet.
TEST_F(Upkeep, tables_of_days_that_another_server_lacks_are_made_again) {
  put(task("q"));
  settle(done(take_one("q")));
  put(task("q"));
  const Lease lease = take_one("q");
  sql("drop table millrace.finished_1");
  sql("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'millrace' "
      "order by state_change desc limit 1");
  EXPECT_EQ(try_settle(done(lease)).error().code, ErrorCode::unavailable);
  EXPECT_EQ(settle(done(lease)), TaskState::completed);
}

// Tasks that another server has removed, without having committed yet, would be counted twice.
TEST_F(Upkeep, a_table_of_a_day_is_dropped_when_no_session_changes_it) {
  const Put removed = put(task("q"));
  put(task("q"));
  for (const Lease& lease : take("q")) settle(done(lease));
  const std::string day =
      sql("select (finished_at at time zone 'UTC')::date from millrace.finished limit 1");
  const auto other = connect();
  other->begin();
  ASSERT_TRUE(other
                  ->run_script(fmt::format("delete from millrace.queue_tasks where id = '{}'",
                                           to_text(removed.id.value)))
                  .has_value());
  auto dropped = std::async(std::launch::async, [&] {
    return sql(fmt::format("select millrace.drop_partition(1, '{}')", day));
  });
  while (sql("select count(*) from pg_stat_activity where wait_event_type = 'Lock'") != "1") {
  }
  ASSERT_TRUE(other->run_script("commit").has_value());
  EXPECT_EQ(dropped.get(), "1");
  EXPECT_EQ(miscounted(), "");
}

TEST_F(Upkeep, a_queue_that_keeps_its_tasks_longer_by_now_keeps_them_when_their_table_goes) {
  put(task("q"));
  const Lease longer = take_one("q");
  settle(done(longer));
  make_queue(queue("brief"));
  put(task("brief"));
  const Lease brief = take_one("brief");
  settle(done(brief));
  make_queue(queue("q", {.keep_completed = {.for_time = 5 * 24h}}));
  pass(3 * 24h);
  EXPECT_EQ(advance().removed, 1U);
  EXPECT_TRUE(exists(longer.id));
  EXPECT_FALSE(exists(brief.id));
  EXPECT_EQ(miscounted(), "");
  pass(2 * 24h);
  EXPECT_EQ(advance().removed, 1U);
  EXPECT_FALSE(exists(longer.id));
  EXPECT_EQ(miscounted(), "");
}

// ---- Dead rows ---------------------------------------------------------------------------------

TEST_F(Upkeep, many_dead_rows_are_cleared_away_and_a_few_are_not) {
  SystemClock clock;
  leave_dead_rows(10'000);
  const Vacuum vacuum(options(), clock, 20ms);
  sql("select pg_sleep(0.3)");
  EXPECT_EQ(vacuums(), before_);
  leave_dead_rows(60'000);
  EXPECT_TRUE(eventually_vacuumed(1));
}

// With an old snapshot open the dead rows stay, and trying again would be wasted work.
TEST_F(Upkeep, dead_rows_that_have_to_stay_are_tried_once) {
  SystemClock clock;
  const auto other = connect();
  other->begin({.snapshot = true});
  ASSERT_TRUE(other->run_script("select 1").has_value());
  leave_dead_rows(60'000);
  const Vacuum vacuum(options(), clock, 20ms);
  ASSERT_TRUE(eventually_vacuumed(1));
  sql("select pg_sleep(0.5)");
  EXPECT_EQ(vacuums(), before_ + 1);
  leave_dead_rows(60'000);
  EXPECT_TRUE(eventually_vacuumed(2));
  other->rollback();
}

TEST_F(Upkeep, a_vacuum_that_waits_does_not_keep_a_store_from_closing) {
  SystemClock clock;
  const auto other = connect();
  other->begin();
  ASSERT_TRUE(other->run_script("lock table millrace.tasks").has_value());
  const auto began = clock.steady();
  {
    const auto waiting = connect();
    std::jthread giving_up([&] {
      sql("select pg_sleep(0.2)");
      waiting->abandon();
    });
    const auto answer = waiting->run_script("analyze millrace.tasks", 60s);
    ASSERT_FALSE(answer.has_value());
    EXPECT_TRUE(answer.error().lost);
  }
  EXPECT_LT(clock.steady() - began, 10s);
  other->rollback();
}

}  // namespace
}  // namespace millrace::test
