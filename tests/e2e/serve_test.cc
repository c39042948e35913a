// The server as people run it: started, spoken to over HTTP, stopped, started again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <filesystem>

#include "tests/e2e/program.h"
#include "tests/e2e/server.h"

namespace millrace::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Serve : public ::testing::Test {
 protected:
  std::vector<std::string> on_data(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"--store", directory_ / "data"});
    return more;
  }

  TemporaryDirectory directory_;
};

Asked put(std::string body = R"({"type":"t","payload":{"n":1}})") {
  return {.method = "POST", .path = "/v1/queues/mail/tasks", .body = std::move(body)};
}
Asked take(int wait_ms = 0) {
  return {.method = "POST",
          .path = "/v1/take",
          .body = R"({"worker":"w","queue":"mail","wait_ms":)" + std::to_string(wait_ms) + "}"};
}
Asked settle(const std::string& id, const std::string& token) {
  return {.method = "POST",
          .path = "/v1/tasks/" + id + "/settle",
          .body = R"({"token":")" + token + R"(","outcome":"done","result":{"ok":true}})"};
}

// S0-005
TEST_F(Serve, puts_takes_and_settles_and_keeps_tasks_and_leases_over_a_restart) {
  std::string id;
  std::string held;
  std::string token;
  {
    ServerProcess server(on_data());
    ASSERT_TRUE(server.ready()) << server.said();
    EXPECT_EQ(server.ask({.path = "/health"}).status, 200U);
    EXPECT_EQ(server.ask({.path = "/ready"}).body, R"({"status":"ok"})");
    const Reply first = server.ask(put());
    ASSERT_EQ(first.status, 201U) << first.body;
    id = field(first.body, "id");
    const Reply taken = server.ask(take());
    ASSERT_EQ(taken.status, 200U) << taken.body;
    EXPECT_EQ(field(taken.body, "id"), id);
    const Reply settled = server.ask(settle(id, field(taken.body, "token")));
    EXPECT_EQ(settled.status, 200U) << settled.body;
    server.ask(put());
    const Reply second = server.ask(take());
    held = field(second.body, "id");
    token = field(second.body, "token");
    server.signal(SIGTERM);
    EXPECT_EQ(server.exit(), 0) << server.said();
    EXPECT_THAT(server.said(), AllOf(HasSubstr("shutting down"), HasSubstr("stopped")));
  }
  ServerProcess server(on_data());
  ASSERT_TRUE(server.ready()) << server.said();
  EXPECT_THAT(server.said(), HasSubstr("tasks=2"));
  const Reply done = server.ask({.path = "/v1/tasks/" + id});
  EXPECT_EQ(field(done.body, "state"), "completed") << done.body;
  EXPECT_THAT(done.body, HasSubstr(R"("result":{"ok":true})"));
  EXPECT_EQ(field(server.ask(take()).body, "tasks"), "[]") << "the lease lives";
  EXPECT_EQ(server.ask(settle(held, token)).status, 200U);
}

// S2-026, S2-049: its next run is as safe as the task itself.
TEST_F(Serve, a_task_that_backs_off_outlives_a_crash) {
  std::string id;
  std::string before;
  {
    ServerProcess server(on_data());
    ASSERT_TRUE(server.ready()) << server.said();
    server.ask(put());
    const Reply taken = server.ask(take());
    id = field(taken.body, "id");
    const std::string token = field(taken.body, "token");
    EXPECT_EQ(
        server
            .ask({.method = "POST",
                  .path = "/v1/tasks/" + id + "/settle",
                  .body = R"({"token":")" + token +
                          R"(","outcome":"retry","delay_ms":3600000,"error":{"message":"m"}})"})
            .status,
        200U);
    before = server.ask({.path = "/v1/tasks/" + id}).body;
    EXPECT_EQ(field(before, "state"), "retrying");
    server.signal(SIGKILL);
    EXPECT_EQ(server.exit(), 128 + SIGKILL);
  }
  ServerProcess server(on_data());
  ASSERT_TRUE(server.ready()) << server.said();
  EXPECT_EQ(server.ask({.path = "/v1/tasks/" + id}).body, before);
}

