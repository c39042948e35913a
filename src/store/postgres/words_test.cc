// Rules that are also written in SQL, in migrations that are released and cannot change, compared
// with those of core.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/limits.h"
#include "core/transition.h"
#include "store/book/tally.h"
#include "store/postgres/sql.h"
#include "tests/support/matchers.h"
#include "tests/support/sql_session.h"

namespace millrace::test {
namespace {

using ::testing::HasSubstr;

class RulesInSql : public SqlSession {
 protected:
  // A put with `most` is accepted, one with one more is refused.
  void expect_limit(const std::string& argument, const std::string& unit, std::size_t most) {
    const auto put = [&](std::size_t size) {
      return "select millrace.put('q', " + fmt::format(fmt::runtime(argument), size) + ")";
    };
    EXPECT_NO_THROW(sql(put(most))) << argument << " of " << most << " " << unit;
    EXPECT_THAT(refused(put(most + 1)), HasSubstr("allowed")) << argument;
  }
};

TEST_F(RulesInSql, sizes_are_limited_as_in_core) {
  expect_limit("repeat('x', {})", "bytes", limits::max_payload);
  expect_limit("type => repeat('x', {})", "bytes", limits::max_name);
  expect_limit("client_id => repeat('x', {})", "bytes", limits::max_label);
  expect_limit("request_id => repeat('x', {})", "bytes", limits::max_label);
  expect_limit("\"group\" => repeat('x', {})", "bytes", limits::max_label);
  expect_limit("content_type => repeat('x', {})", "bytes", limits::max_label);
  expect_limit("unique_key => repeat('x', {})", "bytes", limits::max_unique_key);
  expect_limit("tags => array[repeat('x', {})]", "bytes", limits::max_tag);
  expect_limit("tags => array(select 't' || i from generate_series(1, {}) i)", "tags",
               limits::max_tags);
  expect_limit("priority => {}", "", limits::max_priority);
  // {"a": "..."} has nine bytes around the text.
  expect_limit("metadata => jsonb_build_object('a', repeat('x', {} - 9))", "bytes",
               limits::max_metadata);
}

TEST_F(RulesInSql, times_are_limited_as_in_core) {
  const auto most = static_cast<std::size_t>(limits::max_delay.count());
  expect_limit("delay => {} * interval '1 ms'", "ms", most);
  expect_limit("timeout => {} * interval '1 ms'", "ms", most);
  expect_limit("keep_for => {} * interval '1 ms'", "ms", most);
  expect_limit("unique_key => 'k', unique_window => {} * interval '1 ms'", "ms", most);
}

// The views have the columns that row.cc reads, in that order: so a select of all columns is read
// correctly.
TEST_F(RulesInSql, views_have_the_columns_of_a_row) {
  for (const std::string view : {"live_rows", "live_heads", "final_rows", "final_heads"}) {
    EXPECT_EQ(sql("select string_agg(attname, ', ' order by attnum) from pg_attribute "
                  "where attrelid = 'millrace." +
                  view + "'::regclass"),
              store_postgres::sql::RowColumns::names)
        << view;
  }
}

// Indexes and functions contain the numbers of states.
TEST_F(RulesInSql, states_are_numbered_as_in_core) {
  const auto of = [](bool (*wanted)(TaskState)) {
    std::string all;
    for (std::size_t i = 0; i < state_count; ++i) {
      if (wanted(static_cast<TaskState>(i))) all += (all.empty() ? "" : ", ") + std::to_string(i);
    }
    return all;
  };
  const auto index = [](const std::string& name) {
    return sql("select pg_get_indexdef('millrace." + name + "'::regclass)");
  };
  const auto ready = [](TaskState state) { return next_state(state, Event::take).has_value(); };
  const auto later = [](TaskState state) {
    return next_state(state, Event::become_due).has_value();
  };
  EXPECT_THAT(index("tasks_ready"), HasSubstr("ARRAY[" + of(ready) + "]"));
  EXPECT_THAT(index("tasks_later"), HasSubstr("ARRAY[" + of(later) + "]"));
  EXPECT_THAT(index("tasks_start_by"), HasSubstr("ARRAY[" + of(is_waiting) + "]"));
  EXPECT_THAT(index("tasks_leases"),
              HasSubstr(fmt::format("(state = {})", static_cast<int>(TaskState::processing))));
  EXPECT_THAT(index("finished_by_end"), HasSubstr("ARRAY[" + of(book::is_dead_letter) + "]"));
  std::string names;
  for (std::size_t i = 0; i < state_count; ++i) {
    names += fmt::format("{}'{}'", i == 0 ? "" : ", ", name_of(static_cast<TaskState>(i)));
  }
  const std::string put = sql(
      "select regexp_replace(prosrc, '\\s+', ' ', 'g') from pg_proc where proname = 'put_bytes'");
  EXPECT_THAT(put, HasSubstr("array[" + names + "]"));
}

}  // namespace
}  // namespace millrace::test
