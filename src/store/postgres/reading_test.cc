// What reads cost: the bytes that come from the server, the statements that are sent, and the time
// limit of each of them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/limits.h"
#include "store/postgres/postgres.h"
#include "store/store.h"
#include "tests/support/matchers.h"
#include "tests/support/sql_session.h"
#include "tests/support/tcp_proxy.h"

namespace millrace::test {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The store under test is behind a proxy that counts; the fixture's own store prepares the tasks.
class Reading : public SqlSession {
 protected:
  static std::unique_ptr<Store> open(Clock& clock, std::uint16_t port) {
    return must(open_postgres({.url = fmt::format("postgres://postgres@127.0.0.1:{}/"
                                                  "postgres?options=-clog_statement%3Dall",
                                                  port),
                               .application_name = "counted",
                               .vacuum = false},
                              clock));
  }

  // Bytes that the server sends for a call that was made once before.
  template <class Call>
  std::uint64_t bytes_of(const Call& call) {
    call();
    const std::uint64_t before = proxy_.sent_back();
    call();
    return proxy_.sent_back() - before;
  }
  // Statements that the server gets for a call that was made once before.
  template <class Call>
  static std::size_t statements_of(const Call& call) {
    call();
    const std::size_t before = shared_postgres().log().size();
    call();
    const std::string log = shared_postgres().log().substr(before);
    std::size_t count = 0;
    for (std::size_t at = 0; (at = log.find(" execute ", at)) != std::string::npos; ++at) ++count;
    return count;
  }

  std::vector<TaskId> put_large(std::size_t count, const std::string& type) {
    std::vector<TaskId> ids;
    for (std::size_t i = 0; i < count; ++i) {
      ids.push_back(
          put(task("q", {.type = type, .payload = std::string(limits::usual_task_size, 'x')})).id);
    }
    return ids;
  }
  // A running task with a log of 200,000 bytes.
  Lease task_with_log(NewTask fields = {}) {
    put(task("q", std::move(fields)));
    const Lease lease = take_one("q");
    const std::vector<std::string> log(limits::max_log_lines, std::string(2000, 'l'));
    must(try_extend({.id = lease.id, .token = lease.token, .progress = 7, .log = log}));
    return lease;
  }

