// Behind a real PgBouncer in transaction mode, where each transaction may get another session.
#include <gmock/gmock.h>

#include "postgres/connection.h"
#include "tests/support/shared_postgres.h"

namespace millrace::postgres {
namespace {

using namespace std::chrono_literals;
using test::shared_postgres;

constexpr Sql session{"session", "select pg_backend_pid()"};
constexpr Sql echo{"echo", "select $1::int8"};

std::unique_ptr<Connection> connect(const test::PgBouncer& pooler, bool prepare) {
  return std::move(Connection::open({.url = pooler.url(), .prepare = prepare}).value());
}

Params number(std::int64_t value) {
  Params params;
  params.add(value);
  return params;
}

// Opens a transaction and leaves it, so that the session that served `connection` last is taken.
std::int32_t hold_session(Connection& holder) {
  holder.begin();
  return holder.send(session)->get<std::int32_t>(0, 0);
}

TEST(Pooler, statements_that_vanish_are_sent_unnamed_from_then_on) {
  const test::PgBouncer pooler(shared_postgres(), {{"default_pool_size", "2"}});
  const auto connection = connect(pooler, true);
  const auto holder = connect(pooler, false);
  ASSERT_EQ(connection->transact(echo, number(1))->get<std::int64_t>(0, 0), 1);
  EXPECT_TRUE(connection->prepares());
  const auto before = connection->transact(session)->get<std::int32_t>(0, 0);
  ASSERT_EQ(hold_session(*holder), before) << "PgBouncer gives out what came back last";

  // Another session has none of the prepared statements.
  const auto rows = connection->transact(echo, number(2));
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(rows->get<std::int64_t>(0, 0), 2);
  EXPECT_FALSE(connection->prepares());
  holder->rollback();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(connection->transact(echo, number(i))->get<std::int64_t>(0, 0), i);
  }
}

TEST(Pooler, a_transaction_that_had_begun_says_that_it_may_be_repeated) {
  const test::PgBouncer pooler(shared_postgres(), {{"default_pool_size", "2"}});
  const auto connection = connect(pooler, true);
  ASSERT_TRUE(connection->transact(echo, number(1)));
  // As if the session had been changed: BEGIN is known, and the rest is not.
  ASSERT_TRUE(connection->run_script("deallocate all"));
  connection->begin();
  ASSERT_TRUE(connection->send(echo, number(2))) << "a first send mends itself";
  EXPECT_FALSE(connection->prepares());
  EXPECT_TRUE(connection->commit());

  const auto second = connect(pooler, true);
  second->begin();
  ASSERT_TRUE(second->send(echo, number(1)));
  ASSERT_TRUE(second->run_script("deallocate all"));
  const auto failed = second->send(echo, number(2));
  ASSERT_FALSE(failed);
  EXPECT_TRUE(may_repeat(failed.error()));
  EXPECT_FALSE(second->prepares());
  second->begin();
  EXPECT_TRUE(second->send(echo, number(2)));
  EXPECT_TRUE(second->commit());
}

TEST(Pooler, namesakes_of_another_schema_are_never_run) {
  shared_postgres().run_sql(
      "create schema if not exists one; create schema if not exists two;"
      "create or replace function one.which() returns text language sql as 'select ''one''';"
      "create or replace function two.which() returns text language sql as 'select ''two'''");
  static constexpr Sql which{"which", "select millrace.which()"};
  const test::PgBouncer pooler(shared_postgres(), {{"default_pool_size", "2"}});
  const auto open = [&](const std::string& schema) {
    return std::move(Connection::open({.url = pooler.url(), .schema = schema}).value());
  };
  const auto holder = connect(pooler, false);
  const auto one = open("one");
  const auto two = open("two");
  const auto first = holder->transact(session)->get<std::int32_t>(0, 0);
  EXPECT_EQ(one->transact(which)->get<std::string>(0, 0), "one");
  // `two` prepares on the second session, and is then given the first, where `one` has prepared.
  ASSERT_EQ(hold_session(*holder), first);
  EXPECT_EQ(two->transact(which)->get<std::string>(0, 0), "two");
  EXPECT_TRUE(two->prepares());
  holder->rollback();
  EXPECT_EQ(two->transact(which)->get<std::string>(0, 0), "two");
  EXPECT_FALSE(two->prepares()) << "it was on the first session";
}

TEST(Pooler, everything_works_without_prepared_statements) {
  const test::PgBouncer pooler(shared_postgres(), {{"default_pool_size", "3"}});
  std::vector<std::unique_ptr<Connection>> connections;
  for (int i = 0; i < 10; ++i) connections.push_back(connect(pooler, false));
  static constexpr Sql timeout{"timeout", "select current_setting('statement_timeout')"};
  for (int round = 0; round < 5; ++round) {
    for (const auto& connection : connections) {
      EXPECT_EQ(connection->transact(echo, number(round))->get<std::int64_t>(0, 0), round);
      const auto limited = connection->transact(timeout, {}, {.statement_timeout = 3s});
      EXPECT_EQ(limited->get<std::string>(0, 0), "3s");
      EXPECT_EQ(connection->transact(timeout)->get<std::string>(0, 0), "0") << "nothing is left";
    }
  }
  static constexpr Sql wrong{"wrong", "select 1 / 0"};
  for (const auto& connection : connections) {
    EXPECT_EQ(connection->transact(wrong).error().state, "22012");
    EXPECT_TRUE(connection->transact(echo, number(1)));
  }
}

}  // namespace
}  // namespace millrace::postgres
