// The view millrace.queue_tasks: S4's table of tasks.
#include <fmt/format.h>

#include <regex>

#include "core/uuid.h"
#include "tests/support/sql_session.h"

namespace millrace::test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

class QueueTasks : public SqlSession {
 protected:
  // Columns of one task.
  static std::string of(const TaskId& id, const std::string& columns) {
    return sql(fmt::format("select {} from millrace.queue_tasks where id = '{}'", columns,
                           to_text(id.value)));
  }
  static std::string where(const TaskId& id) {
    return fmt::format(" where id = '{}'", to_text(id.value));
  }
  std::string queue_id() { return to_text(find_queue("q").settings.id); }
  std::string insert(const std::string& columns, const std::string& values) {
    return fmt::format(
        "insert into millrace.queue_tasks (queue_id, task_type, task_data{}) values ('{}', "
        "'plan_execution', '{{\"n\": 1}}'{}) returning id",
        columns.empty() ? "" : ", " + columns, queue_id(), values.empty() ? "" : ", " + values);
  }
};

// S4-013...028, D-26, D-27
TEST_F(QueueTasks, has_the_columns_of_the_plan) {
  EXPECT_EQ(
      sql("select string_agg(column_name || ' ' || data_type, ', ' order by ordinal_position) "
          "from information_schema.columns where table_schema = 'millrace' and "
          "table_name = 'queue_tasks' and ordinal_position <= 17"),
      "id uuid, queue_id uuid, task_type text, task_data jsonb, priority integer, status text, "
      "retry_count integer, max_retries integer, next_retry_at timestamp with time zone, "
      "result_data jsonb, error_message text, assigned_worker text, started_at timestamp with time "
      "zone, completed_at timestamp with time zone, created_at timestamp with time zone, "
      "updated_at "
      "timestamp with time zone, lease_expires_at timestamp with time zone");
}

// S2-014, S4-018, S4-029, C-09: the mapping of part C.
TEST_F(QueueTasks, each_state_has_its_status) {
  const std::map<TaskState, std::string> expected = {
      {TaskState::created, "created|pending"},
      {TaskState::queued, "queued|pending"},
      {TaskState::delayed, "delayed|pending"},
      {TaskState::processing, "processing|processing"},
      {TaskState::retrying, "retrying|queued"},
      {TaskState::completed, "completed|completed"},
      {TaskState::failed, "failed|failed"},
      {TaskState::dead, "dead|failed"},
      {TaskState::cancelled, "cancelled|cancelled"},
  };
  const auto tasks = one_in_each_state("q");
  for (const auto& [state, id] : tasks) {
    EXPECT_EQ(of(id, "state, status"), expected.at(state));
    const bool retries = state == TaskState::retrying;
    const bool runs = state == TaskState::processing;
    const bool ended = std::ranges::find(final_states, state) != final_states.end();
    EXPECT_EQ(of(id, "next_retry_at is not null"), retries ? "t" : "f");  // S4-021
    EXPECT_EQ(of(id, "lease_expires_at is not null"), runs ? "t" : "f");  // D-26
    EXPECT_EQ(of(id, "completed_at is not null"), ended ? "t" : "f");     // S4-026
  }
  EXPECT_EQ(of(tasks.at(TaskState::retrying), "retry_count"),
            fmt::format("{}", find(tasks.at(TaskState::retrying)).counters.retries));
  EXPECT_EQ(sql("select string_agg(status || n, ' ' order by status) from (select status, count(*) "
                "n from millrace.queue_tasks where queue_id = '" +
                queue_id() + "' group by 1) t"),
            "cancelled1 completed1 failed2 pending3 processing1 queued1");
}

// "queued (after a retry, time reached)"
TEST_F(QueueTasks, a_task_that_came_back_is_queued) {
  const TaskId id = put(task("q")).id;
  EXPECT_EQ(of(id, "status"), "pending");
  Settlement again = retry_at(take_one("q"), now + 1s);
  again.counters = {.deliveries = 1, .attempts = 1, .retries = 1};
  settle(again);
  EXPECT_EQ(of(id, "status, retry_count, error_message, assigned_worker is null"),
            "queued|1|again|t");
  pass(2s);
  advance();
  EXPECT_EQ(of(id, "state, status, next_retry_at is null"), "queued|queued|t");
}

