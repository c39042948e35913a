// Opening a store on a real server: what it finds there, what it makes there, and its errors when
// it must not or cannot.
#include "store/postgres/tables.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <thread>

#include "core/clock.h"
#include "store/postgres/migrate.h"
#include "store/postgres/open.h"
#include "store/postgres/server_check.h"
#include "store/store.h"
#include "tests/support/builders.h"
#include "tests/support/matchers.h"
#include "tests/support/shared_postgres.h"

namespace millrace {
namespace {

using namespace std::chrono_literals;
using store_postgres::promise_of;
using store_postgres::ServerFacts;
using test::shared_postgres;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// A database of its own for each test.
class Tables : public ::testing::Test {
 protected:
  Tables() {
    static int made = 0;
    database_ = fmt::format("tables_{}", ++made);
    run("create database " + database_, "postgres");
  }

  std::string run(const std::string& sql, const std::string& database = {}) const {
    return shared_postgres().run_sql(sql, database.empty() ? database_ : database);
  }
  std::string url(std::string_view user = "postgres") const {
    return fmt::format("postgres://{}@127.0.0.1:{}/{}", user, shared_postgres().port(), database_);
  }
  PostgresOptions options() const { return {.url = url()}; }

  Result<std::unique_ptr<Store>> open(PostgresOptions options) {
    options.warn = [this](std::string_view notice) { warnings_.emplace_back(notice); };
    return open_postgres(std::move(options), clock_);
  }
  std::string error_of_opening(PostgresOptions options) {
    const auto store = open(std::move(options));
    return store ? "" : store.error().message;
  }
  std::string tables_in(std::string_view schema) const {
    return run(fmt::format("select count(*) from pg_tables where schemaname = '{}'", schema));
  }

  std::string database_;
  SystemClock clock_;
  std::vector<std::string> warnings_;
};

// ---- Migrating ---------------------------------------------------------------------------------

TEST_F(Tables, are_made_once_and_in_the_schema_that_is_named) {
  PostgresOptions jobs = options();
  jobs.schema = "jobs";
  const auto planned = plan_postgres(jobs);
  ASSERT_THAT(planned, test::IsOk());
  EXPECT_THAT(planned->migrations, SizeIs(store_postgres::migrations().size()));
  EXPECT_EQ(planned->migrations.front(), "0001_tables");
  EXPECT_EQ(tables_in("jobs"), "0\n") << "a plan changes nothing";
  const auto applied = migrate_postgres(jobs);
  ASSERT_THAT(applied, test::IsOk());
  EXPECT_EQ(applied->migrations, planned->migrations);
  EXPECT_NE(tables_in("jobs"), "0\n");
  EXPECT_EQ(tables_in("millrace"), "0\n");
  EXPECT_THAT(migrate_postgres(jobs)->migrations, IsEmpty());
  EXPECT_EQ(plan_postgres(jobs)->sql, "");
  jobs.migrate = false;
  auto store = open(jobs);
  ASSERT_THAT(store, test::IsOk());
  ASSERT_THAT((*store)->put_queue(test::queue("q"), PutQueue::create, test::t0), test::IsOk());
  EXPECT_EQ(run("select name from jobs.queues"), "q\n");
}

TEST_F(Tables, may_be_made_by_hand) {
  PostgresOptions jobs = options();
  jobs.schema = "jobs";
  run(plan_postgres(jobs)->sql);
  EXPECT_THAT(plan_postgres(jobs)->migrations, IsEmpty());
  EXPECT_THAT(open(jobs), test::IsOk());
  EXPECT_EQ(tables_in("millrace"), "0\n");
}

TEST_F(Tables, are_made_by_one_while_others_wait) {
  // No session gets past the lock until all are there.
  auto lock = postgres::Connection::open({.url = url()});
  ASSERT_TRUE(lock);
  static constexpr postgres::Sql take{"take",
                                      "select pg_advisory_xact_lock(hashtext('millrace.'), -3)"};
  (*lock)->begin();
  ASSERT_TRUE((*lock)->send(take));
  constexpr std::size_t many = 4;
  std::vector<std::size_t> applied(many, 99);
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < many; ++i) {
    threads.emplace_back([&, i] {
      const auto done = migrate_postgres(options());
      EXPECT_THAT(done, test::IsOk());
      if (done) applied[i] = done->migrations.size();
    });
  }
  const std::string waiting = fmt::format(
      "select count(*) from pg_stat_activity where datname = '{}' and wait_event = 'advisory'",
      database_);
  while (run(waiting, "postgres") != fmt::format("{}\n", many)) std::this_thread::yield();
  (*lock)->rollback();
  threads.clear();
  std::ranges::sort(applied);
  EXPECT_THAT(applied, ElementsAre(0, 0, 0, store_postgres::migrations().size()));
}

TEST_F(Tables, that_cannot_all_be_made_are_not_made_at_all) {
  run("create schema millrace; create table millrace.memos (x integer)");
  const auto failed = migrate_postgres(options());
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message,
              AllOf(HasSubstr("\"memos\" already exists"), HasSubstr("migration 0001_tables")));
  EXPECT_EQ(tables_in("millrace"), "1\n");
  run("drop table millrace.memos");
  EXPECT_THAT(migrate_postgres(options()), test::IsOk());
}