// S3-063…066, C-23
TEST_F(Serve, a_signal_answers_who_waits_and_stops_at_once) {
  for (const int number : {SIGTERM, SIGINT}) {
    ServerProcess server(on_data());
    ASSERT_TRUE(server.ready()) << server.said();
    RawClient waiting = server.connect();
    ASSERT_TRUE(waiting.send(bytes_of(take(60'000))));
    // Answered after the long poll came in: on the same queue, so the take is parked by now.
    while (field(server.ask({.path = "/v1/workers"}).body, "name") != "w") {
    }
    server.signal(number);
    const Reply answer = waiting.reply();
    EXPECT_EQ(answer.status, 503U) << answer.body;
    EXPECT_THAT(answer.body, HasSubstr("stopping"));
    EXPECT_EQ(answer.headers.at("connection"), "close");
    waiting.close();
    EXPECT_EQ(server.exit(), 0) << server.said();
    EXPECT_THAT(server.said(), HasSubstr("INFO  stopped took_ms="));
  }
}

TEST_F(Serve, a_second_signal_does_not_wait) {
  ServerProcess server(on_data({"--shutdown-timeout", "0s"}));
  ASSERT_TRUE(server.ready()) << server.said();
  // Half a request: the server has a client to wait for, as long as it takes.
  RawClient slow = server.connect();
  const std::string request = bytes_of(put(std::string(100'000, ' ')));
  ASSERT_TRUE(slow.send(request.substr(0, request.size() - 10)));
  server.signal(SIGTERM);
  ASSERT_TRUE(server.says("shutting down"));
  server.signal(SIGINT);
  EXPECT_EQ(server.exit(), 128 + SIGINT) << server.said();
}

TEST_F(Serve, the_time_to_stop_is_limited_and_says_so) {
  ServerProcess server(
      on_data({"--shutdown-timeout", "300ms", "--shutdown-timeout-exit-code", "9"}));
  ASSERT_TRUE(server.ready()) << server.said();
  RawClient slow = server.connect();
  const std::string request = bytes_of(put(std::string(100'000, ' ')));
  ASSERT_TRUE(slow.send(request.substr(0, request.size() - 10)));
  ASSERT_EQ(server.ask({.path = "/health"}).status, 200U);
  server.signal(SIGTERM);
  EXPECT_EQ(server.exit(), 9) << server.said();
  EXPECT_THAT(server.said(), HasSubstr("some connections were closed"));
}

TEST_F(Serve, clients_that_finish_nothing_do_not_take_the_whole_time_to_stop) {
  ServerProcess server(on_data({"--shutdown-timeout-exit-code", "9"}));
  ASSERT_TRUE(server.ready()) << server.said();
  RawClient half = server.connect();
  const std::string request = bytes_of(put(std::string(100'000, ' ')));
  ASSERT_TRUE(half.send(request.substr(0, request.size() - 10)));
  RawClient lines = server.connect();
  ASSERT_TRUE(lines.send(
      "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
      "Transfer-Encoding: chunked\r\n\r\n"));
  ASSERT_EQ(server.ask({.path = "/health"}).status, 200U);
  server.signal(SIGTERM);
  EXPECT_EQ(lines.reply().status, 503U);
  EXPECT_EQ(half.reply().status, 408U);
  half.close();
  lines.close();
  EXPECT_EQ(server.exit(), 0) << server.said();
}

TEST_F(Serve, a_store_is_served_once) {
  ServerProcess first(on_data());
  ASSERT_TRUE(first.ready()) << first.said();
  ServerProcess second(on_data());
  EXPECT_EQ(second.exit(), 1);
  EXPECT_THAT(second.said(), AllOf(HasSubstr("error: "), HasSubstr("in use by another process"),
                                   HasSubstr("--store ./other")));
  const Ran exported = run_program({"export", directory_ / "data"});
  EXPECT_EQ(exported.exit, 1);
}

TEST_F(Serve, a_port_in_use_is_told_the_next_one) {
  ServerProcess first(on_data());
  ASSERT_TRUE(first.ready()) << first.said();
  const std::string port = std::to_string(first.port());
  ServerProcess second({"--no-listen", "--store", "memory:", "--listen", "127.0.0.1:" + port});
  EXPECT_EQ(second.exit(), 1);
  EXPECT_THAT(second.said(), AllOf(HasSubstr("error: cannot listen on 127.0.0.1 port " + port),
                                   HasSubstr("--listen 127.0.0.1:")));
}

// S1-049, S0-080, S0-079
TEST_F(Serve, memory_is_served_too_and_forgotten) {
  for (int life = 0; life < 2; ++life) {
    ServerProcess server({"--store", "memory:"});
    ASSERT_TRUE(server.ready()) << server.said();
    EXPECT_THAT(server.said(), AllOf(HasSubstr("tasks=0"), HasSubstr("everything is lost")));
    EXPECT_EQ(server.ask(put()).status, 201U);
    server.signal(SIGTERM);
    EXPECT_EQ(server.exit(), 0) << server.said();
  }
}

// S0-183, S0-185
TEST_F(Serve, a_snapshot_is_saved_when_it_stops) {
  const std::string store = "memory:?snapshot=" + (directory_ / "tasks");
  {
    ServerProcess server({"--store", store});
    ASSERT_TRUE(server.ready()) << server.said();
    EXPECT_EQ(server.ask(put()).status, 201U);
    server.signal(SIGTERM);
    EXPECT_EQ(server.exit(), 0) << server.said();
  }
  ServerProcess server({"--store", store});
  ASSERT_TRUE(server.ready()) << server.said();
  EXPECT_THAT(server.said(), HasSubstr("tasks=1"));
}

TEST_F(Serve, damage_is_its_own_exit_code) {
  {
    ServerProcess server(on_data());
    ASSERT_TRUE(server.ready()) << server.said();
    server.ask(put());
    server.signal(SIGTERM);
    EXPECT_EQ(server.exit(), 0);
  }
  for (const auto& entry : std::filesystem::directory_iterator(directory_ / "data")) {
    if (entry.path().filename() == "lock") continue;
    std::string bytes = read_file(entry.path().string());
    if (bytes.size() < 100) continue;
    bytes[10] = static_cast<char>(bytes[10] ^ 1);
    write_file(entry.path().string(), bytes);
  }
  ServerProcess server(on_data());
  EXPECT_EQ(server.exit(), 3) << server.said();
  EXPECT_THAT(server.said(), AllOf(HasSubstr("error: "), HasSubstr("millrace verify")));
}

TEST_F(Serve, a_failed_store_answers_unavailable_and_ends_the_server) {
  std::string id;
  {
    ServerProcess server(on_data());
    ASSERT_TRUE(server.ready()) << server.said();
    id = field(server.ask(put()).body, "id");
    RawClient waiting = server.connect();
    ASSERT_TRUE(
        waiting.send(bytes_of({.method = "POST",
                               .path = "/v1/take",
                               .body = R"({"worker":"w","queue":"other","wait_ms":60000})"})));
    while (field(server.ask({.path = "/v1/workers"}).body, "name") != "w") {
    }
    server.break_disk();
    const Reply refused = server.ask(put());
    EXPECT_EQ(refused.status, 503U) << refused.body;
    EXPECT_EQ(waiting.reply().status, 503U);
    EXPECT_EQ(server.exit(), 4) << server.said();
    EXPECT_THAT(server.said(), HasSubstr("ERROR the store has failed"));
  }
  ServerProcess server(on_data());
  ASSERT_TRUE(server.ready()) << server.said();
  EXPECT_EQ(server.ask({.path = "/v1/tasks/" + id}).status, 200U);
}

TEST_F(Serve, settings_come_from_file_environment_and_flags_in_this_order) {
  const std::string file = directory_ / "m.toml";
  write_file(file,
             "store = \"memory:\"\nlisten = \"127.0.0.1:1\"\n"
             "[log]\nlevel = \"error\"\nformat = \"json\"\n");
  ServerProcess server({"--config", file, "--log-format", "text"},
                       {{"MILLRACE_LOG_LEVEL", "info"}, {"MILLRACE_LOG_FORMAT", "json"}});
  ASSERT_TRUE(server.ready()) << server.said();
  EXPECT_THAT(server.said(), HasSubstr("store=memory:"));
  ServerProcess bad({"--config", file}, {{"MILLRACE_HTTP_THREADS", "many"}});
  EXPECT_EQ(bad.exit(), 2);
  EXPECT_THAT(bad.said(), HasSubstr("error: MILLRACE_HTTP_THREADS: http.threads is \"many\""));
}

TEST_F(Serve, lines_of_json_if_asked_for_and_nothing_else) {
  ServerProcess server({"--store", "memory:", "--log-format", "json"});
  ASSERT_TRUE(server.says("\"message\":\"ready\"")) << server.said();
  server.signal(SIGTERM);
  EXPECT_EQ(server.exit(), 0);
  for (std::size_t at = 0; at < server.said().size();) {
    const std::size_t end = server.said().find('\n', at);
    EXPECT_EQ(server.said()[at], '{');
    EXPECT_EQ(server.said()[end - 1], '}');
    at = end + 1;
  }
}

TEST_F(Serve, the_address_is_written_to_a_file) {
  const std::string file = directory_ / "address";
  ServerProcess server({"--store", "memory:", "--address-file", file});
  ASSERT_TRUE(server.ready()) << server.said();
  EXPECT_EQ(read_file(file), "127.0.0.1:" + std::to_string(server.port()) + "\n");
  ServerProcess nowhere({"--store", "memory:", "--address-file", "/nowhere/at/all"});
  EXPECT_EQ(nowhere.exit(), 1);
  EXPECT_THAT(nowhere.said(), HasSubstr("address_file"));
}

TEST_F(Serve, a_body_that_is_too_long_is_refused) {
  ServerProcess server({"--store", "memory:", "--http-max-body", "2KiB"});
  ASSERT_TRUE(server.ready()) << server.said();
  EXPECT_EQ(server.ask(put(std::string(3000, ' '))).status, 413U);
  EXPECT_EQ(server.ask(put()).status, 201U);
}

}  // namespace
}  // namespace millrace::test