  SystemClock clock_;
  TcpProxy proxy_{shared_postgres().port()};
  const std::unique_ptr<Store> counted_ = open(clock_, proxy_.port());
};

TEST_F(Reading, a_full_list_does_not_get_the_bodies_that_its_filter_leaves_out) {
  put_large(20, "large");
  const TaskId small = put(task("q", {.type = "small", .payload = "p"})).id;
  std::vector<Task> found;
  EXPECT_LT(
      bytes_of([&] {
        found = must(counted_->list({.queue = "q", .type = "small", .detail = Detail::full})).tasks;
      }),
      100'000U);
  EXPECT_THAT(ids_of(found), ElementsAre(small));
  EXPECT_EQ(found.front().payload, "p");
}

TEST_F(Reading, a_page_ends_after_16_mib_and_the_next_begins_there) {
  std::vector<TaskId> ids = put_large(20, "large");
  std::ranges::reverse(ids);
  TaskPage page;
  EXPECT_LT(bytes_of([&] { page = must(counted_->list({.limit = 1000, .detail = Detail::full})); }),
            limits::max_taken_bytes + 2 * limits::mib);
  EXPECT_THAT(page.tasks, SizeIs(16));
  EXPECT_EQ(page.looked_at, 16U);
  ASSERT_TRUE(page.next.has_value());
  const TaskPage rest =
      must(counted_->list({.before = page.next, .limit = 1000, .detail = Detail::full}));
  std::vector<Task> all = page.tasks;
  all.insert(all.end(), rest.tasks.begin(), rest.tasks.end());
  EXPECT_THAT(ids_of(all), ElementsAreArray(ids));
  EXPECT_EQ(rest.next, std::nullopt);
}

TEST_F(Reading, a_list_without_bodies_counts_the_logs_that_it_has_to_read) {
  for (int i = 0; i < 85; ++i) task_with_log();
  TaskPage page;
  EXPECT_LT(bytes_of([&] { page = must(counted_->list({.limit = 1000})); }),
            limits::max_taken_bytes + limits::mib);
  EXPECT_LT(page.tasks.size(), 85U);
  ASSERT_TRUE(page.next.has_value());
  EXPECT_EQ(page.tasks.front().progress, 7);
  const TaskPage rest = must(counted_->list({.before = page.next, .limit = 1000}));
  EXPECT_EQ(page.tasks.size() + rest.tasks.size(), 85U);
}

TEST_F(Reading, a_head_comes_without_payload_and_notes) {
  const Lease lease = task_with_log({.payload = std::string(100'000, 'x')});
  std::vector<Result<Task>> found;
  const std::vector<TaskRef> by_id{lease.id};
  EXPECT_LT(bytes_of([&] { found = must(counted_->find(by_id, head_only)); }), 5'000U);
  EXPECT_EQ(must(found.front()).type, lease.type);
  const std::vector<TaskRef> by_number{lease.number};
  EXPECT_LT(bytes_of([&] { found = must(counted_->find(by_number, head_only)); }), 5'000U);
  EXPECT_EQ(must(found.front()).id, lease.id);
}

TEST_F(Reading, a_task_is_read_with_the_parts_that_are_wanted_only) {
  const std::string payload(100'000, 'x');
  const Lease lease = task_with_log({.payload = payload});
  const std::vector<TaskRef> refs{lease.id, lease.number};
  std::vector<Result<Task>> found;
  EXPECT_LT(bytes_of([&] { found = must(counted_->find(refs, {.payload = false})); }), 420'000U);
  for (auto& task : found) {
    EXPECT_THAT(must(task).log, SizeIs(limits::max_log_lines));
    EXPECT_THAT(must(task).payload, IsEmpty());
  }
  EXPECT_LT(bytes_of([&] { found = must(counted_->find(refs, {.notes = false})); }), 220'000U);
  for (auto& task : found) {
    EXPECT_EQ(must(task).payload, payload);
    EXPECT_THAT(must(task).log, IsEmpty());
    EXPECT_EQ(must(task).progress, 0);
  }
  found = must(counted_->find(refs, {}));
  EXPECT_EQ(must(found.front()), find(lease.id));
  EXPECT_EQ(must(found.back()), find(lease.id));
}

TEST_F(Reading, tasks_are_found_by_their_numbers_in_one_statement) {
  std::vector<TaskRef> refs;
  std::vector<TaskId> ids;
  for (int i = 0; i < 60; ++i) {
    const Put one = put(task("q"));
    refs.emplace_back(one.number);
    ids.push_back(one.id);
  }
  refs.emplace_back(TaskNumber{987'654'321});
  refs.emplace_back(ids.front());
  refs.push_back(refs.front());
  std::vector<Result<Task>> found;
  EXPECT_LE(statements_of([&] { found = must(counted_->find(refs, head_only)); }), 7U)
      << "begin, two settings, version, ids, numbers, commit";
  ASSERT_THAT(found, SizeIs(63));
  for (std::size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(must(found[i]).id, ids[i]);
  ASSERT_THAT(found[60], FailsWith(ErrorCode::not_found));
  EXPECT_EQ(found[60].error().message, "there is no task number 987654321");
  EXPECT_EQ(must(found[61]).id, ids.front());
  EXPECT_EQ(must(found[62]).id, ids.front());
}

TEST_F(Reading, one_queue_is_read_without_all_others) {
  for (int i = 0; i < 100; ++i) make_queue(fmt::format("other-{}", i));
  EXPECT_LT(bytes_of([&] { EXPECT_THAT(must(counted_->queues(QueueRef("q"))), SizeIs(1)); }),
            2'000U);
  make_queue(queue("q", {.description = "changed by another server"}));
  EXPECT_EQ(must(counted_->queues(QueueRef("q"))).front().settings.description,
            "changed by another server");
  make_queue("new");
  EXPECT_THAT(counted_->queues(QueueRef("new")), IsOk());
  EXPECT_THAT(counted_->queues(QueueRef("unknown")), FailsWith(ErrorCode::not_found));
}

// ---- Filters -----------------------------------------------------------------------------------

TEST_F(Reading, a_filter_that_no_text_of_postgres_can_equal_matches_nothing) {
  put(task("q", {.type = "t", .client_id = "c", .group = "g", .tags = {"x"}}));
  for (const std::string& text : {std::string("t\0", 2), std::string("\xff")}) {
    EXPECT_THAT(must(counted_->list({.type = text})).tasks, IsEmpty());
    EXPECT_THAT(must(counted_->list({.client_id = text})).tasks, IsEmpty());
    EXPECT_THAT(must(counted_->list({.group = text})).tasks, IsEmpty());
    EXPECT_THAT(must(counted_->list({.tag = text})).tasks, IsEmpty());
  }
}

TEST_F(Reading, a_filter_may_ask_for_what_is_not_given) {
  const TaskId without = put(task("q", {.group = "g"})).id;
  put(task("q", {.client_id = "c", .group = "g"}));
  EXPECT_THAT(ids_of(must(counted_->list({.client_id = "", .group = "g"})).tasks),
              ElementsAre(without));
}

TEST_F(Reading, a_filter_by_moments_may_be_open_at_both_ends) {
  const TaskId one = put(task("q")).id;
  const ListRequest always{.created_from = TimePoint::min(), .created_until = never};
  EXPECT_THAT(ids_of(must(counted_->list(always)).tasks), ElementsAre(one));
}

// ---- Time limits -------------------------------------------------------------------------------

// Reads of this task wait for the lock that the test holds.
class StoppedReading : public Reading {
 protected:
  void stop_at(const Put& task) {
    sql(fmt::format("create function stop_at(number bigint) returns boolean language plpgsql as $$ "
                    "begin if number = {} then perform pg_advisory_xact_lock_shared(4712); end if; "
                    "return true; end $$;",
                    task.number.value) +
        change_view_ + view_.substr(0, view_.find(';')) + " where stop_at(number)");
    lock_->begin();
    ASSERT_TRUE(lock_->run_script("select pg_advisory_xact_lock(4712)").has_value());
  }
  ~StoppedReading() override {
    lock_->rollback();
    sql(change_view_ + view_ + "drop function if exists stop_at");
  }

  // Stops the call where it waits, as its time limit does.
  template <class Call>
  auto stopped(const Call& call) {
    auto answer = std::async(std::launch::async, call);
    const std::string waiting =
        "from pg_stat_activity where wait_event_type = 'Lock' and application_name like 'counted%'";
    while (sql("select count(*) " + waiting) != "1") {
    }
    sql("select pg_cancel_backend(pid) " + waiting);
    return answer.get();
  }

  const std::string change_view_ = "create or replace view millrace.live_heads as ";
  const std::string view_ = sql("select pg_get_viewdef('millrace.live_heads')");
  const std::unique_ptr<postgres::Connection> lock_ = connect();
};

TEST_F(StoppedReading, a_page_that_is_stopped_after_its_first_step_is_short) {
  const Put oldest = put(task("q", {.type = "wanted"}));
  std::vector<NewTask> between;
  for (int i = 0; i < 1000; ++i) between.push_back(task("q"));
  put_all(between);
  for (NewTask& one : between) one.id = fresh_id();
  put_all(between);
  const Put newest = put(task("q", {.type = "wanted"}));
  stop_at(oldest);
  const auto page = stopped([&] { return counted_->list({.type = "wanted"}); });
  ASSERT_THAT(page, IsOk());
  EXPECT_THAT(ids_of(page->tasks), ElementsAre(newest.id));
  ASSERT_TRUE(page->next.has_value());
  EXPECT_GT(page->looked_at, 0U);
  EXPECT_EQ(page->next->value + page->looked_at, newest.number.value + 1);
  lock_->rollback();
  const TaskPage rest = must(counted_->list({.type = "wanted", .before = page->next}));
  EXPECT_THAT(ids_of(rest.tasks), ElementsAre(oldest.id));
}

TEST_F(StoppedReading, a_page_that_is_stopped_before_it_has_anything_fails) {
  stop_at(put(task("q")));
  const auto page = stopped([&] { return counted_->list({}); });
  EXPECT_THAT(page, FailsWith(ErrorCode::unavailable));
}

}  // namespace
}  // namespace millrace::test
