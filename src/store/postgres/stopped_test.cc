// Calls that the server stops, as it does when they exceed their time limit, and what the next call
// does then.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>

#include "core/clock.h"
#include "postgres/connection.h"
#include "store/postgres/postgres.h"
#include "store/store.h"
#include "tests/support/matchers.h"
#include "tests/support/sql_session.h"

namespace millrace::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Drives a store whose clock stands still; the fixture's own store plays another server.
class StoppedCalls : public SqlSession {
 protected:
  StoppedCalls() {
    one_.now = now;
    stop_at_ = connect();
    stop_at_->begin();
  }
  ~StoppedCalls() override {
    stop_at_->rollback();
    sql("drop function if exists stop_here cascade");
  }

  // Runs the call until it waits for a lock; 20 s later, by its clock, it is stopped.
  template <class Call>
  auto stopped(const Call& call) {
    auto answer = std::async(std::launch::async, call);
    const std::string waiting =
        "from pg_stat_activity where wait_event_type = 'Lock' and application_name = 'stopped'";
    while (sql("select count(*) " + waiting) != "1") {
    }
    clock_.advance(20s);
    sql("select pg_cancel_backend(pid) " + waiting);
    return answer.get();
  }

  // Calls that change this task wait.
  void stop_takers_of(const Put& task) {
    sql(
        fmt::format("create function stop_here() returns trigger language plpgsql as $$ begin "
                    "perform pg_advisory_xact_lock(4711); return new; end $$;"
                    "create trigger stop_here before update on millrace.tasks for each row "
                    "when (old.number = {}) execute function stop_here()",
                    task.number.value));
    ASSERT_TRUE(stop_at_->run_script("select pg_advisory_xact_lock(4711)").has_value());
  }

  ManualClock clock_;
  std::unique_ptr<Store> its_store_ = must(open_postgres(
      {.url = shared_postgres().url(), .application_name = "stopped", .vacuum = false}, clock_));
  StoreDriver one_{*its_store_};
  std::unique_ptr<postgres::Connection> stop_at_;
};

TEST_F(StoppedCalls, a_rescan_from_the_bottom_does_not_keep_tasks_at_the_top_from_being_taken) {
  one_.pass(1s);
  one_.put(task("q"));
  one_.take_one("q");
  const Put below = put(task("q"));  // another server's clock is late
  ASSERT_THAT(one_.take("q"), IsEmpty()) << "it rescanned";
  stop_takers_of(below);
  const Put above = one_.put(task("q"));
  clock_.advance(1s);
  const TakeRequest request{.worker = "w", .queues = {{"q", 1}}};
  const auto answer = stopped([&] { return one_.try_take(request); });
  ASSERT_THAT(answer, FailsWith(ErrorCode::unavailable));
  EXPECT_THAT(ids_of(must(one_.try_take(request))), ElementsAre(above.id));
  stop_at_->rollback();
  clock_.advance(1min);
  EXPECT_THAT(ids_of(must(one_.try_take(request))), ElementsAre(below.id));
}

// A task that this process gave back itself is never missed, not even for a second.
TEST_F(StoppedCalls, a_take_that_has_to_begin_again_misses_nothing) {
  const Put first = one_.put(task("q"));
  one_.put(task("q"));
  const auto leases = one_.take("q");
  ASSERT_THAT(leases, SizeIs(2));
  one_.settle(given_back(leases.front()));
  make_queue(queue("q", {.description = "changed meanwhile"}));
  clock_.advance(1s);  // a rescan is due, with the settings from before
  EXPECT_THAT(ids_of(one_.take("q")), ElementsAre(first.id));
}

TEST_F(StoppedCalls, a_long_scan_for_ended_leases_is_not_tried_again_at_once) {
  one_.put(task("q"));
  one_.take_one("q");
  ASSERT_THAT(one_.due(), IsEmpty());
  ASSERT_TRUE(stop_at_->run_script("lock table millrace.tasks").has_value());
  ASSERT_THAT(stopped([&] { return its_store_->due(one_.now, {.limit = 10}); }),
              FailsWith(ErrorCode::unavailable));
  stop_at_->rollback();
  // A long scan would find the lease; a short one does not.
  sql("update millrace.tasks set lease_until = lease_until - interval '90 seconds'");
  EXPECT_THAT(one_.due(), IsEmpty());
  clock_.advance(1min);
  EXPECT_THAT(one_.due(), SizeIs(1));
}

}  // namespace
}  // namespace millrace::test
