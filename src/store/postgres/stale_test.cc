// Two processes on one database: what one remembers of queues may be old.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "postgres/connection.h"
#include "store/store.h"
#include "tests/support/driver.h"
#include "tests/support/matchers.h"
#include "tests/support/postgres_stores.h"
#include "tests/support/shared_postgres.h"

namespace millrace::test {
namespace {

using ::testing::SizeIs;
using namespace std::chrono_literals;

class StaleSettings : public ::testing::Test {
 protected:
  StaleSettings() { one.make_queue("q"); }

  std::unique_ptr<Store> first = open_fresh_postgres();
  std::unique_ptr<Store> second = open_postgres_again();
  StoreDriver one{*first};
  StoreDriver other{*second};
};

// A call that begins again must not have been applied before: a settlement would be `already`.
TEST_F(StaleSettings, a_settlement_is_applied_once_although_a_queue_has_changed) {
  one.put(task("q"));
  const Lease lease = one.take_one("q");
  other.make_queue(queue("q", {.description = "changed meanwhile"}));
  const Result<Settled> settled = one.try_settle(done(lease));
  ASSERT_THAT(settled, IsOk());
  EXPECT_EQ(settled->status, SettleStatus::applied);
}

TEST_F(StaleSettings, an_extension_adds_its_line_once) {
  one.put(task("q"));
  const Lease lease = one.take_one("q");
  other.make_queue(queue("q", {.description = "changed meanwhile"}));
  ASSERT_THAT(one.try_extend({.id = lease.id, .token = lease.token, .log = {"half way"}}), IsOk());
  EXPECT_THAT(one.find(lease.id).log, SizeIs(1));
}

TEST_F(StaleSettings, a_limit_that_another_process_has_set_holds_at_once) {
  one.put_all({task("q"), task("q"), task("q")});
  other.make_queue(queue("q", {.max_concurrent = 1}));
  EXPECT_THAT(one.take("q"), SizeIs(1));
}

TEST_F(StaleSettings, a_depth_that_another_process_has_set_holds_at_once) {
  other.make_queue(queue("q", {.max_depth = 1}));
  const auto put = first->put(std::vector<NewTask>{task("q"), task("q")}, one.now);
  ASSERT_THAT(put, IsOk());
  EXPECT_THAT((*put)[0], IsOk());
  EXPECT_THAT((*put)[1], IsLimited());
}

// By the new rule the task goes to a table of days that did not exist before.
TEST_F(StaleSettings, a_task_ends_by_a_rule_that_another_process_has_made_longer_meanwhile) {
  one.put(task("q"));
  const Lease lease = one.take_one("q");
  const Put waiting = one.put(task("q"));
  other.make_queue(queue("q", {.keep_completed = {.for_time = 77 * 24h}}));
  EXPECT_EQ(one.settle(done(lease)), TaskState::completed);
  other.make_queue(queue("q", {.keep_completed = {.for_time = 78 * 24h}}));
  EXPECT_EQ(one.cancel(waiting.id), TaskState::cancelled);
  EXPECT_EQ(shared_postgres().run_sql("select class from millrace.finished order by class"),
            "77\n78\n");
}

TEST_F(StaleSettings, a_queue_that_another_process_has_made_is_known) {
  other.make_queue("new");
  one.put(task("new"));
  EXPECT_THAT(other.take("new"), SizeIs(1));
}

// A task that is put into a queue while it is erased would be lost.
TEST_F(StaleSettings, a_queue_is_not_erased_under_a_process_that_puts_into_it) {
  const auto putting = postgres::Connection::open({.url = shared_postgres().url()});
  ASSERT_TRUE(putting.has_value());
  (*putting)->begin({});
  ASSERT_TRUE((*putting)
                  ->run_script("select millrace.hold_queues();"
                               "insert into millrace.tasks (id, queue, state, priority, start, "
                               "created_at, updated_at, type, payload) select gen_random_uuid(), "
                               "queue, 1, 5, now(), now(), now(), 't', '' from millrace.queues "
                               "where name = 'q'")
                  .has_value());
  auto removed =
      std::async(std::launch::async, [&] { return second->remove_queue("q", false, other.now); });
  EXPECT_EQ(removed.wait_for(200ms), std::future_status::timeout) << "it did not wait";
  ASSERT_TRUE((*putting)->run_script("commit").has_value());
  EXPECT_THAT(removed.get(), FailsWith(ErrorCode::conflict));
  EXPECT_THAT(one.take("q"), SizeIs(1));
}

// The server may be one that took over, and that had not received everything.
TEST_F(StaleSettings, a_lease_that_ended_long_ago_is_found_after_a_new_connection) {
  one.put(task("q"));
  one.take_one("q");
  ASSERT_THAT(one.due(), SizeIs(0));
  shared_postgres().run_sql(
      "update millrace.tasks set lease_until = lease_until - interval '1 hour'");
  ASSERT_THAT(one.due(), SizeIs(0)) << "it looked further back than it has to";
  shared_postgres().run_sql(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'millrace' "
      "order by state_change desc limit 1");
  EXPECT_THAT(first->due(one.now, {.limit = 10}), FailsWith(ErrorCode::unavailable));
  EXPECT_THAT(one.due(), SizeIs(1));
}

}  // namespace
}  // namespace millrace::test
