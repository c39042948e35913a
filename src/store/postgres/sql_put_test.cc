// Putting tasks with SQL: what docs/postgres.md promises of millrace.put().
#include <fmt/format.h>

#include <fstream>
#include <thread>

#include "core/clock.h"
#include "core/uuid.h"
#include "store/postgres/postgres.h"
#include "store/store.h"
#include "tests/support/sql_session.h"

namespace millrace::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class SqlPut : public SqlSession {
 protected:
  std::vector<std::string> payloads(const std::string& queue = "q") {
    std::vector<std::string> all;
    catch_up();
    for (const Lease& lease : take(queue)) {
      all.push_back(lease.payload);
      settle(done(lease));
    }
    return all;
  }
};

// Waits for notifications, without those that servers send to each other.
std::vector<postgres::Notification> must_hear(postgres::Connection& listener) {
  auto heard = listener.wait_notification(10s);
  if (!heard || heard->empty()) throw std::runtime_error("nothing was heard");
  std::erase_if(*heard, [](const auto& one) { return !one.payload.starts_with("sql "); });
  return *heard;
}

TaskId id_of(const std::string& text) {
  return must(task_id_from_text(text));
}

// S0-015, S4-035
TEST_F(SqlPut, comes_with_its_transaction_or_not_at_all) {
  sql("create table if not exists orders (id integer);"
      "begin; insert into orders values (1); select millrace.put('q', 'kept'); commit;"
      "begin; insert into orders values (2); select millrace.put('q', 'dropped'); rollback;");
  EXPECT_THAT(payloads(), ElementsAre("kept"));
  EXPECT_EQ(counts("q").of(TaskState::completed), 1U);
  EXPECT_EQ(miscounted(), "");
  sql("drop table orders");
}

TEST_F(SqlPut, is_not_seen_before_the_commit) {
  auto other = connect();
  other->begin();
  ASSERT_TRUE(other->run_script("select millrace.put('q', 'later')"));
  EXPECT_THAT(payloads(), IsEmpty());
  EXPECT_EQ(counts("q").total(), 0U);
  ASSERT_TRUE(other->commit());
  EXPECT_EQ(counts("q").of(TaskState::queued), 1U);
  pass(2s);  // tasks of others may lie before the place where takes begin to scan
  auto fresh = open_postgres_again();
  use(*fresh);
  EXPECT_THAT(payloads(), ElementsAre("later"));
}

// One session stays open while the other commits, and the work goes on.
TEST_F(SqlPut, transactions_do_not_wait_for_each_other) {
  auto other = connect();
  other->begin();
  ASSERT_TRUE(other->run_script("select millrace.put('q', 'first')"));
  sql("set lock_timeout = '1s'; select millrace.put('q', 'second', type => 't', priority => 9)");
  EXPECT_THAT(payloads(), ElementsAre("second"));
  // What it holds: rows that only it sees, and a lock that all sessions that put share.
  EXPECT_EQ(sql("select count(*) from pg_locks where locktype in ('tuple', 'object') "
                "or (locktype = 'advisory' and mode <> 'ShareLock')"),
            "0");
  ASSERT_TRUE(other->commit());
  EXPECT_EQ(counts("q").of(TaskState::queued), 1U);
  EXPECT_EQ(miscounted(), "");
}

// C-19: jsonb would change all of these.
TEST_F(SqlPut, keeps_the_bytes_as_they_came) {
  const std::vector<std::string> texts = {R"({"b":1,  "a": 1.0, "a":2e1})",
                                          R"({"nul":"\u0000"})",
                                          R"("\ud83d\ude00")",
                                          "",
                                          "no JSON at all",
                                          "\xc3\xa9\xe2\x82\xac text",
                                          "{\"n\":\n1}",
                                          " {} "};
  for (const std::string& text : texts) sql("select millrace.put('q', $x$" + text + "$x$)");
  EXPECT_EQ(payloads(), texts);
  sql(R"(select millrace.put('q', '{"b":1,  "a": 1.0, "a":2e1}'::json);
         select millrace.put('q', '\x00ff0a'::bytea);
         select millrace.put('q', '{"b": 1.0, "b":2,"a":1}'::jsonb);
         select millrace.put('q', 'typed'::varchar);
         select millrace.put('q'))");
  EXPECT_THAT(payloads(),
              ElementsAre(R"({"b":1,  "a": 1.0, "a":2e1})", std::string("\x00\xff\n", 3),
                          R"({"a": 1, "b": 2})", "typed", ""));
}

