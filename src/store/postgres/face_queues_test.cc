// The view millrace.task_queues: S4's table of queues.
#include <thread>

#include "core/retry.h"
#include "core/retry_presets.h"
#include "core/uuid.h"
#include "store/store.h"
#include "tests/support/matchers.h"
#include "tests/support/sql_session.h"

namespace millrace::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class TaskQueues : public SqlSession {};

// S4-005...012, S4-047
TEST_F(TaskQueues, has_the_columns_of_the_plan) {
  EXPECT_EQ(
      sql("select string_agg(column_name || ' ' || data_type, ', ' order by ordinal_position) "
          "from information_schema.columns where table_schema = 'millrace' and "
          "table_name = 'task_queues' and ordinal_position <= 8"),
      "id uuid, name text, description text, max_concurrent integer, priority integer, "
      "is_active boolean, created_at timestamp with time zone, updated_at timestamp with time "
      "zone");
}

// C-17, S4-005...012
TEST_F(TaskQueues, an_insert_makes_a_queue_with_the_plans_defaults) {
  const std::string id =
      sql("insert into millrace.task_queues (name) values ('plans') returning id");
  const Queue made = find_queue(must(uuid_from_text(id)));
  EXPECT_EQ(made.settings.name, "plans");
  EXPECT_EQ(made.settings.max_concurrent, 1U);
  EXPECT_EQ(made.settings.priority, 5);
  EXPECT_TRUE(made.settings.active);
  EXPECT_EQ(made.settings.id.bytes[6] >> 4U, 7);
  // All else is as in a queue that a server makes, except for the retries, which the plan sets.
  QueueSettings expected{.name = "plans", .id = made.settings.id, .max_concurrent = 1};
  expected.retry = made.settings.retry;
  EXPECT_EQ(made.settings, expected);
  EXPECT_EQ(resolve(RetryPolicy{}, made.settings.retry, nullptr, nullptr),
            presets::postgres_manager);  // S4-046
  EXPECT_NEAR(static_cast<double>((made.created_at - now).count()), 0, 60'000);
  put(task("plans"));
  EXPECT_EQ(take("plans").size(), 1U);
}

TEST_F(TaskQueues, an_insert_takes_every_column_that_makes_sense) {
  const Uuid id = fresh_uuid();
  sql("insert into millrace.task_queues (id, name, description, max_concurrent, priority, "
      "is_active) "
      "values ('" +
      to_text(id) + "', 'all', 'what for', 0, 9, false)");
  const Queue made = find_queue("all");
  EXPECT_EQ(made.settings.id, id);
  EXPECT_EQ(made.settings.description, "what for");
  EXPECT_EQ(made.settings.max_concurrent, std::nullopt);
  EXPECT_EQ(made.settings.priority, 9);
  EXPECT_FALSE(made.settings.active);
  EXPECT_EQ(sql("select description, max_concurrent, priority, is_active from millrace.task_queues "
                "where name = 'all'"),
            "what for||9|f");
  make_queue(queue("wide", {.max_concurrent = unlimited}));
  EXPECT_EQ(sql("select max_concurrent from millrace.task_queues where name = 'wide'"),
            "2147483647");
  sql("update millrace.task_queues set priority = 1 where name = 'wide'");
  EXPECT_EQ(find_queue("wide").settings.max_concurrent, unlimited);
}

// The store learns of it at once; queues made by SQL and by servers do not collide.
TEST_F(TaskQueues, queues_of_both_sides_live_together) {
  sql("insert into millrace.task_queues (name) select 'sql' || i from generate_series(1, 5) i");
  make_queue("own");
  sql("delete from millrace.task_queues where name = 'sql2'");
  sql("insert into millrace.task_queues (name) values ('again')");
  make_queue("own2");
  for (const std::string name : {"q", "sql1", "sql3", "sql4", "sql5", "own", "again", "own2"}) {
    put(task(name, {.payload = name}));
  }
  for (const std::string name : {"q", "sql1", "sql3", "sql4", "sql5", "own", "again", "own2"}) {
    EXPECT_EQ(take_one(name).payload, name);
  }
  EXPECT_EQ(sql("select count(*), count(distinct queue) from millrace.queues"), "8|8");
}

TEST_F(TaskQueues, an_update_changes_the_queue_and_nothing_else_of_it) {
  const Queue before = make_queue(
      queue("busy", {.max_depth = 7, .retry = {.max_retries = 9}, .types = {{.type = "t"}}}));
  sql("update millrace.task_queues set description = 'new', priority = 2, max_concurrent = 3, "
      "is_active = false, updated_at = '2001-01-01' where name = 'busy'");
  Queue after = find_queue("busy");
  EXPECT_EQ(after.settings.description, "new");
  EXPECT_EQ(after.settings.priority, 2);
  EXPECT_EQ(after.settings.max_concurrent, 3U);
  EXPECT_FALSE(after.settings.active);
  EXPECT_GE(after.updated_at, now);
  QueueSettings rest = after.settings;
  rest.description = before.settings.description, rest.priority = before.settings.priority;
  rest.max_concurrent = std::nullopt, rest.active = true;
  EXPECT_EQ(rest, before.settings);
  EXPECT_EQ(try_put(task("busy")).error().code, ErrorCode::conflict);  // C-29
}

// A session that waits for another has read the row before.
TEST_F(TaskQueues, an_update_leaves_alone_what_another_one_changes_meanwhile) {
  make_queue(queue("busy", {.description = "old", .priority = 5}));
  auto other = connect();
  other->begin();
  ASSERT_TRUE(
      other->run_script("update millrace.task_queues set priority = 2, "
                        "description = 'new' where name = 'busy'"));
  std::thread waits(
      [&] { sql("update millrace.task_queues set is_active = false where name = 'busy'"); });
  const std::string waiting =
      "select count(*) from pg_stat_activity where datname = current_database() "
      "and wait_event_type = 'Lock'";
  while (sql(waiting) != "1") std::this_thread::yield();
  EXPECT_TRUE(other->commit());
  waits.join();
  const QueueSettings after = find_queue("busy").settings;
  EXPECT_EQ(after.priority, 2);
  EXPECT_EQ(after.description, "new");
  EXPECT_FALSE(after.active);
}

// The clock of the server that wrote it last may be ahead.
TEST_F(TaskQueues, a_server_that_decided_by_older_settings_notices_an_update) {
  QueueSettings settings = queue("busy");
  const Queue seen = must(store().put_queue(settings, PutQueue::replace, now + 24h * 36500));
  sql("update millrace.task_queues set priority = 2 where name = 'busy'");
  const Queue after = find_queue("busy");
  EXPECT_EQ(after.updated_at, seen.updated_at + 1ms);
  EXPECT_THAT(store().put_queue(settings, PutQueue::changed(seen), now),
              FailsWith(ErrorCode::conflict));
  EXPECT_THAT(store().put_queue(settings, PutQueue::changed(after), now), IsOk());
}

// S4-030
TEST_F(TaskQueues, a_delete_takes_the_tasks_with_it) {
  put(task("q"));
  EXPECT_EQ(sql("delete from millrace.task_queues where name = 'q' returning name"), "q");
  EXPECT_EQ(sql("select count(*) from millrace.task_queues"), "0");
  EXPECT_EQ(sql("select count(*) from millrace.queue_tasks"), "0");
  EXPECT_TRUE(find_queue("q").removing);
  EXPECT_THAT(refused("insert into millrace.task_queues (name) values ('q')"),
              HasSubstr("still being removed"));
  advance(), advance();
  EXPECT_FALSE(store().queues("q"));
  EXPECT_EQ(sql("select count(*) from millrace.tasks"), "0");
  EXPECT_EQ(miscounted(), "");
  sql("insert into millrace.task_queues (name) values ('q')");
  EXPECT_EQ(counts("q").total(), 0U);
}

TEST_F(TaskQueues, an_empty_queue_is_gone_at_once) {
  sql("delete from millrace.task_queues where name = 'q'");
  EXPECT_FALSE(store().queues("q"));
  EXPECT_EQ(sql("select count(*) from millrace.queues"), "0");
}

TEST_F(TaskQueues, a_queue_is_only_marked_while_a_session_puts_into_it) {
  auto other = connect();
  other->begin();
  ASSERT_TRUE(other->run_script("select millrace.put('q', 'x')"));
  sql("delete from millrace.task_queues where name = 'q'");
  EXPECT_TRUE(find_queue("q").removing);
  ASSERT_TRUE(other->commit());
  advance(), advance();
  EXPECT_FALSE(store().queues("q"));
  EXPECT_EQ(miscounted(), "");
}

TEST_F(TaskQueues, a_queue_that_is_rolled_back_never_existed) {
  const std::string before = dump(store(), now);
  sql("begin; insert into millrace.task_queues (name) values ('x'); update millrace.task_queues "
      "set "
      "priority = 1; delete from millrace.task_queues where name = 'q'; rollback");
  EXPECT_EQ(dump(store(), now), before);
}

// D-27, S4-006, S4-009
TEST_F(TaskQueues, refuses_what_makes_no_sense) {
  const std::vector<std::array<std::string, 3>> cases = {
      {"insert into X (name) values (null)", "23502", "name is null"},
      {"insert into X (description) values ('x')", "23502", "name is null"},
      {"insert into X (name) values ('q')", "23505", "queues_name_key"},
      {"insert into X (id, name) select id, 'other' from X", "23505", "queues_id_key"},
      {"insert into X (name) values ('a b')", "22023", "queue name \"a b\""},
      {"insert into X (name) values ('$x')", "22023", "queue name \"$x\""},
      {"insert into X (name) values ('12')", "22023", "taken for a number"},
      {"insert into X (name) values (millrace.uuid_v7())", "22023", "taken for a number, an id"},
      {"insert into X (name, priority) values ('x', 10)", "23514", "priority is 10"},
      {"insert into X (name, max_concurrent) values ('x', -1)", "23514", "max_concurrent is -1"},
      {"insert into X (name, description) values ('x', repeat('x', 1025))", "54000", "1025 bytes"},
      {"insert into X (name, max_depth) values ('x', 1)", "0A000", "millrace queues change"},
      {"update X set name = 'other'", "0A000", "stay as they are"},
      {"update X set id = millrace.uuid_v7()", "0A000", "stay as they are"},
      {"update X set created_at = now()", "0A000", "only description"},
      {"update X set paused_until = 'infinity'", "0A000", "millrace queues change"},
      {"update X set priority = 10", "23514", "priority is 10"},
      {"update X set priority = null", "23502", "is null"},
      {"update X set max_concurrent = -5", "23514", "max_concurrent is -5"}};
  for (const auto& [statement, state, message] : cases) {
    std::string text = statement;
    for (auto at = text.find(" X "); at != text.npos; at = text.find(" X ")) {
      text.replace(at, 3, " millrace.task_queues ");
    }
    if (text.ends_with(" X")) text.replace(text.size() - 1, 1, "millrace.task_queues");
    EXPECT_THAT(refused(text), AllOf(HasSubstr("ERROR:  " + state), HasSubstr(message))) << text;
  }
}

}  // namespace
}  // namespace millrace::test
