// What tests of the SQL side share: a fresh store, and psql on its tables.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>

#include "core/values.h"
#include "postgres/connection.h"
#include "store/store.h"
#include "tests/support/driver.h"
#include "tests/support/postgres_stores.h"
#include "tests/support/shared_postgres.h"

namespace millrace::test {

// Drives the store at the time of the server, with one queue, "q".
class SqlSession : public ::testing::Test, protected StoreDriver {
 protected:
  SqlSession() : SqlSession(open_fresh_postgres()) {}

  // What psql prints: rows as lines, columns with | in between.
  static std::string sql(const std::string& text) {
    std::string printed = shared_postgres().run_sql(text);
    while (printed.ends_with('\n')) printed.pop_back();
    return printed;
  }

  // What psql prints before it gives up, SQLSTATE included; checks that nothing in the store
  // changed.
  std::string refused(const std::string& text) {
    const std::string before = dump(store(), now);
    std::string why;
    try {
      ADD_FAILURE() << text << "\nwas not refused: " << sql("\\set VERBOSITY verbose\n" + text);
    } catch (const std::runtime_error& error) {
      why = error.what();
    }
    const std::string after = dump(store(), now);
    EXPECT_TRUE(before == after) << text << "\nhas changed\n" << difference(before, after);
    EXPECT_EQ(miscounted(), "") << text;
    return why;
  }

  // Counters that differ from the tables: queue, state, priority and both numbers.
  static std::string miscounted() {
    return sql(R"(
      with kept as (
        select queue, state, priority, sum(n)::bigint as n
          from (select queue, state, priority, count as n from millrace.counts
                 union all
                select queue, state, priority, change from millrace.count_changes) c
         group by 1, 2, 3 having sum(n) <> 0),
      there as (
        select queue, state, priority, count(*) as n from millrace.tasks group by 1, 2, 3
         union all
        select queue, state, priority, count(*) from millrace.finished group by 1, 2, 3
         union all
        select queue, case when state in (6, 7) then 10 else 9 end, 0, count(*)
          from millrace.finished where keep_for is not null group by 1, 2)
      select queue, state, priority, kept.n, there.n
        from kept full join there using (queue, state, priority)
       where kept.n is distinct from there.n)");
  }

  // Afterwards, tasks that were put by the server's clock are due.
  void catch_up() { now = std::max(now, must(store().time()).value()); }

  // One more session, for a transaction that is left open.
  static std::unique_ptr<postgres::Connection> connect() {
    auto opened = postgres::Connection::open({.url = shared_postgres().url()});
    if (!opened) throw std::runtime_error(opened.error().message);
    return std::move(*opened);
  }

 private:
  explicit SqlSession(std::unique_ptr<Store> store)
      : StoreDriver(*store), owned_(std::move(store)) {
    now = must(this->store().time()).value();
    make_queue("q");
  }

  std::unique_ptr<Store> owned_;
};

}  // namespace millrace::test
