#include <gmock/gmock.h>

#include "postgres/connection.h"
#include "postgres/test_sql.h"
#include "tests/support/shared_postgres.h"

namespace millrace::postgres {
namespace {

using namespace std::chrono_literals;
using test::shared_postgres;
using testing::HasSubstr;

constexpr Sql insert{"insert", "insert into millrace.t (a, b) values ($1, $2)"};
constexpr Sql count{"count", "select count(*), coalesce(sum(length(b)), 0)::int8 from millrace.t"};
constexpr Sql divide{"divide", "select 1 / $1::int4"};

class Transact : public testing::Test {
 protected:
  void SetUp() override {
    run("drop schema if exists \"millrace\" cascade; create schema \"millrace\";"
        "create table millrace.t (a int8 primary key, b bytea)");
  }
  std::unique_ptr<Connection> connect(ConnectOptions options = {}) {
    options.url = shared_postgres().url();
    auto connection = Connection::open(std::move(options));
    if (!connection) throw std::runtime_error(connection.error().message);
    return std::move(*connection);
  }
  void run(std::string_view script) {
    const auto done = connection_->run_script(script);
    ASSERT_TRUE(done) << done.error().message;
  }
  static Params row(std::int64_t a, std::string_view b = "x") {
    Params params;
    params.add(a);
    params.add_bytes(b);
    return params;
  }
  std::int64_t rows_there() {
    const auto rows = connection_->transact(count);
    return rows ? rows->get<std::int64_t>(0, 0) : -1;
  }

  std::unique_ptr<Connection> connection_ = connect();
};

TEST_F(Transact, all_statements_are_answered_in_order) {
  const Params one = row(1);
  const Params two = row(2);
  const std::array statements{Statement{&insert, &one}, Statement{&insert, &two},
                              Statement{&count}};
  const auto rows = connection_->transact(statements);
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->size(), 3u);
  EXPECT_EQ((*rows)[0].affected(), 1u);
  EXPECT_EQ((*rows)[0].size(), 0u);
  EXPECT_EQ((*rows)[2].get<std::int64_t>(0, 0), 2);
  EXPECT_EQ(rows_there(), 2);
}

TEST_F(Transact, nothing_at_all_is_a_transaction_too) {
  const auto rows = connection_->transact(std::span<const Statement>());
  ASSERT_TRUE(rows);
  EXPECT_TRUE(rows->empty());
}

TEST_F(Transact, a_failure_in_the_middle_undoes_all_and_the_connection_goes_on) {
  const Params one = row(1);
  const Params two = row(2);
  Params zero;
  zero.add(std::int32_t{0});
  const std::array statements{Statement{&insert, &one}, Statement{&divide, &zero},
                              Statement{&insert, &two}};
  for (int i = 0; i < 3; ++i) {
    const auto rows = connection_->transact(statements);
    ASSERT_FALSE(rows);
    EXPECT_EQ(rows.error().state, "22012");
    EXPECT_THAT(rows.error().message, HasSubstr("in the statement divide"));
    EXPECT_FALSE(rows.error().lost);
    EXPECT_TRUE(connection_->is_open());
    EXPECT_FALSE(connection_->in_transaction());
    EXPECT_EQ(rows_there(), 0);
  }
  EXPECT_TRUE(connection_->transact(insert, one));
  EXPECT_EQ(rows_there(), 1);
}

TEST_F(Transact, a_statement_that_cannot_be_prepared_leaves_the_others_usable) {
  static constexpr Sql wrong{"wrong", "select nothing from millrace.nowhere"};
  const Params one = row(1);
  const std::array statements{Statement{&insert, &one}, Statement{&wrong}, Statement{&count}};
  for (int i = 0; i < 2; ++i) {
    const auto rows = connection_->transact(statements);
    ASSERT_FALSE(rows);
    EXPECT_EQ(rows.error().state, "42P01");
  }
  EXPECT_EQ(rows_there(), 0);
  const std::array good{Statement{&insert, &one}, Statement{&count}};
  EXPECT_TRUE(connection_->transact(good));
  EXPECT_TRUE(connection_->prepares()) << "what came after it was not taken for prepared";
}

TEST_F(Transact, a_commit_that_fails_is_a_failure) {
  run("create table millrace.late (a int8 references millrace.t (a) deferrable initially "
      "deferred)");
  static constexpr Sql late{"late", "insert into millrace.late values (5)"};
  const auto rows = connection_->transact(late);
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().state, "23503");
  EXPECT_EQ(rows_there(), 0);
}

