// Rules that are also written in SQL, in migrations that are released and cannot change, compared
// with those of core.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "core/limits.h"
#include "core/transition.h"
#include "store/book/tally.h"
#include "store/postgres/keeping.h"
#include "store/postgres/sql.h"
#include "tests/support/matchers.h"
#include "tests/support/sql_session.h"

namespace millrace::test {
namespace {

using ::testing::HasSubstr;

class RulesInSql : public SqlSession {
 protected:
  // Of a function, on one line.
  static std::string source_of(const std::string& function) {
    return sql("select regexp_replace(prosrc, '\\s+', ' ', 'g') from pg_proc where proname = '" +
               function + "'");
  }

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
  expect_limit("repeat('x', {})", "bytes", limits::usual_task_size);
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
// correctly. Those of live tasks go on with what only some statements look at.
TEST_F(RulesInSql, views_have_the_columns_of_a_row) {
  for (const std::string view : {"live_rows", "live_heads", "final_rows", "final_heads"}) {
    std::string wanted(store_postgres::sql::RowColumns::names);
    if (view.starts_with("live")) wanted += ", orphaned, children";
    EXPECT_EQ(sql("select string_agg(attname, ', ' order by attnum) from pg_attribute "
                  "where attrelid = 'millrace." +
                  view + "'::regclass"),
              wanted)
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
  EXPECT_THAT(source_of("check_room"), HasSubstr("c.state in (" + of(is_waiting) + ")"));
  EXPECT_THAT(source_of("drop_partition"),
              HasSubstr("f.state in (" + of(book::is_dead_letter) + ")"));
  const std::string completed = std::to_string(static_cast<int>(TaskState::completed));
  EXPECT_THAT(index("finished_by_status"), HasSubstr("(state <> " + completed + ")"));
  const std::string queued = std::to_string(static_cast<int>(TaskState::queued));
  EXPECT_THAT(index("tasks_returned"), HasSubstr("(state = " + queued + ")"));
  const std::string usual = std::to_string(int{default_priority});
  for (const std::string name : {"tasks_by_priority", "finished_by_priority"}) {
    EXPECT_THAT(index(name), HasSubstr("<> " + usual + ")"));
  }
}

TEST_F(RulesInSql, states_have_the_names_of_core) {
  const auto names = [](const std::string& type) {
    std::string all;
    for (std::size_t i = 0; i < state_count; ++i) {
      all += fmt::format("{}'{}'{}", i == 0 ? "" : ", ", name_of(static_cast<TaskState>(i)), type);
    }
    return all;
  };
  EXPECT_THAT(source_of("put_bytes"), HasSubstr("array[" + names("") + "]"));
  EXPECT_THAT(sql("select pg_get_viewdef('millrace.queue_tasks'::regclass)"),
              HasSubstr("ARRAY[" + names("::text") + "]"));
}

TEST_F(RulesInSql, finished_tasks_go_where_the_program_looks_for_them) {
  const auto bound = [](const std::string& table) {
    return sql("select pg_get_expr(relpartbound, oid) from pg_class where oid = 'millrace." +
               table + "'::regclass");
  };
  EXPECT_THAT(bound("finished_0"), HasSubstr(fmt::format("('{}')", store_postgres::row_by_row)));
  EXPECT_THAT(bound("finished_ever"), HasSubstr(fmt::format("('{}')", store_postgres::for_ever)));
  EXPECT_THAT(source_of("drop_partition"),
              HasSubstr(fmt::format("set class = {},", store_postgres::row_by_row)));
}

// A queue that is made with SQL is as one that is made with the defaults of core, but for what
// docs/postgres.md says.
TEST_F(RulesInSql, a_queue_made_with_sql_keeps_tasks_as_the_defaults_say) {
  sql("insert into millrace.task_queues (name) values ('made')");
  const QueueSettings made = find_queue("made").settings;
  const QueueSettings usual;
  EXPECT_EQ(made.keep_completed, usual.keep_completed);
  EXPECT_EQ(made.keep_dead, usual.keep_dead);
  EXPECT_EQ(sql("select completed_class, dead_class from millrace.queues where name = 'made'"),
            fmt::format("{}|{}", store_postgres::class_of(usual.keep_completed),
                        store_postgres::class_of(usual.keep_dead)));
  EXPECT_EQ(made.priority, usual.priority);
  EXPECT_EQ(made.lease, usual.lease);
  EXPECT_EQ(made.batch_size, usual.batch_size);
  EXPECT_THAT(source_of("insert_queue"),
              HasSubstr(fmt::format("place >= {}", limits::usual_queues)));
  EXPECT_THAT(refused("insert into millrace.task_queues (name, description) values ('long', repeat("
                      "'x', " +
                      std::to_string(limits::max_description + 1) + "))"),
              HasSubstr("description has"));
}

// Functions of released migrations take the locks that the program's own statements wait for.
TEST_F(RulesInSql, locks_have_the_numbers_of_the_statements) {
  const std::string lock = fmt::format(".'), {})", store_postgres::sql::words::removing_queues);
  EXPECT_THAT(source_of("hold_queues"), HasSubstr(lock));
  EXPECT_THAT(source_of("delete_queue"), HasSubstr(lock));
  using namespace store_postgres::sql::words;
  EXPECT_EQ((std::set<int>{-1, summing, migrating, removing_queues, pruning}.size()), 5U);
  EXPECT_THAT(source_of("make_partition"), HasSubstr(".'), -1)"));
}

}  // namespace
}  // namespace millrace::test
