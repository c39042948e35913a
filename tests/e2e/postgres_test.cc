// The real program on a real PostgreSQL, as people run it: one server and several, through a
// pooler, over TLS; its tables, and what it says.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <millrace/app.h>

#include <atomic>
#include <chrono>
#include <fstream>

#include "tests/e2e/program.h"
#include "tests/e2e/server.h"
#include "tests/support/shared_postgres.h"

namespace millrace::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string upper = "tr a-z A-Z";

Asked put_request(const std::string& queue, const std::string& payload) {
  return {.method = "POST",
          .path = "/v1/queues/" + queue + "/tasks",
          .body = fmt::format(R"({{"payload":{}}})", payload)};
}

std::string put(const ServerProcess& server, const std::string& queue, const std::string& payload) {
  const Reply reply = server.ask(put_request(queue, payload));
  EXPECT_EQ(reply.status, 201U) << reply.body;
  return field(reply.body, "id");
}

std::string url_of(const ServerProcess& server) {
  return fmt::format("http://127.0.0.1:{}", server.port());
}

Ran work_until_empty(const ServerProcess& server, const std::string& queue) {
  return run_program({"work", "--server", url_of(server), "--until-empty", "-j", "2", queue, "--",
                      "sh", "-c", upper});
}

std::string state_of(const ServerProcess& server, const std::string& id) {
  return field(server.ask({.path = "/v1/tasks/" + id}).body, "state");
}

// A database of its own for each test.
class Postgres : public ::testing::Test {
 protected:
  Postgres() {
    static int made = 0;
    database_ = fmt::format("e2e_{}", ++made);
    shared_postgres().run_sql("create database " + database_);
  }
  std::string store(const std::string& options = {}) const {
    return shared_postgres().url(database_) + options;
  }
  std::string run_sql(const std::string& sql) const {
    return shared_postgres().run_sql(sql, database_);
  }
  // Put, worked, counted: what any server on any way to the database must do.
  static void serves(const std::string& store) {
    ServerProcess server({"--store", store});
    ASSERT_TRUE(server.ready()) << server.said();
    std::vector<std::string> ids;
    for (int i = 0; i < 20; ++i) ids.push_back(put(server, "words", R"({"word":"mill"})"));
    const Ran ran = work_until_empty(server, "words");
    EXPECT_EQ(ran.exit, 0) << ran.err;
    for (const std::string& id : ids) {
      EXPECT_THAT(
          server.ask({.path = "/v1/tasks/" + id}).body,
          AllOf(HasSubstr(R"("state":"completed")"), HasSubstr(R"("result":{"WORD":"MILL"})")));
    }
    server.signal(SIGTERM);
    EXPECT_EQ(server.exit(), 0) << server.said();
  }

  TemporaryDirectory directory_;
  std::string database_;
};

// ---- Serving -----------------------------------------------------------------------------------

TEST_F(Postgres, tasks_are_put_worked_counted_and_exported) {
  ASSERT_NO_FATAL_FAILURE(serves(store()));
  const std::string file = directory_ / "backup.jsonl";
  const Ran exported = run_program({"export", store(), "--output", file});
  EXPECT_EQ(exported.exit, 0) << exported.err;
  EXPECT_THAT(exported.err, HasSubstr("20 tasks to " + file));
  // Into a journal, and from there into another schema of the database.
  EXPECT_EQ(run_program({"import", file, "--into", directory_ / "data"}).exit, 0);
  const Ran again = run_program({"export", directory_ / "data"});
  write_file(directory_ / "again", again.out);
  const std::string other = store("?schema=other");
  const Ran imported = run_program({"import", directory_ / "again", "--into", other});
  EXPECT_EQ(imported.exit, 0) << imported.err;
  EXPECT_THAT(imported.err, HasSubstr("20 tasks"));
  EXPECT_EQ(run_sql("select count(*) from other.finished"), "20\n");
  const Ran verified = run_program({"verify", other});
  EXPECT_EQ(verified.exit, 0) << verified.err;
  EXPECT_THAT(verified.out, HasSubstr("finished"));
  EXPECT_THAT(verified.err, HasSubstr("no damage found"));
  run_sql("delete from other.finished where number in (select min(number) from other.finished)");
  EXPECT_EQ(run_program({"verify", other}).exit, 3);
}