TEST_F(SqlPut, answers_with_the_id_of_a_uuid_v7) {
  const TaskId id = id_of(sql("select millrace.put('q', 'x')"));
  EXPECT_EQ(id.value.bytes[6] >> 4U, 7);
  EXPECT_EQ(id.value.bytes[8] >> 6U, 2);
  EXPECT_TRUE(exists(id));
  EXPECT_EQ(sql("select count(*) = count(distinct u) and bool_and(abs(extract(epoch from now()) - "
                "('x' || left(replace(u::text, '-', ''), 12))::bit(48)::bigint / 1000.0) < 5) "
                "from (select millrace.uuid_v7() as u from generate_series(1, 10000)) t"),
            "t");
}

TEST_F(SqlPut, keeps_everything_that_is_given) {
  const TaskId id = id_of(sql(R"(
    select millrace.put('q', 'x', type => 'welcome', priority => 8, delay => '1 hour',
      start_by => clock_timestamp() + interval '2 hours', unique_key => 'k', client_id => 'shop',
      request_id => 'r-1', "group" => 'g', tags => array['a', 'b "c"'], metadata => '{"m": 1}',
      content_type => 'text/plain', timeout => '90 seconds', max_retries => 7,
      keep_for => '2 days'))"));
  catch_up();
  const Task task = find(id);
  EXPECT_EQ(task.queue, "q");
  EXPECT_EQ(task.type, "welcome");
  EXPECT_EQ(task.state, TaskState::delayed);
  EXPECT_EQ(task.priority, 8);
  EXPECT_EQ(task.start - task.created_at, 1h);
  EXPECT_NEAR(static_cast<double>((*task.start_by - task.created_at).count()), 7'200'000, 2000);
  EXPECT_EQ(task.unique, (UniqueKey{.key = "k"}));
  EXPECT_EQ(task.client_id, "shop");
  EXPECT_EQ(task.request_id, "r-1");
  EXPECT_EQ(task.group, "g");
  EXPECT_THAT(task.tags, ElementsAre("a", "b \"c\""));
  EXPECT_EQ(task.metadata, R"({"m": 1})");
  EXPECT_EQ(task.content_type, "text/plain");
  EXPECT_EQ(task.timeout, 90s);
  ASSERT_TRUE(task.retry);
  EXPECT_EQ(*task.retry, (RetryRules{.max_retries = 7}));
  EXPECT_EQ(task.keep_for, std::chrono::days(2));
  EXPECT_EQ(task.version.value, 1U);
  EXPECT_EQ(counts("q").of(TaskState::delayed), 1U);

  const TaskId unlimited_one = id_of(sql("select millrace.put('q', max_retries => 2147483647)"));
  EXPECT_EQ(find(unlimited_one).retry->max_retries, unlimited);
  const TaskId held = id_of(sql("select millrace.put('q', held => true)"));
  EXPECT_EQ(state_of(held), TaskState::created);
  catch_up();
  update({.id = held, .release = true});
  EXPECT_EQ(state_of(held), TaskState::queued);
}

TEST_F(SqlPut, a_start_in_the_past_is_now) {
  const TaskId id = id_of(sql("select millrace.put('q', start => '2001-01-01')"));
  EXPECT_EQ(find(id).start, find(id).created_at);
  EXPECT_EQ(state_of(id), TaskState::queued);
  const TaskId later = id_of(sql("select millrace.put('q', start => now() + interval '1 day')"));
  EXPECT_EQ(state_of(later), TaskState::delayed);
}

// C-18, S3-053
TEST_F(SqlPut, the_same_id_is_put_once) {
  const std::string id = to_text(fresh_id().value);
  const std::string put = "select * from millrace.put_task('q', 'x', id => '" + id + "')";
  EXPECT_THAT(sql(put), ::testing::MatchesRegex(id + R"(\|[0-9]+\|queued\|f)"));
  EXPECT_THAT(sql(put), ::testing::MatchesRegex(id + R"(\|[0-9]+\|queued\|t)"));
  EXPECT_EQ(payloads().size(), 1U);
  EXPECT_THAT(sql(put), HasSubstr("|completed|t"));  // a finished task counts, too
  EXPECT_EQ(counts("q").total(), 1U);
  // Whatever else the call says: the existing task is the answer.
  EXPECT_EQ(sql("select millrace.put('no-such-queue', id => '" + id + "')"), id);
  EXPECT_EQ(miscounted(), "");
}

// C-18
TEST_F(SqlPut, the_holder_of_a_unique_key_is_the_answer) {
  const std::string put = "select task_id, existing from millrace.put_task('q', unique_key => 'k')";
  const std::string first = sql(put);
  const std::string holder = first.substr(0, first.find('|'));
  EXPECT_EQ(first, holder + "|f");
  EXPECT_EQ(sql(put), holder + "|t");
  EXPECT_EQ(must(try_put(task("q", {.unique = UniqueKey{.key = "k"}}))).id, id_of(holder));
  catch_up();
  const Lease lease = take_one("q");
  EXPECT_EQ(sql(put), holder + "|t");
  settle(done(lease));
  EXPECT_THAT(sql(put), HasSubstr("|f"));
  EXPECT_EQ(counts("q").total(), 2U);
  EXPECT_EQ(miscounted(), "");
}

TEST_F(SqlPut, a_key_until_started_is_free_after_the_take) {
  const std::string put =
      "select existing from millrace.put_task('q', unique_key => 'k', "
      "unique_scope => 'until_started')";
  EXPECT_EQ(sql(put), "f");
  EXPECT_EQ(sql(put), "t");
  catch_up();
  take_one("q");
  EXPECT_EQ(sql(put), "f");
}

TEST_F(SqlPut, a_window_outlives_its_task_and_ends) {
  const std::string put =
      "select existing, state from millrace.put_task('q', unique_key => 'k', "
      "unique_window => '1 hour', keep_for => '0')";
  EXPECT_EQ(sql(put), "f|queued");
  payloads();
  EXPECT_EQ(sql(put), "t|");  // the task is gone
  EXPECT_EQ(must(try_put(task("q", {.unique = UniqueKey{.key = "k"}}))).existing, true);
  sql("update millrace.holders set until = now() - interval '1 minute'");
  EXPECT_EQ(sql(put), "f|queued");
  EXPECT_EQ(miscounted(), "");
}

TEST_F(SqlPut, a_put_waits_for_a_key_of_another_transaction_as_long_as_lock_timeout_allows) {
  auto other = connect();
  other->begin();
  ASSERT_TRUE(other->run_script("select millrace.put('q', 'first', unique_key => 'k')"));
  EXPECT_THAT(refused("set lock_timeout = '50ms'; select millrace.put('q', unique_key => 'k')"),
              HasSubstr("55P03"));
  sql("set lock_timeout = '1s'; select millrace.put('q', 'other key', unique_key => 'l')");
  ASSERT_TRUE(other->commit());
  EXPECT_EQ(sql("select existing from millrace.put_task('q', unique_key => 'k')"), "t");
}

// C-17
TEST_F(SqlPut, names_a_queue_by_name_number_or_id) {
  const Queue queue =
      make_queue({.name = "numbered", .number = QueueNumber{17}, .id = fresh_uuid()});
  sql("select millrace.put('17', 'by number'); select millrace.put('numbered', 'by name');"
      "select millrace.put(upper('" +
      to_text(queue.settings.id) + "'), 'by id')");
  EXPECT_THAT(payloads("numbered"), UnorderedElementsAre("by number", "by name", "by id"));
}

// A queue is not erased while a session puts into it; its number would be used again.
TEST_F(SqlPut, a_queue_stays_while_a_session_puts_into_it) {
  auto other = connect();
  other->begin();
  ASSERT_TRUE(other->run_script("select millrace.put('q', 'x')"));
  const auto refusal = store().remove_queue("q", false, now);
  ASSERT_FALSE(refusal);
  EXPECT_EQ(refusal.error().code, ErrorCode::conflict);
  must(store().remove_queue("q", true, now));
  advance();
  EXPECT_TRUE(find_queue("q").removing);
  ASSERT_TRUE(other->commit());
  EXPECT_EQ(sql("select count(*) from millrace.tasks"), "1");
  advance(), advance();
  EXPECT_FALSE(store().queues("q"));
  EXPECT_EQ(sql("select count(*) from millrace.tasks"), "0");
  EXPECT_EQ(miscounted(), "");
}

TEST_F(SqlPut, an_old_snapshot_does_not_put_into_a_queue_that_is_gone) {
  auto other = connect();
  other->begin({.snapshot = true});
  ASSERT_TRUE(other->run_script("select count(*) from millrace.queues"));
  must(store().remove_queue("q", false, now));
  const auto put = other->run_script("select millrace.put('q', 'x')");
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().state, "40001");
  EXPECT_EQ(sql("select count(*) from millrace.tasks"), "0");
}

