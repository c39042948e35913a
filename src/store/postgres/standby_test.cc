// A server that no longer takes writes: a standby, or one that an administrator has made read-only.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "store/postgres/postgres.h"
#include "store/postgres/vacuum.h"
#include "store/store.h"
#include "tests/support/driver.h"
#include "tests/support/matchers.h"
#include "tests/support/postgres_server.h"

namespace millrace::test {
namespace {

using ::testing::HasSubstr;

// A server of the test's own.
class Standby : public ::testing::Test {
 protected:
  Standby() {
    driver_.now = clock_.now();
    driver_.make_queue("q");
    driver_.put(first_);
    must(store_->flush());
  }

  std::unique_ptr<Store> open(bool read_only = false) {
    return must(open_postgres({.url = server_.url(), .read_only = read_only}, clock_));
  }
  template <class Call>
  bool soon(const Call& call) {
    for (const auto until = clock_.steady() + 20s; clock_.steady() < until;) {
      if (call().has_value()) return true;
      server_.run_sql("select pg_sleep(0.05)");
    }
    return false;
  }
  void takes_no_writes() {
    const auto put = driver_.try_put(task("q"));
    ASSERT_FALSE(put.has_value());
    EXPECT_EQ(put.error().code, ErrorCode::unavailable);
    EXPECT_THAT(put.error().message, HasSubstr("takes no writes"));
    EXPECT_GT(put.error().retry_after, Duration::zero());
  }
  // Whether all of `those` sessions have left a server that may be the wrong one.
  bool all_have_left(const std::string& those) {
    for (const auto until = clock_.steady() + 20s; clock_.steady() < until;) {
      if (server_.run_sql("select pid from pg_stat_activity where " + those).empty()) return true;
    }
    return false;
  }
  const std::string writing_ = "application_name in ('millrace', 'millrace flush')";

  SystemClock clock_;
  PostgresServer server_{{.settings = quick_settings()}};
  std::unique_ptr<Store> store_ = open();
  StoreDriver driver_{*store_};
  const NewTask first_ = task("q");
};

// Where one address leads to the current primary, it must be resolved again.
TEST_F(Standby, is_left_by_sessions_that_want_to_write) {
  server_.demote();
  EXPECT_THAT(driver_.try_put(task("q")), FailsWith(ErrorCode::unavailable));
  EXPECT_THAT(store_->flush(), FailsWith(ErrorCode::unavailable)) << "the connection is lost";
  ASSERT_TRUE(soon([&] { return driver_.try_find(first_.id); })) << "it may be read";
  takes_no_writes();
  EXPECT_TRUE(all_have_left(writing_));
  server_.run_sql("select pg_sleep(0.2)");  // so that the sessions may try again
  takes_no_writes();
  const auto flushed = store_->flush();
  ASSERT_FALSE(flushed.has_value());
  EXPECT_THAT(flushed.error().message, HasSubstr("takes no writes"));
  EXPECT_TRUE(find_task(*open(true), first_.id).has_value()) << "exports are welcome";
  server_.promote();
  EXPECT_TRUE(soon([&] { return driver_.try_put(task("q")); }));
  EXPECT_TRUE(soon([&] { return store_->flush(); }));
  EXPECT_EQ(driver_.take("q").size(), 2U);
}

TEST_F(Standby, is_how_a_server_counts_that_was_made_read_only) {
  server_.set_read_only(true);
  const auto flushed = store_->flush();
  ASSERT_FALSE(flushed.has_value()) << "what it is about may be on another server";
  EXPECT_THAT(flushed.error().message, HasSubstr("takes no writes"));
  takes_no_writes();
  EXPECT_TRUE(all_have_left(writing_));
  server_.set_read_only(false);
  EXPECT_TRUE(soon([&] { return driver_.try_put(task("q")); }));
  EXPECT_TRUE(soon([&] { return store_->flush(); }));
  EXPECT_EQ(driver_.take("q").size(), 2U);
}

// A server that only has takes to serve would otherwise ask the old primary for ever.
TEST_F(Standby, is_left_by_a_session_that_looks_for_work) {
  ASSERT_TRUE(store_->ready(driver_.now).has_value());
  server_.set_read_only(true);
  Result<std::vector<std::string>> ready = store_->ready(driver_.now);
  for (const auto until = clock_.steady() + 20s; ready && clock_.steady() < until;) {
    ready = store_->ready(driver_.now);
  }
  ASSERT_THAT(ready, FailsWith(ErrorCode::unavailable));
  EXPECT_THAT(ready.error().message, HasSubstr("takes no writes"));
  EXPECT_TRUE(all_have_left("application_name = 'millrace'"));
  server_.set_read_only(false);
  EXPECT_TRUE(soon([&] { return store_->ready(driver_.now); }));
}

TEST_F(Standby, is_left_by_the_session_that_vacuums) {
  const store_postgres::Vacuum vacuum({.url = server_.url(), .application_name = "cleaner"}, clock_,
                                      20ms);
  std::string session;
  ASSERT_TRUE(soon([&]() -> std::optional<bool> {
    session =
        server_.run_sql("select pid from pg_stat_activity where application_name = 'cleaner'");
    return session.empty() ? std::nullopt : std::optional(true);
  }));
  server_.set_read_only(true);
  EXPECT_TRUE(all_have_left("pid = " + session));
}

}  // namespace
}  // namespace millrace::test