// S4-041, S4-024, S4-025, S4-027, S4-028
TEST_F(QueueTasks, shows_who_works_on_it_and_when) {
  const TaskId id = put(task("q", {.type = "t", .priority = 7})).id;
  const Lease lease =
      must(try_take({.worker = "w-1", .queues = {{.queue = "q", .most = 1}}})).at(0);
  EXPECT_EQ(of(id, "assigned_worker, task_type, priority, deliveries, lost_leases, queue_name"),
            "w-1|t|7|1|0|q");
  const auto ms = [](TimePoint moment) {
    return fmt::format("{}", moment.time_since_epoch().count());
  };
  EXPECT_EQ(
      of(id,
         "(extract(epoch from started_at) * 1000)::bigint, (extract(epoch from "
         "lease_expires_at) * 1000)::bigint, (extract(epoch from created_at) * 1000)::bigint"),
      ms(now) + "|" + ms(lease.until) + "|" + ms(now));
  pass(3s);
  settle(done(lease, R"({"ok": true})"));
  EXPECT_EQ(of(id,
               "assigned_worker, result_data ->> 'ok', (extract(epoch from completed_at) * "
               "1000)::bigint, (extract(epoch from updated_at) * 1000)::bigint"),
            "w-1|true|" + ms(now) + "|" + ms(now));
}

