// What millrace.put() refuses, and which roles may call it. A refused call changes nothing
// (refused()).
#include <fmt/format.h>

#include "core/uuid.h"
#include "store/store.h"
#include "tests/support/sql_session.h"

namespace millrace::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class SqlPutRefusals : public SqlSession {};

// S0-009, C-05
TEST_F(SqlPutRefusals, values_outside_of_the_limits) {
  const std::vector<std::array<std::string, 3>> cases = {
      {"'q', NULL", "22004", "payload is null"},
      {"NULL, 'x'", "22004", "queue is null"},
      {"'q', priority => NULL", "22004", "priority is null"},
      {"'q', priority => 10", "22023", "priority is 10; allowed are 0 to 9"},
      {"'q', priority => -1", "22023", "priority is -1"},
      {"'q', repeat('x', 1048577)", "54000", "payload has 1048577 bytes; at most 1048576"},
      {"'q', type => 'a b'", "22023", "task type \"a b\" cannot be used; allowed are A-Z"},
      {"'q', type => '$own'", "22023", "task type \"$own\""},
      {"'q', type => repeat('x', 101)", "22023", "1 to 100"},
      {"'q', delay => '-1 s'", "22023", "delay is -00:00:01; allowed are 0 to 10 years"},
      {"'q', delay => '11 years'", "22023", "delay is 11 years"},
      {"'q', start => '9999-01-01'", "22023", "allowed is at most 10 years ahead"},
      {"'q', start => 'infinity'", "22023", "start is infinity"},
      {"'q', start => now(), delay => '1 s'", "22023", "both start and delay are given"},
      {"'q', start_by => '9999-01-01'", "22023", "start_by is 9999"},
      {"'q', start_by => '-infinity'", "22023", "start_by is -infinity"},
      {"'q', delay => '1 hour', start_by => now()", "22023", "before the start at"},
      {"'q', timeout => '0'", "22023", "timeout is 00:00:00; allowed are 1 ms to 10 years"},
      {"'q', keep_for => '-1 s'", "22023", "keep_for is -00:00:01"},
      {"'q', max_retries => -1", "22023", "max_retries is -1; allowed are 0 and up"},
      {"'q', client_id => repeat('x', 256)", "54000", "client id has 256 bytes; at most 255"},
      {"'q', client_id => E'a\\nb'", "22023", "client id has a control character"},
      {"'q', request_id => E'\\x7f'", "22023", "request id has a control character"},
      {"'q', content_type => repeat('x', 256)", "54000", "content type has 256 bytes"},
      {"'q', \"group\" => repeat('é', 128)", "54000", "group has 256 bytes"},
      {"'q', tags => array[array['a']]", "22023", "list of lists"},
      {"'q', tags => array['']", "22023", "a tag is empty"},
      {"'q', tags => array[null]::text[]", "22023", "a tag is empty"},
      {"'q', tags => array[repeat('x', 101)]", "54000", "tag has 101 bytes; at most 100"},
      {"'q', tags => array(select 't' || i from generate_series(1, 17) i)", "54000", "17 tags"},
      {"'q', metadata => '[]'", "22023", "metadata is a JSON array"},
      {"'q', metadata => jsonb_build_object('a', repeat('x', 16384))", "54000",
       "metadata has 16393 bytes; at most 16384 are allowed"},
      {"'q', metadata => to_jsonb(repeat('x', 16384))", "54000", "metadata has 16386 bytes"},
      {"'q', unique_key => ''", "22023", "unique key \"\" is empty"},
      {"'q', unique_key => '$own'", "22023", "begins with $"},
      {"'q', unique_key => repeat('x', 256)", "54000", "unique key has 256 bytes"},
      {"'q', unique_key => 'k', unique_scope => 'ever'", "22023", "unique_scope is \"ever\""},
      {"'q', unique_key => 'k', unique_scope => 'window'", "22023", "belong together"},
      {"'q', unique_key => 'k', unique_window => '-1 s'", "22023", "unique window is -00:00:01"},
      {"'q', unique_scope => 'window'", "22023", "without a unique_key"},
      {"'q', id => '00000000-0000-0000-0000-000000000000'", "22023", "task id is nil"},
      {"'a b', 'x'", "22023", "queue name \"a b\" cannot be used"},
      {"'none', 'x'", "42704", "there is no queue \"none\""},
      {"'12', 'x'", "42704", "there is no queue \"12\""},
      {"'01890a5d-ac96-774b-bcce-b302099a8057', 'x'", "42704", "there is no queue \"01890a5d"}};
  for (const auto& [arguments, state, message] : cases) {
    EXPECT_THAT(refused("select millrace.put(" + arguments + ")"),
                AllOf(HasSubstr("ERROR:  " + state), HasSubstr(message)))
        << arguments;
  }
}

TEST_F(SqlPutRefusals, values_at_the_limits_are_good) {
  sql("select millrace.put('q', repeat('x', 1048576), type => repeat('x', 100), priority => 0);"
      "select millrace.put('q', priority => 9, delay => '3653 days', timeout => '1 ms');"
      "select millrace.put('q', client_id => repeat('x', 255), tags => array(select 't' || i from "
      "generate_series(1, 16) i), unique_key => repeat('x', 255), keep_for => '0')");
  EXPECT_EQ(counts("q").waiting(), 3U);
}