TEST_F(Tables, of_a_newer_program_are_left_alone) {
  ASSERT_THAT(migrate_postgres(options()), test::IsOk());
  run("insert into millrace.migrations (version, name) values (999, '0999_later')");
  for (const std::string& message :
       {error_of_opening(options()), migrate_postgres(options()).error().message,
        plan_postgres(options()).error().message}) {
    EXPECT_THAT(message, AllOf(HasSubstr("version 999"), HasSubstr("A newer Millrace")));
  }
}

TEST_F(Tables, are_not_made_where_migration_is_off) {
  PostgresOptions off = options();
  off.migrate = false;
  PostgresOptions reading = options();
  reading.read_only = true;
  for (const PostgresOptions& each : {off, reading}) {
    const auto store = open(each);
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, ErrorCode::not_found);
    EXPECT_THAT(store.error().message, AllOf(HasSubstr("no tables of Millrace in schema millrace"),
                                             HasSubstr("millrace migrate")));
  }
  EXPECT_EQ(tables_in("millrace"), "0\n");
}

TEST_F(Tables, need_a_role_that_owns_the_schema) {
  const std::string role = "role_of_" + database_;
  run(fmt::format("create role {} login", role));
  PostgresOptions as_role{.url = url(role)};
  const std::string advice = fmt::format("`create schema millrace authorization {}`", role);
  EXPECT_THAT(error_of_opening(as_role), AllOf(HasSubstr("permission denied"), HasSubstr(advice)));
  run("create schema millrace");
  const auto denied = migrate_postgres(as_role);
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().code, ErrorCode::invalid);
  EXPECT_THAT(denied.error().message, HasSubstr("must own the schema millrace"));
  // As an administrator would do it: only the schema.
  run(fmt::format("drop schema millrace; create schema millrace authorization {}", role));
  auto store = open(as_role);
  ASSERT_THAT(store, test::IsOk());
  ASSERT_THAT((*store)->put_queue(test::queue("q"), PutQueue::create, test::t0), test::IsOk());
  const std::vector tasks = {test::task("q", {.payload = "x"})};
  EXPECT_THAT((*store)->put(tasks, test::t0), test::IsOk());
}

// ---- The server --------------------------------------------------------------------------------