TEST_F(Transact, a_statement_is_prepared_once) {
  static constexpr Sql prepared{"prepared",
                                "select count(*) from pg_prepared_statements "
                                "where statement like '%$7::int4 seven%'"};
  static constexpr Sql seven{"seven",
                             "select $7::int4 seven, $1::int4, $2::int4, $3::int4, "
                             "$4::int4, $5::int4, $6::int4"};
  Params params;
  for (int i = 0; i < 7; ++i) params.add(std::int32_t{i});
  const std::array statements{Statement{&seven, &params}, Statement{&seven, &params}};
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(connection_->transact(statements));
  EXPECT_EQ(connection_->transact(prepared)->get<std::int64_t>(0, 0), 2) << "itself and the one";

  const auto plain = connect({.prepare = false});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(plain->transact(statements));
  EXPECT_EQ(plain->transact(prepared)->get<std::int64_t>(0, 0), 0);
  EXPECT_FALSE(plain->prepares());
}

TEST_F(Transact, a_table_that_changes_does_not_break_prepared_statements) {
  static constexpr Sql all{"all", "select * from millrace.t"};
  ASSERT_EQ(connection_->transact(all)->columns(), 2u);
  run("alter table millrace.t add column c int8");
  const auto rows = connection_->transact(all);
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(rows->columns(), 3u);
  EXPECT_TRUE(connection_->prepares());
}

TEST_F(Transact, settings_hold_for_the_transaction_and_no_longer) {
  static constexpr Sql settings{
      "settings",
      "select concat_ws(' ', current_setting('synchronous_commit'), "
      "current_setting('statement_timeout'), current_setting('lock_timeout'), "
      "current_setting('transaction_isolation'), current_setting('transaction_read_only'))"};
  const auto asked = [&](const TransactOptions& options) {
    return connection_->transact(settings, {}, options)->get<std::string>(0, 0);
  };
  EXPECT_EQ(asked({.statement_timeout = 1500ms,
                   .lock_timeout = 20ms,
                   .durable = false,
                   .snapshot = true,
                   .read_only = true}),
            "off 1500ms 20ms repeatable read on");
  EXPECT_EQ(asked({}), "on 0 0 read committed off");
  connection_ = connect({.statement_timeout = 7000ms});
  EXPECT_EQ(asked({.read_only = true}), "on 7s 0 read committed on");
  EXPECT_EQ(asked({.statement_timeout = 1s, .snapshot = true}), "on 1s 0 repeatable read off");
}