TEST_F(SqlPutRefusals, an_unknown_queue_with_how_to_make_it) {
  EXPECT_THAT(refused("select millrace.put('mails', 'x')"),
              HasSubstr("task_queues (name) values ('mails')"));
}

TEST_F(SqlPutRefusals, a_queue_of_the_servers_own_is_refused) {
  make_queue("$webhooks");
  EXPECT_THAT(refused("select millrace.put('$webhooks', 'x')"), HasSubstr("42704"));
}

// C-29
TEST_F(SqlPutRefusals, queues_that_take_no_tasks) {
  make_queue(queue("off", {.active = false}));
  make_queue(queue("drains", {.draining = true}));
  make_queue("goes");
  put(task("goes"));
  must(store().remove_queue("goes", true, now));
  EXPECT_THAT(
      refused("select millrace.put('off', 'x')"),
      AllOf(HasSubstr("55000: queue \"off\" is not active"), HasSubstr("is_active = true")));
  EXPECT_THAT(refused("select millrace.put('drains', 'x')"), HasSubstr("55000"));
  EXPECT_THAT(refused("select millrace.put('goes', 'x')"), HasSubstr("is being removed"));
}

TEST_F(SqlPutRefusals, a_paused_queue_takes_tasks) {
  make_queue(queue("rests", {.paused_until = never}));
  sql("select millrace.put('rests', 'x')");
  EXPECT_EQ(counts("rests").waiting(), 1U);
}

TEST_F(SqlPutRefusals, a_full_queue) {
  make_queue(queue("small", {.max_depth = 2}));
  const std::string first =
      sql("select millrace.put('small'); select millrace.put('small', unique_key => 'k')");
  EXPECT_THAT(refused("select millrace.put('small', 'x')"),
              HasSubstr("53400: queue \"small\" is full: 2 tasks wait, 2 are allowed"));
  // A task that exists already costs no depth.
  EXPECT_EQ(sql("select existing from millrace.put_task('small', unique_key => 'k')"), "t");
  catch_up();
  take("small", 1);
  sql("select millrace.put('small', 'x')");
  EXPECT_THAT(refused("select millrace.put('small'), millrace.put('small')"), HasSubstr("53400"));
}

TEST_F(SqlPutRefusals, a_queue_with_a_rate_is_for_servers) {
  make_queue(queue("slow", {.put_rate = Rate{.max = 5, .per = 1s}}));
  EXPECT_THAT(refused("select millrace.put('slow', 'x')"),
              AllOf(HasSubstr("53400: queue \"slow\" accepts 5 tasks in 1000 ms"),
                    HasSubstr("through a server")));
}

TEST_F(SqlPutRefusals, a_role_that_may_put_may_do_nothing_else) {
  sql("create role app login; select millrace.grant_put('app')");
  const std::string as_app = "set role app; ";
  sql(as_app +
      "select millrace.put('q', '{}'); select * from millrace.put_task('q', '{}'::jsonb, "
      "unique_key => 'k'); select millrace.put('q', '\\x00'::bytea)");
  EXPECT_EQ(counts("q").of(TaskState::queued), 3U);
  for (const std::string table : {"queues", "settings", "rates", "tasks", "finished", "finished_0",
                                  "holders", "count_changes", "counts", "schedules", "memos",
                                  "migrations", "task_queues", "queue_tasks", "live_rows"}) {
    for (const std::string verb : {"select * from millrace.", "delete from millrace."}) {
      EXPECT_THAT(refused(as_app + verb + table), HasSubstr("42501")) << verb << table;
    }
  }
  for (
      const std::string statement :
      {"insert into millrace.task_queues (name) values ('x')",
       "insert into millrace.queue_tasks (task_type) values ('x')",
       "update millrace.queue_tasks set priority = 9", "update millrace.settings set version = 0",
       "select nextval('millrace.task_numbers')", "select millrace.make_partition(1, current_date)",
       "select millrace.drop_partition(1, current_date)", "select millrace.open_queue('q')",
       "select millrace.new_queue_version()", "select millrace.grant_put('app')",
       "create table millrace.x ()",
       "select * from millrace.put_bytes('q', '', '', 5, null, null, null, null, null, null, null, "
       "null, null, null, null, null, null, null, null, false, null, false, null)"}) {
    EXPECT_THAT(refused(as_app + statement), HasSubstr("42501")) << statement;
  }
  // The function does not use objects that the caller plants in a schema that is searched first.
  sql("create schema trap authorization app");
  sql(as_app +
      "create function trap.length(bytea) returns integer language sql as 'select 1 / 0';"
      "create function trap.clock_timestamp() returns timestamptz language sql as "
      "'select now() where 1 / 0 = 1'; create temp table tasks (x integer); "
      "set search_path = trap, pg_temp, pg_catalog; select millrace.put('q', '{}')");
  sql("drop schema trap cascade");
  sql("select millrace.revoke_put('app')");
  EXPECT_THAT(refused(as_app + "select millrace.put('q', '{}')"), HasSubstr("42501"));
  sql("drop role app");
}

TEST_F(SqlPutRefusals, a_role_may_not_put_before_it_is_granted) {
  sql("create role stranger; grant usage on schema millrace to stranger");
  EXPECT_THAT(refused("set role stranger; select millrace.put('q', '{}')"), HasSubstr("42501"));
  sql("drop owned by stranger; drop role stranger");
}

}  // namespace
}  // namespace millrace::test
