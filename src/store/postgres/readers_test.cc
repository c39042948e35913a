// Which session reads: that of the thread that changes the store, or one of the pool for all other
// threads. What holds up the pool must not hold up changes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "store/postgres/postgres.h"
#include "store/store.h"
#include "tests/support/matchers.h"
#include "tests/support/sql_session.h"

namespace millrace::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// The store under test has two sessions that read; this thread is the one that changes it.
class Readers : public SqlSession {
 protected:
  Readers() {
    mine_.now = now;
    mine_.put(first_);
  }

  static std::unique_ptr<Store> open(const std::string& url, const std::string& schema) {
    static SystemClock clock;
    return must(open_postgres(
        {.url = url, .schema = schema, .application_name = "reading", .vacuum = false}, clock));
  }

  // On a thread that never changes anything.
  template <class Call>
  static auto elsewhere(Call call) {
    return std::async(std::launch::async, std::move(call));
  }
  static std::string sessions(const std::string& those) {
    return sql("select pid from pg_stat_activity where " + those + " order by pid");
  }
  const std::string that_read_ = "application_name = 'reading read'";
  const std::string that_writes_ = "application_name = 'reading'";

  // Two reads that wait for a lock, until the transaction of `lock` ends.
  std::vector<std::future<Result<std::vector<Memo>>>> busy_readers(postgres::Connection& lock) {
    lock.begin();
    EXPECT_TRUE(lock.run_script("lock table millrace.memos").has_value());
    std::vector<std::future<Result<std::vector<Memo>>>> reads;
    for (int i = 0; i < 2; ++i) {
      reads.push_back(elsewhere([this] { return store_->recall({.prefix = "k"}, now); }));
    }
    while (sql("select count(*) from pg_stat_activity where wait_event_type = 'Lock' and " +
               that_read_) != "2") {
    }
    return reads;
  }

  const std::unique_ptr<Store> store_ = open(shared_postgres().url(), "millrace");
  StoreDriver mine_{*store_};
  const NewTask first_ = task("q");
};

TEST_F(Readers, that_are_all_busy_do_not_hold_up_the_thread_that_writes) {
  const auto lock = connect();
  auto reads = busy_readers(*lock);
  EXPECT_THAT(store_->ready(mine_.now), IsOk());
  EXPECT_THAT(mine_.try_find(first_.id), IsOk());
  EXPECT_THAT(store_->queues(QueueRef("q")), IsOk());
  EXPECT_THAT(store_->counts(std::nullopt, mine_.now), IsOk());
  EXPECT_THAT(store_->list({}), IsOk());
  EXPECT_THAT(store_->schedules(std::nullopt), IsOk());
  EXPECT_THAT(store_->time(), IsOk());
  EXPECT_THAT(mine_.take("q"), SizeIs(1));
  EXPECT_EQ(reads.front().wait_for(0s), std::future_status::timeout) << "it did not wait";
  lock->rollback();
  for (auto& read : reads) EXPECT_THAT(read.get(), IsOk());
}

// The applier of a server to which no request has come yet asks for work first.
TEST_F(Readers, that_are_all_busy_do_not_hold_up_a_thread_that_looks_for_work_and_will_write) {
  const auto lock = connect();
  auto reads = busy_readers(*lock);
  auto applier = elsewhere([&] {
    const bool ready = store_->ready(mine_.now).has_value();
    return ready && find_task(*store_, first_.id).has_value();
  });
  EXPECT_TRUE(applier.get());
  lock->rollback();
  for (auto& read : reads) EXPECT_THAT(read.get(), IsOk());
}

TEST_F(Readers, that_cannot_be_opened_do_not_matter_to_the_thread_that_writes) {
  sql("drop schema if exists few cascade; drop role if exists few;"
      "create role few login connection limit 3; create schema few authorization few");
  std::string url = shared_postgres().url();
  url.replace(url.find("postgres@"), 8, "few");
  const auto store = open(url, "few");  // sessions that work, flush and listen
  StoreDriver driver{*store};
  driver.make_queue("q");
  driver.put(first_);
  while (sql("select count(*) from pg_stat_activity where usename = 'few'") != "3") {
  }
  const auto read = elsewhere([&] { return find_task(*store, first_.id); }).get();
  ASSERT_THAT(read, FailsWith(ErrorCode::unavailable)) << "there is no room for its session";
  EXPECT_THAT(read.error().message, HasSubstr("too many connections"));
  EXPECT_THAT(store->ready(driver.now), IsOk());
  EXPECT_THAT(driver.try_find(first_.id), IsOk());
  EXPECT_THAT(driver.take("q"), SizeIs(1));
}

TEST_F(Readers, read_on_other_threads_with_sessions_of_their_own) {
  ASSERT_THAT(mine_.try_find(first_.id), IsOk());
  EXPECT_THAT(sessions(that_read_), IsEmpty());
  ASSERT_THAT(elsewhere([&] { return find_task(*store_, first_.id); }).get(), IsOk());
  EXPECT_THAT(sessions(that_read_), Not(IsEmpty()));
}

TEST_F(Readers, whose_connection_was_lost_read_once_more) {
  const auto read = [&] { return find_task(*store_, first_.id); };
  ASSERT_THAT(elsewhere(read).get(), IsOk());
  ASSERT_EQ(sql("select count(pg_terminate_backend(pid, 5000)) from pg_stat_activity where " +
                that_read_),
            "1");
  EXPECT_THAT(elsewhere(read).get(), IsOk());
}

// The writer may have found another server.
TEST_F(Readers, leave_a_server_that_the_writer_has_left) {
  const auto read = [&] { return find_task(*store_, first_.id); };
  ASSERT_THAT(elsewhere(read).get(), IsOk());
  const std::string before = sessions(that_read_);
  ASSERT_EQ(sql("select count(pg_terminate_backend(pid, 5000)) from pg_stat_activity where " +
                that_writes_),
            "1");
  EXPECT_THAT(mine_.try_put(task("q")), FailsWith(ErrorCode::unavailable));
  EXPECT_THAT(mine_.try_put(task("q")), IsOk());
  ASSERT_THAT(elsewhere(read).get(), IsOk());
  while (!sessions("pid = " + before).empty()) {
  }
  EXPECT_NE(sessions(that_read_), before);
}

}  // namespace
}  // namespace millrace::test