TEST_F(Tables, cannot_be_opened_with_options_that_make_no_sense) {
  PostgresOptions wrong = options();
  wrong.schema = "Jobs";
  const auto schema = open(wrong);
  ASSERT_FALSE(schema);
  EXPECT_EQ(schema.error().code, ErrorCode::invalid);
  EXPECT_THAT(schema.error().message, AllOf(HasSubstr("a to z"), HasSubstr("?schema=jobs")));
  for (const bool listen : {false, true}) {
    PostgresOptions bad = options();
    (listen ? bad.listen_url : bad.url) = "postgres://u:hunter2@h/d?nosuch=hunter2";
    const auto store = open(bad);
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, ErrorCode::invalid);
    EXPECT_THAT(store.error().message, AllOf(HasSubstr("nosuch"), Not(HasSubstr("hunter2"))));
  }
  const auto away = open({.url = "postgres://u:hunter2@127.0.0.1:1/d"});
  ASSERT_FALSE(away);
  EXPECT_EQ(away.error().code, ErrorCode::unavailable);
  EXPECT_THAT(away.error().message, AllOf(HasSubstr("127.0.0.1"), Not(HasSubstr("hunter2"))));
}

TEST_F(Tables, need_a_database_that_can_hold_any_text) {
  run(
      fmt::format("create database latin_{} encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' "
                  "template template0",
                  database_));
  const auto store = open({.url = shared_postgres().url("latin_" + database_)});
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error().message, AllOf(HasSubstr("LATIN1"), HasSubstr("ENCODING 'UTF8'")));
}

TEST_F(Tables, say_what_the_settings_of_their_server_cost) {
  EXPECT_THAT(open(options()), test::IsOk());
  EXPECT_THAT(warnings_, IsEmpty());
  run(fmt::format("alter database {} set synchronous_commit = off", database_));
  auto store = open(options());
  ASSERT_THAT(store, test::IsOk());
  EXPECT_THAT(warnings_, ElementsAre(AllOf(HasSubstr("synchronous_commit is off"),
                                           HasSubstr("in the last 600 ms"))));
  EXPECT_EQ((*store)->traits().durability, Durability::interval);
  EXPECT_EQ((*store)->traits().loss_window, 600ms);
  EXPECT_EQ(verify_postgres(options())->remarks, warnings_);
  const test::PostgresServer quick({.settings = test::quick_settings()});
  store = open({.url = quick.url()});
  ASSERT_THAT(store, test::IsOk());
  EXPECT_THAT(warnings_, Contains(HasSubstr("fsync is off")));
  EXPECT_EQ((*store)->traits().durability, Durability::none);
}

TEST_F(Tables, are_used_by_sessions_that_say_whose_they_are) {
  PostgresOptions named = options();
  named.application_name = "millrace host 17";
  auto store = open(named);
  ASSERT_THAT(store, test::IsOk());
  ASSERT_THAT((*store)->flush(), test::IsOk());
  EXPECT_EQ(
      run(fmt::format(
              "select application_name from pg_stat_activity where datname = '{}' "
              "and application_name like 'millrace%' and application_name not like '% listen' "
              "order by 1",
              database_),
          "postgres"),
      "millrace host 17\nmillrace host 17 flush\n");
  EXPECT_EQ(store_postgres::connect_options(named).statement_timeout, 20s);
}

ServerFacts good_facts() {
  return {.version = 150018,
          .version_text = "15.18",
          .encoding = "UTF8",
          .synchronous_commit = "on",
          .wal_writer_delay = 200ms,
          .role = "r",
          .database = "d"};
}

TEST(Promise, is_kept_by_a_server_that_waits_for_its_disk) {
  for (const auto* commit : {"on", "local", "remote_write", "remote_apply"}) {
    ServerFacts facts = good_facts();
    facts.synchronous_commit = commit;
    EXPECT_EQ(promise_of(facts).durability, Durability::synced) << commit;
    EXPECT_THAT(promise_of(facts).warnings, IsEmpty()) << commit;
  }
}