TEST_F(SqlPut, many_at_once_are_counted_and_work_through_the_store) {
  sql("select count(millrace.put('q', jsonb_build_object('n', n), priority => n % 10)) "
      "from generate_series(1, 500) n");
  EXPECT_EQ(counts("q").of(TaskState::queued), 500U);
  EXPECT_EQ(payloads().size(), 500U);
  EXPECT_EQ(counts("q").of(TaskState::completed), 500U);
  EXPECT_EQ(miscounted(), "");
}

// The second session finds the task of the first, however close they are.
TEST_F(SqlPut, a_key_and_an_id_are_put_once_by_many_at_the_same_time) {
  const std::string id = to_text(fresh_id().value);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&id] {
      auto own = connect();
      for (int i = 0; i < 50; ++i) {
        EXPECT_TRUE(own->run_script(fmt::format(
            "select millrace.put('q', unique_key => 'k{}'), millrace.put('q', id => '{}')", i,
            id)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counts("q").of(TaskState::queued), 51U);
  EXPECT_EQ(
      sql("select count(*), count(distinct unique_key) from millrace.tasks t join "
          "millrace.holders h on h.key = t.unique_key and h.task = t.id and h.number = t.number"),
      "50|50");
  EXPECT_EQ(miscounted(), "");
}

// Only callers that ask for it notify: transactions that notify commit one after the other.
TEST_F(SqlPut, wakes_the_servers_if_it_is_told_to) {
  auto listener = connect();
  const std::string channel = "millrace_millrace";
  ASSERT_TRUE(listener->listen({&channel, 1}));
  sql("select millrace.put('q', 'quietly')");
  sql("begin; select millrace.put('q', wake => true); select millrace.put('q', wake => true); "
      "commit");
  sql("begin; select millrace.put('q', wake => true); rollback");
  sql("insert into millrace.task_queues (name) values ('new')");
  std::vector<std::string> heard;
  while (heard.size() < 2) {
    for (const auto& one : must_hear(*listener)) heard.push_back(one.payload);
  }
  EXPECT_THAT(heard, ElementsAre("sql w:q", "sql q"));
}

// The schema is a setting.
TEST_F(SqlPut, works_in_another_schema) {
  SystemClock clock;
  auto other = must(open_postgres({.url = shared_postgres().url(), .schema = "other_one"}, clock));
  use(*other);
  sql("insert into other_one.task_queues (name) values ('q');"
      "create role guest; select other_one.grant_put('guest'); set role guest;"
      "select other_one.put('q', 'there', unique_key => 'k', max_retries => 2)");
  EXPECT_EQ(sql("select task_data, max_retries, status from other_one.queue_tasks"),
            "\"there\"|2|pending");
  EXPECT_EQ(sql("select count(*) from millrace.tasks"), "0");
  EXPECT_THAT(payloads(), ElementsAre("there"));
  sql("delete from other_one.queue_tasks; delete from other_one.task_queues;"
      "select other_one.revoke_put('guest'); drop role guest");
  EXPECT_EQ(sql("select count(*) from other_one.queues"), "0");
  other.reset();
  sql("drop schema other_one cascade");
}

// Every block of SQL in the page is run, from top to bottom, on an empty store.
TEST_F(SqlPut, the_page_about_it_is_true) {
  std::ifstream file(MILLRACE_DOCS "/postgres.md");
  std::string page;
  std::string line;
  bool inside = false;
  int blocks = 0;
  while (std::getline(file, line)) {
    if (line.starts_with("```")) {
      inside = !inside && line == "```sql";
      blocks += inside ? 1 : 0;
    } else if (inside) {
      page += line + "\n";
    }
  }
  ASSERT_GE(blocks, 6);
  must(store().remove_queue("q", false, now));
  sql(page);
  EXPECT_EQ(miscounted(), "");
  EXPECT_EQ(counts("emails").waiting(), 6U) << "of the tasks that the page puts";
  sql("drop table orders; drop owned by shop, shop_admin; drop role shop, shop_admin");
}

}  // namespace
}  // namespace millrace::test