TEST_F(Transact, ten_thousand_rows_go_and_come_in_one_round_trip_each_way) {
  static constexpr Sql add_many{
      "add_many",
      "insert into millrace.t select * from unnest($1::int8[], $2::bytea[]) "
      "returning a, b"};
  const std::string payload(2000, '\xAB');
  Array<std::int64_t> numbers;
  Array<Bytes> payloads;
  for (int i = 0; i < 10'000; ++i) {
    numbers.push(i);
    payloads.push(Bytes{payload});
  }
  Params params;
  params.add(numbers);
  params.add(payloads);
  static constexpr Sql clear{"clear", "delete from millrace.t"};
  // 20 MB each way in each statement, far more than any socket's buffers hold.
  const std::array statements{Statement{&add_many, &params}, Statement{&clear},
                              Statement{&add_many, &params}};
  const auto rows = connection_->transact(statements);
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ((*rows)[1].affected(), 10'000u);
  ASSERT_EQ((*rows)[2].size(), 10'000u);
  EXPECT_EQ((*rows)[2].get<std::int64_t>(9'999, 0), 9'999);
  EXPECT_EQ((*rows)[2].get<std::string_view>(9'999, 1), payload);
}

TEST_F(Transact, ten_thousand_statements_with_answers_are_no_deadlock) {
  static constexpr Sql echo{"echo", "select $1::bytea"};
  Params params;
  params.add_bytes(std::string(4000, 'y'));
  const std::vector<Statement> statements(10'000, Statement{&echo, &params});
  const auto rows = connection_->transact(statements);
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->size(), 10'000u);
  EXPECT_EQ(rows->back().get<std::string_view>(0, 0).size(), 4000u);
}

TEST_F(Transact, several_round_trips_are_one_transaction) {
  const auto other = connect();
  connection_->begin();
  EXPECT_TRUE(connection_->send(insert, row(1)));
  EXPECT_EQ(connection_->send(count)->get<std::int64_t>(0, 0), 1);
  EXPECT_EQ(other->transact(count)->get<std::int64_t>(0, 0), 0);
  const Params two = row(2);
  const Statement last{&insert, &two};
  EXPECT_TRUE(connection_->commit(std::span(&last, 1)));
  EXPECT_FALSE(connection_->in_transaction());
  EXPECT_EQ(other->transact(count)->get<std::int64_t>(0, 0), 2);
}

TEST_F(Transact, rolled_back_or_begun_anew_nothing_was_done) {
  connection_->begin();
  EXPECT_TRUE(connection_->send(insert, row(1)));
  connection_->rollback();
  EXPECT_EQ(rows_there(), 0);
  connection_->begin();
  EXPECT_TRUE(connection_->send(insert, row(1)));
  connection_->begin();
  EXPECT_TRUE(connection_->commit());
  EXPECT_EQ(rows_there(), 0);
}

TEST_F(Transact, a_failed_transaction_stays_failed_until_the_next) {
  Params zero;
  zero.add(std::int32_t{0});
  connection_->begin();
  EXPECT_TRUE(connection_->send(insert, row(1)));
  EXPECT_EQ(connection_->send(divide, zero).error().state, "22012");
  EXPECT_EQ(connection_->send(insert, row(2)).error().state, "22012");
  EXPECT_EQ(connection_->commit().error().state, "22012");
  connection_->begin();
  EXPECT_TRUE(connection_->send(insert, row(3)));
  EXPECT_TRUE(connection_->commit());
  EXPECT_EQ(rows_there(), 1);
  EXPECT_FALSE(connection_->send(insert, row(4))) << "there is no transaction";
}

TEST_F(Transact, scripts_are_whole_or_nothing_alone_and_in_a_transaction) {
  const auto failed = connection_->run_script("insert into millrace.t values (1); select 1/0;");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().state, "22012");
  EXPECT_EQ(rows_there(), 0);

  connection_->begin();
  EXPECT_TRUE(
      connection_->run_script("insert into millrace.t values (1);"
                              "insert into millrace.t values (2)"));
  EXPECT_TRUE(connection_->send(insert, row(3)));
  EXPECT_FALSE(connection_->run_script("this is no SQL"));
  EXPECT_FALSE(connection_->commit());
  EXPECT_EQ(rows_there(), 0);

  connection_->begin();
  EXPECT_TRUE(connection_->run_script("insert into millrace.t values (1)"));
  EXPECT_TRUE(connection_->commit());
  EXPECT_EQ(rows_there(), 1);
}

TEST_F(Transact, embedded_sql_is_in_the_schema_of_the_connection) {
  connection_ = connect({.schema = "other_schema"});
  run("drop schema if exists other_schema cascade");
  EXPECT_EQ(test_sql::m0001_numbers.name, "0001_numbers");
  EXPECT_THAT(std::string(test_sql::add_number.text), testing::StartsWith("insert"));
  run(test_sql::m0001_numbers.text);
  Params params;
  params.add(std::int64_t{42});
  const auto rows = connection_->transact(test_sql::add_number, params);
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(rows->get<std::string>(0, 1), "\\n;");
  EXPECT_EQ(shared_postgres().run_sql("select value from other_schema.numbers"), "42\n");
  EXPECT_EQ(std::size(test_sql::all), 2u);
}

TEST_F(Transact, serialization_failures_and_deadlocks_may_be_repeated) {
  const auto other = connect();
  static constexpr Sql update{"update", "update millrace.t set b = 'z' where a = 1"};
  ASSERT_TRUE(connection_->transact(insert, row(1)));
  connection_->begin({.snapshot = true});
  ASSERT_TRUE(connection_->send(count));
  ASSERT_TRUE(other->transact(update));
  const auto rows = connection_->send(update);
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().state, "40001");
  EXPECT_TRUE(may_repeat(rows.error()));
}

TEST_F(Transact, warnings_are_told) {
  std::vector<Notice> told;
  connection_ = connect({.notice = [&](const Notice& notice) { told.push_back(notice); }});
  run("do $$ begin raise warning 'careful, %', 'please'; end $$");
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].severity, "WARNING");
  EXPECT_EQ(told[0].message, "careful, please");
}

}  // namespace
}  // namespace millrace::postgres