// S4-016, S4-022, C-19: whatever the bytes are, the row can be read.
TEST_F(QueueTasks, shows_data_as_json_and_other_bytes_as_a_string) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"b":1, "a":1.0,"a":2})", R"({"a": 2, "b": 1})"},
      {"[1, 2]", "[1, 2]"},
      {"1.0", "1.0"},
      {"", "null"},
      {"hello", "\"hello\""},
      {R"({"a":"\u0000"})", R"("{\"a\":\"\\u0000\"}")"},
      {"{\"a\":", R"("{\"a\":")"},
      {R"("\ud800")", R"("\"\\ud800\"")"},
      {std::string("a\0b", 3), R"({"$base64": "YQBi"})"},
      {"\xff\xfe", R"({"$base64": "//4="})"},
      {"1e999999", R"("1e999999")"},
      {std::string(100'000, '['), ""}};
  for (const auto& [bytes, shown] : cases) {
    const TaskId id = put(task("q", {.payload = bytes})).id;
    if (shown.empty()) {
      EXPECT_EQ(of(id, "jsonb_typeof(task_data)"), "string");
    } else {
      EXPECT_EQ(of(id, "task_data"), shown) << bytes;
    }
    settle(done(take_one("q"), bytes));
    if (!shown.empty()) {
      EXPECT_EQ(of(id, "result_data"), bytes.empty() ? "" : shown);
    }
    EXPECT_EQ(find(id).payload, bytes);
  }
}

// S4-023
TEST_F(QueueTasks, shows_any_error_as_text) {
  const std::vector<std::pair<TaskError, std::string>> cases = {
      {error("no route to host"), "no route to host"},
      {error("", "timeout"), "timeout"},
      {error("caf\xc3\xa9"), "caf\xc3\xa9"},
      {error("bad \xff byte"), "bad \\377 byte"},
      {error(std::string("nul \0 byte", 10)), "nul \\000 byte"}};
  for (const auto& [why, shown] : cases) {
    const TaskId id = put(task("q")).id;
    settle(failed(take_one("q"), why));
    EXPECT_EQ(of(id, "error_message"), shown);
  }
}

// S4-020, C-01: task, then type, then queue; null is the server's setting.
TEST_F(QueueTasks, max_retries_is_what_the_task_its_type_or_its_queue_says) {
  const RetryRules full{.backoff = Backoff::fixed,
                        .base = 1s,
                        .factor = 2.0,
                        .cap = 1h,
                        .jitter = Jitter::none,
                        .jitter_share = 0.5,
                        .cap_after_jitter = true,
                        .max_retries = 8,
                        .retryable = Retryable::listed};
  make_queue(
      queue("rules", {.retry = {.base = 5s, .max_retries = 4},
                      .types = {{.type = "first", .retry = full, .timeout = 1s, .max_lost = 2},
                                {.type = "second", .retry = {.max_retries = 6}},
                                {.type = "third", .retry = {.cap = 1h}},
                                {.type = "never", .retry = {.max_retries = 0}},
                                {.type = "ever", .retry = {.max_retries = unlimited}}}}));
  const std::vector<std::pair<NewTask, std::string>> cases = {
      {task("q"), ""},
      {task("q", {.retry = full}), "8"},
      {task("q", {.retry = RetryRules{.base = 1s}}), ""},
      {task("rules"), "4"},
      {task("rules", {.type = "first"}), "8"},
      {task("rules", {.type = "second"}), "6"},
      {task("rules", {.type = "third"}), "4"},
      {task("rules", {.type = "never"}), "0"},
      {task("rules", {.type = "ever"}), "2147483647"},
      {task("rules", {.type = "second", .retry = RetryRules{.max_retries = 1}}), "1"},
      {task("rules", {.type = "second", .timeout = 3s}), "6"},
      {task("rules", {.content_type = "text/plain",
                      .timeout = 1s,
                      .max_lost = 3,
                      .retry = RetryRules{.jitter = Jitter::additive, .max_retries = 300},
                      .callback = Callback{.url = "http://x"},
                      .request_id = "r",
                      .metadata = "{}",
                      .parent = fresh_id()}),
       "300"}};
  for (const auto& [given, shown] : cases) {
    const TaskId id = put(given).id;
    EXPECT_EQ(of(id, "max_retries"), shown);
  }
}

// S4-013, S4-017, S4-035
TEST_F(QueueTasks, an_insert_puts) {
  const std::string id = sql(insert("priority, max_retries", "8, 2"));
  const Task made = find(must(task_id_from_text(id)));
  EXPECT_EQ(made.id.value.bytes[6] >> 4U, 7);
  EXPECT_EQ(made.state, TaskState::queued);
  EXPECT_EQ(made.type, "plan_execution");
  EXPECT_EQ(made.payload, R"({"n": 1})");
  EXPECT_EQ(made.priority, 8);
  EXPECT_EQ(made.retry->max_retries, 2U);
  sql(insert("status", "'queued'"));
  sql(insert("next_retry_at, created_at, updated_at, retry_count",
             "now() + interval '1 hour', '2020-05-05', now(), 0"));
  EXPECT_EQ(counts("q").of(TaskState::queued), 2U);
  EXPECT_EQ(counts("q").of(TaskState::delayed), 1U);
  EXPECT_EQ(sql("select count(*) from millrace.queue_tasks where created_at = '2020-05-05'"), "1");
  const TaskId own = fresh_id();
  sql(insert("id", "'" + to_text(own.value) + "'"));
  EXPECT_TRUE(exists(own));
  catch_up();
  EXPECT_EQ(take("q").size(), 3U);
  EXPECT_EQ(miscounted(), "");
}

TEST_F(QueueTasks, an_update_changes_priority_and_start_of_waiting_tasks) {
  const TaskId id = put(task("q", {.priority = 3})).id;
  EXPECT_EQ(sql("update millrace.queue_tasks set priority = 9" + where(id) + " returning priority"),
            "9");
  Task changed = find(id);
  EXPECT_EQ(changed.priority, 9);
  EXPECT_EQ(changed.version.value, 2U);
  EXPECT_EQ(changed.start, now);
  EXPECT_EQ(counts("q").by[1][9], 1U);
  EXPECT_EQ(counts("q").by[1][3], 0U);
  sql("update millrace.queue_tasks set next_retry_at = now() + interval '1 hour'" + where(id));
  EXPECT_EQ(state_of(id), TaskState::delayed);
  sql("update millrace.queue_tasks set ready_at = '2001-01-01', updated_at = now()" + where(id));
  EXPECT_EQ(state_of(id), TaskState::queued);
  EXPECT_GE(find(id).start, now);
  // A held task stays held, a retrying one retrying.
  const TaskId held = put(task("q", {.held = true})).id;
  sql("update millrace.queue_tasks set ready_at = now() + interval '1 day'" + where(held));
  EXPECT_EQ(state_of(held), TaskState::created);
  EXPECT_EQ(miscounted(), "");
}

TEST_F(QueueTasks, a_delete_removes_waiting_and_ended_tasks) {
  auto tasks = one_in_each_state("q");
  const TaskId holder =
      put(task("q", {.start = now + 1h, .unique = UniqueKey{.key = "k"}, .keep_for = 1h})).id;
  for (const auto& [state, id] : tasks) {
    if (state == TaskState::processing) continue;
    EXPECT_EQ(sql("delete from millrace.queue_tasks" + where(id) + " returning 1"), "1");
    EXPECT_FALSE(exists(id));
  }
  sql("delete from millrace.queue_tasks" + where(holder));
  EXPECT_FALSE(put(task("q", {.unique = UniqueKey{.key = "k"}})).existing);
  // A task with a rule of its own is counted beside the states.
  const TaskId kept = put(task("q", {.priority = 9, .keep_for = 1h})).id;
  settle(done(take_one("q")));
  EXPECT_EQ(miscounted(), "");
  sql("delete from millrace.queue_tasks" + where(kept));
  EXPECT_EQ(counts("q").total(), 2U);
  EXPECT_EQ(miscounted(), "");
}

// S4-014, S4-017, S4-018, S4-029, D-27
TEST_F(QueueTasks, refuses_what_another_command_does) {
  const auto tasks = one_in_each_state("q");
  const std::string on = "update millrace.queue_tasks set ";
  const std::string queued = where(tasks.at(TaskState::queued));
  const std::string running = where(tasks.at(TaskState::processing));
  const std::string ended = where(tasks.at(TaskState::completed));
  const std::vector<std::array<std::string, 3>> cases = {
      {insert("status", "'processing'"), "0A000", "put(); \"millrace import\""},
      {insert("status", "'completed'"), "0A000", "millrace import"},
      {insert("status", "'new'"), "23514", "status is \"new\"; allowed are pending"},
      {insert("priority", "10"), "23514", "priority is 10; allowed are 0 to 9"},
      {insert("retry_count", "1"), "0A000", "a task begins pending"},
      {insert("result_data", "'{}'"), "0A000", "a task begins pending"},
      {insert("assigned_worker", "'w'"), "0A000", "a task begins pending"},
      {insert("started_at", "now()"), "0A000", "a task begins pending"},
      {insert("max_retries", "-1"), "22023", "max_retries is -1"},
      {insert("next_retry_at", "'9999-01-01'"), "22023", "10 years"},
      {insert("id", "'" + to_text(tasks.at(TaskState::dead).value) + "'"), "23505", "already"},
      {"insert into millrace.queue_tasks (task_type, task_data) values ('t', '{}')", "23502",
       "queue_id is null"},
      {"insert into millrace.queue_tasks (queue_id, task_data) values ('" + queue_id() + "', '{}')",
       "23502", "task_type is null"},
      {"insert into millrace.queue_tasks (queue_id, task_type) values ('" + queue_id() + "', 't')",
       "23502", "task_data is null"},
      {"insert into millrace.queue_tasks (queue_id, task_type, task_data) values "
       "(millrace.uuid_v7(), 't', '{}')",
       "23503", "there is no queue with id"},
      {on + "status = 'cancelled'" + queued, "0A000", "millrace task cancel"},
      {on + "status = 'new'" + queued, "23514", "status is \"new\""},
      {on + "priority = 11" + queued, "23514", "priority is 11"},
      {on + "priority = null" + queued, "23502", "is null"},
      {on + "task_data = '1'" + queued, "0A000", "only priority"},
      {on + "queue_id = millrace.uuid_v7()" + queued, "0A000", "millrace tasks move"},
      {on + "retry_count = 0, max_retries = 9" + queued, "0A000", "only priority"},
      {on + "ready_at = '9999-01-01'" + queued, "22023", "10 years"},
      {on + "priority = 9" + running, "55000", "only waiting tasks can"},
      {on + "priority = 9" + ended, "55000", "is completed and cannot be changed"},
      {"delete from millrace.queue_tasks" + running, "55006", "millrace task cancel"}};
  for (const auto& [statement, state, message] : cases) {
    EXPECT_THAT(refused(statement), AllOf(HasSubstr("ERROR:  " + state), HasSubstr(message)))
        << statement;
  }
}

// An update or delete of many tasks leaves out those that a worker takes meanwhile.
TEST_F(QueueTasks, tasks_that_are_taken_meanwhile_are_left_out) {
  put(task("q"));
  for (const std::string change :
       {"update millrace.queue_tasks set priority = 9", "delete from millrace.queue_tasks"}) {
    auto other = connect();
    other->begin({.lock_timeout = 5s});
    // The row is found waiting, and is taken before the trigger runs.
    ASSERT_TRUE(
        other->run_script("create function pg_temp.pause() returns boolean language plpgsql "
                          "as $$ begin update millrace.tasks set state = 3; return true; end $$"));
    const auto done = other->run_script(change + " where status = 'pending' and pg_temp.pause()");
    EXPECT_TRUE(done) << done.error().message;
    const auto left = other->run_script(
        "do $$ begin perform 1 / count(*) from millrace.tasks where state = 3 and priority = 5 and "
        "version = 1; end $$");
    EXPECT_TRUE(left) << "it was changed: " << left.error().message;
    other->rollback();
    EXPECT_EQ(counts("q").by[1][5], 1U);
  }
}

TEST_F(QueueTasks, rights_on_the_view_are_enough) {
  sql("create role planner; grant usage on schema millrace to planner; grant select, insert, "
      "update, "
      "delete on millrace.queue_tasks to planner; grant select on millrace.task_queues to planner");
  EXPECT_EQ(sql("set role planner; " + insert("", "") +
                "; update millrace.queue_tasks set priority = 6 where status = 'pending'; select "
                "status, task_data, max_retries from millrace.queue_tasks; delete from "
                "millrace.queue_tasks; select count(*) from millrace.queue_tasks")
                .substr(36),
            "\npending|{\"n\": 1}|\n0");
  EXPECT_THAT(refused("set role planner; select * from millrace.tasks"), HasSubstr("42501"));
  EXPECT_THAT(refused("set role planner; delete from millrace.task_queues"), HasSubstr("42501"));
  sql("drop owned by planner; drop role planner");
}

TEST_F(QueueTasks, those_of_millrace_itself_are_not_shown) {
  make_queue("$webhooks");
  const TaskId id = put(task("$webhooks")).id;
  EXPECT_EQ(of(id, "1"), "");
  EXPECT_EQ(sql("select name from millrace.task_queues"), "q");
  sql("delete from millrace.queue_tasks; delete from millrace.task_queues");
  EXPECT_TRUE(exists(id));
  EXPECT_FALSE(find_queue("$webhooks").removing);
}

// Tables that are empty may be read as a whole.
std::string without_empty(const std::string& plan) {
  const std::regex of_empty("Seq Scan on [^\n]*cost=0.00..0.00[^\n]*");
  return std::regex_replace(plan, of_empty, "");
}

const auto scans_it_all = AnyOf(HasSubstr("Seq Scan on tasks"), HasSubstr("Seq Scan on finished"));

// S4-033, S4-034: filters find their rows by an index, on 100,000 tasks that wait or run and as
// many that have ended.
TEST_F(QueueTasks, filters_use_indexes) {
  sql(R"(insert into millrace.task_queues (name) select 'q' || i from generate_series(1, 99) i;
    select millrace.make_partition(1, current_date);
    insert into millrace.tasks (id, queue, state, priority, start, created_at, updated_at, type,
                                payload, attempts, lease_until)
    select millrace.uuid_v7(), i % 100, (array[0, 1, 1, 1, 1, 2, 3, 4])[1 + (i / 100) % 8], 5,
           now() + i * interval '1 second', now(), now(), 't', '{}', (i / 800) % 2,
           now() + i * interval '1 second' from generate_series(1, 100000) i;
    insert into millrace.finished (number, id, queue, state, priority, start, created_at,
                                   updated_at, type, payload, finished_at, class)
    select i, millrace.uuid_v7(), i % 100, 5 + (i / 100) % 4, 5, now(), now(), now(), 't', '{}',
           now(), i % 2 from generate_series(1, 100000) i;
    analyze)");
  const auto plan = [&](const std::string& where) {
    return without_empty(sql("explain select * from millrace.queue_tasks where " + where));
  };
  const std::string in_queue = "queue_id = '" + queue_id() + "'";
  for (const std::string status : {"pending", "queued", "processing"}) {
    const std::string of_status = plan(in_queue + " and status = '" + status + "'");
    EXPECT_THAT(of_status, AllOf(HasSubstr("on tasks_by_state"), Not(scans_it_all),
                                 Not(HasSubstr("finished"))));
  }
  for (const std::string status : {"completed", "failed", "cancelled"}) {
    const std::string of_status = plan(in_queue + " and status = '" + status + "'");
    EXPECT_THAT(of_status, AllOf(HasSubstr("_queue_state_number_idx"), Not(scans_it_all),
                                 Not(HasSubstr("on tasks"))));
  }
  EXPECT_THAT(plan(in_queue), Not(scans_it_all));
  EXPECT_THAT(plan("queue_name = 'q7' and priority = 9"), Not(scans_it_all));
  EXPECT_THAT(plan("id = '01890a5d-ac96-774b-bcce-b302099a8057'"),
              AllOf(HasSubstr("tasks_id"), HasSubstr("_id_idx"), Not(scans_it_all)));
  EXPECT_THAT(
      plan("next_retry_at < now() + interval '1 minute'"),
      AllOf(HasSubstr("Index Cond: (start <"), Not(scans_it_all), Not(HasSubstr("finished"))));
  EXPECT_THAT(plan("lease_expires_at < now() + interval '1 minute'"),
              AllOf(HasSubstr("Index Cond: (lease_until <"), Not(scans_it_all),
                    Not(HasSubstr("finished"))));
}

// S4-031, S4-032, D-27: a status or a priority alone, where it picks few of 40,000 that wait or run
// and as many that have ended.
TEST_F(QueueTasks, a_status_or_a_priority_alone_uses_an_index) {
  sql(R"(insert into millrace.task_queues (name) select 'q' || i from generate_series(1, 99) i;
    select millrace.make_partition(1, current_date);
    insert into millrace.tasks (id, queue, state, priority, start, created_at, updated_at, type,
                                payload, attempts, lease_until)
    select millrace.uuid_v7(), i % 100, case i % 200 when 7 then 3 when 13 then 4 else 1 end,
           case i % 250 when 3 then 9 when 4 then 2 else 5 end, now() + i * interval '1 second',
           now(), now(), 't', '{}', case i % 300 when 5 then 1 else 0 end,
           now() + i * interval '1 second' from generate_series(1, 40000) i;
    insert into millrace.finished (number, id, queue, state, priority, start, created_at,
                                   updated_at, type, payload, finished_at, class)
    select i, millrace.uuid_v7(), i % 100, case i % 200 when 7 then 6 when 9 then 7 when 13 then 8
           else 5 end, case i % 250 when 3 then 9 when 4 then 2 else 5 end, now(), now(), now(),
           't', '{}', now(), i % 2 from generate_series(1, 40000) i;
    analyze)");
  const auto plan = [&](const std::string& where) {
    return without_empty(sql("explain select * from millrace.queue_tasks where " + where));
  };
  EXPECT_THAT(plan("status = 'processing'"), AllOf(HasSubstr("tasks_leases"), Not(scans_it_all)));
  EXPECT_THAT(plan("status = 'queued'"),
              AllOf(HasSubstr("tasks_returned"), HasSubstr("tasks_later"), Not(scans_it_all)));
  for (const char* status : {"failed", "cancelled"}) {
    EXPECT_THAT(plan(fmt::format("status = '{}'", status)),
                AllOf(HasSubstr("_state_number_idx"), Not(scans_it_all)));
  }
  for (const char* some : {"priority = 9", "priority >= 8", "priority < 3"}) {
    EXPECT_THAT(plan(some), AllOf(HasSubstr("tasks_by_priority"), HasSubstr("_priority_number_idx"),
                                  Not(scans_it_all)));
  }
  // The first by priority come in the order of the index.
  EXPECT_THAT(plan("priority > 5 order by priority desc limit 10"),
              AllOf(HasSubstr("tasks_by_priority"), Not(scans_it_all)));
  EXPECT_EQ(sql("select string_agg(distinct priority::text, ',') from (select priority from "
                "millrace.queue_tasks order by priority desc limit 320) first"),
            "9");
  // The index leaves out the usual priority, which most tasks have: all are read, and none is
  // missed.
  EXPECT_THAT(plan("priority = 5"), AllOf(Not(HasSubstr("by_priority")), scans_it_all));
  EXPECT_THAT(plan("true order by priority desc limit 10"), AllOf(HasSubstr("Sort"), scans_it_all));
  for (const std::string which : {"priority = 5", "priority >= 5", "priority <= 5"}) {
    EXPECT_EQ(sql("select count(*) from millrace.queue_tasks where " + which),
              sql("select count(*) filter (where " + which + ") from millrace.queue_tasks"));
  }
  // A status that most tasks have is found through the queues, once they are few.
  sql("update millrace.tasks set state = 3 where number % 400 <> 1; update millrace.finished set "
      "state = 6 where number % 400 <> 1; analyze");
  EXPECT_THAT(plan("status = 'pending'"), AllOf(HasSubstr("tasks_by_state"), Not(scans_it_all)));
  EXPECT_THAT(plan("status = 'completed'"),
              AllOf(HasSubstr("_queue_state_number_idx"), Not(scans_it_all)));
}

}  // namespace
}  // namespace millrace::test
