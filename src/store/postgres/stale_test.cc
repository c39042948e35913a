// Two processes on one database: what one remembers of queues may be old.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/driver.h"
#include "tests/support/matchers.h"
#include "tests/support/postgres_stores.h"

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

// What has to begin again must not have been done before: a settlement would be `already`.
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

TEST_F(StaleSettings, a_limit_that_somebody_else_has_set_holds_at_once) {
  one.put_all({task("q"), task("q"), task("q")});
  other.make_queue(queue("q", {.max_concurrent = 1}));
  EXPECT_THAT(one.take("q"), SizeIs(1));
}

TEST_F(StaleSettings, a_queue_that_somebody_else_has_made_is_known) {
  other.make_queue("new");
  one.put(task("new"));
  EXPECT_THAT(other.take("new"), SizeIs(1));
}

}  // namespace
}  // namespace millrace::test