// Takes the task of a queue and fails it, so that its retry is due after 100 ms.
void fail_once(const ServerProcess& server, const std::string& queue) {
  const Reply taken = server.ask({.method = "POST",
                                  .path = "/v1/take",
                                  .body = fmt::format(R"({{"worker":"w","queue":"{}"}})", queue)});
  const Reply settled =
      server.ask({.method = "POST",
                  .path = fmt::format("/v1/tasks/{}/settle", field(taken.body, "id")),
                  .body = fmt::format(R"({{"token":"{}","outcome":"retry","delay_ms":100,
                                           "error":{{"message":"m"}}}})",
                                      field(taken.body, "token"))});
  EXPECT_EQ(settled.status, 200U) << settled.body;
}

// What a worker gets that waits so long for a task.
Reply taken_within(const ServerProcess& server, const std::string& queue, int ms) {
  return server.ask(
      {.method = "POST",
       .path = "/v1/take",
       .body = fmt::format(R"({{"worker":"w","queue":"{}","wait_ms":{}}})", queue, ms)});
}

// S0-033, S0-141, C-22: one process keeps the time for all, and does nothing else.
TEST_F(Postgres, a_scheduler_does_the_upkeep_and_api_servers_none) {
  ServerProcess api({"--store", store(), "--role", "api"});
  ASSERT_TRUE(api.ready()) << api.said();
  EXPECT_TRUE(api.says("no upkeep here")) << api.said();
  const std::string retried = put(api, "words", "1");
  fail_once(api, "words");
  EXPECT_EQ(api.ask({.method = "POST",
                     .path = "/v1/schedules",
                     .body = R"({"name":"often","rule":{"every_ms":1000},
                                 "task":{"queue":"ticks"}})"})
                .status,
            201U);
  EXPECT_THAT(taken_within(api, "ticks", 2500).body, HasSubstr(R"("tasks":[])")) << "no tick fires";
  EXPECT_EQ(state_of(api, retried), "retrying") << "due, but no scheduler moves it";

  ServerProcess scheduler({"--store", store(), "--role", "scheduler"});
  ASSERT_TRUE(scheduler.ready()) << scheduler.said();
  EXPECT_THAT(taken_within(api, "ticks", 30'000).body, HasSubstr(R"("queue":"ticks")"));
  for (int i = 0; i < 100 && state_of(api, retried) != "queued"; ++i) {
    taken_within(api, "nothing", 100);
  }
  EXPECT_EQ(state_of(api, retried), "queued") << scheduler.said();

  EXPECT_EQ(scheduler.ask({.path = "/health"}).status, 200U);
  EXPECT_EQ(scheduler.ask({.path = "/ready"}).status, 200U);
  EXPECT_THAT(scheduler.ask({.path = "/metrics"}).body, HasSubstr("millrace_"));
  EXPECT_EQ(scheduler.ask({.path = "/v1/tasks/" + retried}).status, 404U);
  EXPECT_EQ(scheduler.ask(put_request("words", "2")).status, 404U);
  scheduler.signal(SIGTERM);
  EXPECT_EQ(scheduler.exit(), 0) << scheduler.said();
}

// S0-007, S4-002, S4-048, S4-050
TEST_F(Postgres, servers_on_one_database_have_the_same_queues_and_tasks) {
  ServerProcess one({"--store", store()});
  ASSERT_TRUE(one.ready()) << one.said();
  ServerProcess two({"--store", store()});
  ASSERT_TRUE(two.ready()) << two.said();
  EXPECT_EQ(one.ask({.method = "PUT",
                     .path = "/v1/queues/words",
                     .body = R"({"description":"made at one","max_concurrent":2})"})
                .status,
            200U);
  EXPECT_THAT(two.ask({.path = "/v1/queues/words"}).body, HasSubstr("made at one"));
  std::vector<std::string> ids;
  for (int i = 0; i < 10; ++i) {
    ids.push_back(put(i % 2 == 0 ? one : two, "words", R"({"word":"mill"})"));
  }
  const Ran ran = work_until_empty(two, "words");
  EXPECT_EQ(ran.exit, 0) << ran.err;
  for (const std::string& id : ids) {
    EXPECT_EQ(state_of(one, id), "completed");
    EXPECT_EQ(one.ask({.path = "/v1/tasks/" + id}).body, two.ask({.path = "/v1/tasks/" + id}).body);
  }
}

// Sessions are shared by two, so nothing may be left in one.
TEST_F(Postgres, works_through_a_pooler_that_shares_sessions) {
  const PgBouncer pooler(shared_postgres(), {{"default_pool_size", "2"}});
  ASSERT_NO_FATAL_FAILURE(serves(pooler.url(database_)));
  ASSERT_NO_FATAL_FAILURE(serves(pooler.url(database_) + "?prepare=off"));
  ServerProcess one({"--store", pooler.url(database_)});
  ASSERT_TRUE(one.ready()) << one.said();
  EXPECT_THAT(one.said(), HasSubstr("listen_url="));
  ServerProcess two({"--store", pooler.url(database_)});
  ASSERT_TRUE(two.ready()) << two.said();
  const std::string id = put(one, "words", R"({"word":"mill"})");
  EXPECT_EQ(work_until_empty(two, "words").exit, 0);
  EXPECT_EQ(state_of(one, id), "completed");
  std::string direct = store();
  for (const auto& [sign, code] : {std::pair<char, const char*>{':', "%3A"}, {'/', "%2F"}}) {
    for (auto at = direct.find(sign); at != direct.npos; at = direct.find(sign)) {
      direct.replace(at, 1, code);
    }
  }
  ServerProcess listening({"--store", pooler.url(database_) + "?listen_url=" + direct});
  ASSERT_TRUE(listening.ready()) << listening.said();
  EXPECT_THAT(listening.said(), Not(HasSubstr("pooler")));
}

TEST_F(Postgres, is_reached_over_tls_if_its_certificate_is_right) {
  static const ClusterTemplate cluster;
  const PostgresServer server({.settings = quick_settings(),
                               .authentication = {"hostnossl all all all reject"},
                               .tls = true,
                               .copy_of = &cluster});
  const std::string certificate = directory_ / "root.crt";
  std::ofstream(certificate) << std::ifstream(server.certificate()).rdbuf();
  const std::string checked = server.url() + "?sslmode=verify-full&sslrootcert=";
  ASSERT_NO_FATAL_FAILURE(serves(checked + certificate));
  // Another's certificate is no proof.
  run_command({"openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj",
               "/CN=127.0.0.1", "-keyout", directory_ / "other.key", "-out",
               directory_ / "other.crt"});
  ServerProcess refused({"--store", checked + (directory_ / "other.crt") + "&wait=0s"});
  EXPECT_EQ(refused.exit(), 1);
  EXPECT_THAT(refused.said(), HasSubstr("certificate verify failed"));
}

struct Word {
  std::string word;
};
MILLRACE_FIELDS(Word, word)

TEST_F(Postgres, commands_work_it_without_a_server) {
  std::string id;
  {
    ServerProcess server({"--store", store()});
    ASSERT_TRUE(server.ready()) << server.said();
    id = put(server, "words", R"({"word":"mill"})");
  }
  const Ran ran =
      run_program({"work", "--store", store(), "--until-empty", "words", "--", "sh", "-c", upper});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  ServerProcess server({"--store", store()});
  ASSERT_TRUE(server.ready()) << server.said();
  EXPECT_EQ(state_of(server, id), "completed");
  for (const auto& [wrong, told] :
       {std::pair<std::vector<std::string>, const char*>{
            {"--store", store(), "--server", "http://127.0.0.1:1"}, "give one"},
        {{"--store", directory_ / "data"}, "belongs to one process"},
        {{"--store", store("?migrate=maybe")}, "allowed are on and off"}}) {
    std::vector<std::string> words = wrong;
    words.insert(words.begin(), "work");
    words.insert(words.end(), {"words", "--", "true"});
    const Ran refused = run_program(words);
    EXPECT_EQ(refused.exit, 2) << refused.err;
    EXPECT_THAT(refused.err, HasSubstr(told));
  }
}

// S3-011
// Programs that embed Millrace, and a server, on the same database.
TEST_F(Postgres, programs_share_it_with_servers) {
  ServerProcess server({"--store", store()});
  ASSERT_TRUE(server.ready()) << server.said();
  App working(store(), {.log = [](const auto&) {}});
  std::atomic<int> seen = 0;
  working.handle<Word>("words", {.concurrency = 2}, [&](const Word&) { ++seen; });
  ASSERT_TRUE(working.start().has_value());
  App putting(store(), {.log = [](const auto&) {}});
  std::vector<TaskId> ids;
  for (int i = 0; i < 10; ++i) {
    const auto put = putting.client().put(new_task("words", R"({"word":"mill"})", {}));
    ASSERT_TRUE(put) << put.error().message;
    ids.push_back(put->id);
  }
  for (const TaskId& id : ids) {
    const auto task = putting.client().await(id, std::chrono::seconds(60));
    ASSERT_TRUE(task) << task.error().message;
    EXPECT_EQ(task->state, TaskState::completed);
    EXPECT_EQ(state_of(server, to_text(id)), "completed");
  }
  EXPECT_EQ(seen, 10);
  EXPECT_EQ(working.stop(), 0);
}

// ---- Its tables --------------------------------------------------------------------------------

// S4-047
TEST_F(Postgres, tables_are_made_by_a_command_of_their_own) {
  ServerProcess early({"--store", store("?migrate=off")});
  EXPECT_EQ(early.exit(), 1);
  EXPECT_THAT(early.said(),
              AllOf(HasSubstr("no tables of Millrace"), HasSubstr("millrace migrate --store")));
  const Ran planned = run_program({"migrate", "--store", store(), "--dry-run"});
  EXPECT_EQ(planned.exit, 0) << planned.err;
  EXPECT_THAT(planned.out, HasSubstr("0001_tables\n"));
  EXPECT_THAT(planned.err, HasSubstr("would be applied to schema millrace"));
  const Ran done = run_program({"migrate", "--store", store()});
  EXPECT_EQ(done.exit, 0) << done.err;
  EXPECT_EQ(done.out, planned.out);
  EXPECT_THAT(done.err, HasSubstr("applied "));
  const Ran again = run_program({"migrate", "--store", store()});
  EXPECT_EQ(again.exit, 0);
  EXPECT_EQ(again.err, "the tables in schema millrace are up to date\n");
  ASSERT_NO_FATAL_FAILURE(serves(store("?migrate=off")));
  run_sql(run_program({"migrate", "--store", store("?schema=jobs"), "--sql"}).out);
  ASSERT_NO_FATAL_FAILURE(serves(store("?schema=jobs&migrate=off")));
}

TEST_F(Postgres, a_migration_that_makes_no_sense_is_told) {
  EXPECT_EQ(run_program({"migrate", "--store", store(), "--sql", "--dry-run"}).exit, 2);
  const Ran journal = run_program({"migrate", "--store", directory_ / "data"});
  EXPECT_EQ(journal.exit, 2);
  EXPECT_THAT(journal.err, HasSubstr("has no tables"));
  const Ran wrong = run_program({"migrate", "--store", store("?schema=No")});
  EXPECT_EQ(wrong.exit, 1);
  EXPECT_THAT(wrong.err, HasSubstr("cannot be the name of a schema"));
  const Ran away = run_program({"migrate", "--store", "postgres://u:hunter2@127.0.0.1:1/d"});
  EXPECT_EQ(away.exit, 1);
  EXPECT_THAT(away.err, AllOf(HasSubstr("connect"), Not(HasSubstr("hunter2"))));
}

// ---- What it says ------------------------------------------------------------------------------

TEST_F(Postgres, passwords_work_and_are_never_shown) {
  static const ClusterTemplate cluster;
  const PostgresServer server({.settings = quick_settings(),
                               .authentication = {"host all ann 127.0.0.1/32 scram-sha-256"},
                               .copy_of = &cluster});
  server.run_sql("create role ann login password 'hunter2'; create database app owner ann");
  const std::string plain = fmt::format("postgres://ann@127.0.0.1:{}/app", server.port());
  const std::string with = fmt::format("postgres://ann:hunter2@127.0.0.1:{}/app", server.port());
  {
    ServerProcess served({"--store", with, "--log-level", "debug"});
    ASSERT_TRUE(served.ready()) << served.said();
    EXPECT_THAT(served.said(), HasSubstr("postgres://ann:***@127.0.0.1"));
    EXPECT_THAT(served.ask({.path = "/v1/server"}).body, Not(HasSubstr("hunter2")));
    EXPECT_THAT(served.said(), Not(HasSubstr("hunter2")));
  }
  ServerProcess by_variable({"--store", plain}, {{"PGPASSWORD", "hunter2"}});
  EXPECT_TRUE(by_variable.ready()) << by_variable.said();
  write_file(directory_ / "pgpass", fmt::format("127.0.0.1:{}:app:ann:hunter2\n", server.port()));
  run_command({"chmod", "600", directory_ / "pgpass"});
  ServerProcess by_file({"--store", plain}, {{"PGPASSFILE", directory_ / "pgpass"}});
  EXPECT_TRUE(by_file.ready()) << by_file.said();
  ServerProcess without({"--store", plain});
  EXPECT_EQ(without.exit(), 1);
  EXPECT_THAT(without.said(), HasSubstr("password"));
  const std::string open =
      fmt::format("postgres://ann:hunter2x@127.0.0.1:{}/app?password=hunter2x", server.port());
  ServerProcess wrong({"--store", open});
  EXPECT_EQ(wrong.exit(), 1);
  EXPECT_THAT(wrong.said(),
              AllOf(HasSubstr("password authentication failed"), Not(HasSubstr("hunter2"))));
  for (const char* form : {"--log-level=info", "--toml"}) {
    const Ran shown = run_program({"config", "--store", open, form});
    EXPECT_EQ(shown.exit, 0);
    EXPECT_THAT(shown.out + shown.err, AllOf(HasSubstr("ann:***@"), Not(HasSubstr("hunter2"))));
  }
}

TEST_F(Postgres, a_server_that_starts_first_waits_for_its_database) {
  static const ClusterTemplate cluster;
  PostgresServer database({.settings = quick_settings(), .copy_of = &cluster});
  const std::string url = database.url();
  database.stop();
  ServerProcess impatient({"--store", url + "?wait=0s"});
  EXPECT_EQ(impatient.exit(), 1);
  EXPECT_THAT(impatient.said(), HasSubstr("Connection refused"));
  ServerProcess server({"--store", url + "?wait=50s"});
  ASSERT_TRUE(server.says("waiting for it for 50s at most")) << server.said();
  database.start();
  ASSERT_TRUE(server.ready()) << server.said();
  put(server, "words", R"({"word":"mill"})");
}

TEST_F(Postgres, settings_that_break_the_promise_are_told_at_the_start) {
  static const ClusterTemplate cluster;
  const PostgresServer quick({.settings = quick_settings(), .copy_of = &cluster});
  quick.run_sql("alter database postgres set synchronous_commit = off");
  ServerProcess server({"--store", quick.url()});
  ASSERT_TRUE(server.ready()) << server.said();
  EXPECT_THAT(
      server.said(),
      AllOf(HasSubstr("synchronous_commit is off for role postgres"), HasSubstr("fsync is off"),
            HasSubstr("a crash of the machine may lose everything\" tasks=")));
}

}  // namespace
}  // namespace millrace::test