TEST(Promise, is_not_made_for_a_server_that_does_not) {
  ServerFacts facts = good_facts();
  facts.synchronous_commit = "off";
  facts.wal_writer_delay = 50ms;
  EXPECT_EQ(promise_of(facts).durability, Durability::interval);
  EXPECT_EQ(promise_of(facts).loss_window, 150ms);
  EXPECT_THAT(promise_of(facts).warnings, ElementsAre(HasSubstr("alter role r set")));
  facts = good_facts();
  facts.fsync = false;
  EXPECT_EQ(promise_of(facts).durability, Durability::none);
  facts = good_facts();
  facts.full_page_writes = false;
  EXPECT_EQ(promise_of(facts).durability, Durability::synced);
  EXPECT_THAT(promise_of(facts).warnings, ElementsAre(HasSubstr("full_page_writes is off")));
  facts = good_facts();
  facts.synchronous_commit = "local";
  facts.has_standbys = true;
  EXPECT_THAT(promise_of(facts).warnings, ElementsAre(HasSubstr("a failover may lose")));
}

TEST(Promise, is_asked_only_of_servers_that_can_make_one) {
  EXPECT_THAT(check_server(good_facts(), true), test::IsOk());
  ServerFacts old = good_facts();
  old.version = 130'020;
  old.version_text = "13.20";
  EXPECT_THAT(check_server(old, false).error().message,
              HasSubstr("PostgreSQL 13.20; Millrace needs 14 or newer"));
  ServerFacts standby = good_facts();
  standby.standby = true;
  EXPECT_THAT(check_server(standby, false), test::IsOk()) << "an export is welcome there";
  EXPECT_THAT(check_server(standby, true).error().message, HasSubstr("target_session_attrs"));
}

// ---- Verifying ---------------------------------------------------------------------------------

TEST_F(Tables, are_counted_and_differences_are_reported) {
  EXPECT_THAT(verify_postgres(options()).error().message, HasSubstr("no tables of Millrace"));
  auto store = open(options());
  ASSERT_THAT(store, test::IsOk());
  ASSERT_THAT((*store)->put_queue(test::queue("q"), PutQueue::create, test::t0), test::IsOk());
  const std::vector tasks = {test::task("q"), test::task("q"), test::task("q")};
  ASSERT_THAT((*store)->put(tasks, test::t0), test::IsOk());
  const auto good = verify_postgres(options());
  ASSERT_THAT(good, test::IsOk());
  EXPECT_THAT(good->damage, IsEmpty());
  EXPECT_THAT(good->counts, Contains(std::pair<std::string, std::uint64_t>("unfinished", 3)));

  run("delete from millrace.tasks where number = (select min(number) from millrace.tasks)");
  run("insert into millrace.counts values (77, 5, 1, 2)");
  run("update millrace.tasks set queue = 99 where number = (select max(number) from "
      "millrace.tasks)");
  const auto bad = verify_postgres(options());
  ASSERT_THAT(bad, test::IsOk());
  EXPECT_THAT(bad->damage, Contains("queue 77 has 0 tasks that are completed with priority 1, and "
                                    "2 are counted"));
  EXPECT_THAT(bad->damage, Contains(HasSubstr("has 1 tasks that are queued with priority 5, and 3 "
                                              "are counted")));
  EXPECT_THAT(bad->damage, Contains("1 tasks are of a queue that is not there"));
}

TEST_F(Tables, a_null_that_must_not_be_there_is_an_error_and_the_store_goes_on) {
  auto store = open(options());
  ASSERT_THAT(store, test::IsOk());
  const auto made = (*store)->put_queue({.name = "q", .id = Uuid{{1}}}, PutQueue::create, test::t0);
  ASSERT_THAT(made, test::IsOk());
  ASSERT_THAT((*store)->queues(std::nullopt), test::IsOk());
  run("alter table millrace.queues alter column updated_at drop not null; update millrace.queues "
      "set updated_at = null");
  EXPECT_THAT((*store)->queues(std::nullopt),
              test::FailsWith(ErrorCode::corrupt, HasSubstr("must not be NULL")));
  run("update millrace.queues set updated_at = now()");
  EXPECT_THAT((*store)->queues(std::nullopt), test::IsOk());
}

}  // namespace
}  // namespace millrace
