// What the program shows to Prometheus: read by Prometheus itself, checked by its tools, and
// compared with docs/metrics.md and with the rules and the board of deploy/.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <regex>
#include <set>
#include <string>

#include "tests/e2e/program.h"
#include "tests/e2e/server.h"
#include "tests/support/temporary_directory.h"

namespace millrace::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Names = std::set<std::string>;
const std::string root = MILLRACE_ROOT;

std::uint16_t free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ::bind(socket, reinterpret_cast<sockaddr*>(&address), size);
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(socket);
  return ntohs(address.sin_port);
}

// A server that has had a little of everything happen to it, and where its metrics are.
class Watched {
 public:
  explicit Watched(bool compat)
      : process_({"--store", "memory:", "--metrics-listen", "127.0.0.1:0", "--metrics-compat",
                  compat ? "true" : "false"}) {
    EXPECT_TRUE(process_.ready()) << process_.said();
    constexpr std::string_view mark = "metrics can be read address=127.0.0.1:";
    const std::size_t at = process_.said().find(mark);
    EXPECT_NE(at, std::string::npos) << process_.said();
    port_ = static_cast<std::uint16_t>(
        std::strtoul(process_.said().c_str() + at + mark.size(), nullptr, 10));
    live();
  }

  std::uint16_t port() const { return port_; }
  const ServerProcess& process() const { return process_; }
  Reply metrics() const {
    RawClient client(port_);
    return client.ask("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }

 private:
  std::string post(const std::string& path, const std::string& body) {
    const Reply reply = process_.ask({"POST", path, body});
    EXPECT_LT(reply.status, 300U) << path << reply.body;
    return reply.body;
  }

  void live() {
    for (const auto* outcome :
         {R"("outcome":"done")",
          R"("outcome":"failed","error":{"message":"x"},"retryable":false)"}) {
      post("/v1/tasks", R"({"queue":"emails","type":"welcome","priority":"high"})");
      const std::string taken =
          post("/v1/take", R"({"queue":"emails","worker":"w","wait_ms":100})");
      const Reply settled =
          process_.ask({"POST", fmt::format("/v1/tasks/{}/settle", field(taken, "id")),
                        fmt::format(R"({{"token":"{}",{}}})", field(taken, "token"), outcome)});
      EXPECT_LT(settled.status, 300U) << settled.body;
    }
    post("/v1/tasks", R"({"queue":"emails","type":"a.b:c-d_e"})");
    process_.ask({"POST", "/v1/tasks", R"({"queue":"emails","priority":77})"});
    post("/v1/workers/w/beat", R"({"processors":4,"queues":[{"queue":"emails","processors":4}]})");
  }

  ServerProcess process_;
  std::uint16_t port_ = 0;
};

Names families_of(const std::string& text) {
  Names names;
  const std::regex help("# HELP ([a-zA-Z0-9_:]+) ");
  for (std::sregex_iterator it(text.begin(), text.end(), help), end; it != end; ++it) {
    names.insert((*it)[1]);
  }
  return names;
}

// Every metric that a text mentions, without the endings that histograms have.
Names mentioned_in(const std::string& text) {
  Names names;
  const std::regex name(
      "\\b(millrace_[a-z_]+|process_[a-z_]+|claude_proxy_[a-z_]+|bullmq_[a-z_]+|"
      "queue_(tasks_in|running|job)[a-z_]+)\\b");
  for (std::sregex_iterator it(text.begin(), text.end(), name), end; it != end; ++it) {
    std::string found = (*it)[1];
    for (const std::string_view ending : {"_bucket", "_sum", "_count"}) {
      if (found.ends_with(ending)) found.resize(found.size() - ending.size());
    }
    names.insert(found);
  }
  return names;
}

Names without(Names all, const Names& some) {
  for (const std::string& each : some) all.erase(each);
  return all;
}

Ran promtool(std::vector<std::string> arguments, const std::string& in = "/dev/null") {
  arguments.insert(arguments.begin(), "promtool");
  return run_command(std::move(arguments), in);
}

// S0-179, C-25
TEST(Metrics, promtool_finds_nothing_wrong_with_them) {
  const TemporaryDirectory scratch;
  for (const bool compat : {false, true}) {
    const Watched server(compat);
    const Reply reply = server.metrics();
    ASSERT_EQ(reply.status, 200U);
    EXPECT_EQ(reply.body.contains("bullmq_queue_size{"), compat);
    EXPECT_EQ(reply.body.contains("claude_proxy_queue_size{"), compat);
    EXPECT_EQ(reply.body.contains("queue_running_workers "), compat);
    write_file(scratch / "metrics", reply.body);
    const Ran ran = promtool({"check", "metrics"}, scratch / "metrics");
    EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
    EXPECT_THAT(ran.err, IsEmpty());
    // The API shows the same families.
    const Reply api = server.process().ask({.path = "/metrics"});
    EXPECT_EQ(families_of(api.body), families_of(reply.body));
  }
}

TEST(Metrics, the_docs_list_exactly_those_there_are) {
  const Watched server(true);
  const Names shown = families_of(server.metrics().body);
  const Names listed = mentioned_in(read_file(root + "/docs/metrics.md"));
  EXPECT_THAT(without(shown, listed), IsEmpty()) << "shown, but not in docs/metrics.md";
  EXPECT_THAT(without(listed, shown), IsEmpty()) << "in docs/metrics.md, but not shown";
}

TEST(Metrics, rules_and_board_use_metrics_that_there_are) {
  const Watched server(false);
  const Names shown = families_of(server.metrics().body);
  const Names rules = mentioned_in(read_file(root + "/deploy/prometheus/millrace.rules.yml"));
  const Names board = mentioned_in(read_file(root + "/deploy/grafana/millrace.json"));
  EXPECT_THAT(without(rules, shown), IsEmpty());
  EXPECT_THAT(without(board, shown), IsEmpty());
  EXPECT_GT(rules.size(), 8U);
  // What the board must show.
  const Names essential = {"millrace_queue_tasks",
                           "millrace_queue_oldest_ready_seconds",
                           "millrace_tasks_put_total",
                           "millrace_tasks_completed_total",
                           "millrace_tasks_failed_total",
                           "millrace_tasks_dead_total",
                           "millrace_tasks_retried_total",
                           "millrace_tasks_lost_total",
                           "millrace_task_wait_duration_seconds",
                           "millrace_task_run_duration_seconds",
                           "millrace_store_up",
                           "millrace_store_flush_duration_seconds",
                           "millrace_processors",
                           "millrace_processors_desired",
                           "millrace_http_request_duration_seconds",
                           "process_resident_memory_bytes",
                           "process_cpu_seconds_total"};
  EXPECT_THAT(without(essential, board), IsEmpty());
}

// S3-074
TEST(Metrics, rules_and_configuration_are_good) {
  const std::string at = root + "/deploy/prometheus/";
  for (const auto& arguments :
       {std::vector<std::string>{"check", "rules", at + "millrace.rules.yml"},
        {"check", "config", at + "prometheus.yml"},
        {"test", "rules", at + "millrace.rules.test.yml"}}) {
    const Ran ran = promtool(arguments);
    EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
  }
}

TEST(Metrics, the_settings_of_the_service_are_settings) {
  const std::string file = root + "/deploy/systemd/millrace.toml";
  const Ran ran = run_program({"config", "--config", file});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("/var/lib/millrace/data"));
}

TEST(Metrics, the_unit_is_one_that_systemd_takes) {
  const Ran there = run_command({"systemd-analyze", "--version"});
  if (there.exit != 0) GTEST_SKIP() << "there is no systemd-analyze";
  const TemporaryDirectory scratch;
  std::string unit = read_file(root + "/deploy/systemd/millrace.service");
  EXPECT_THAT(unit, Not(HasSubstr("Environment=MILLRACE"))) << "would win over a settings file";
  const std::string program = "/usr/local/bin/millrace";
  ASSERT_THAT(unit, HasSubstr(program));
  unit.replace(unit.find("ExecStart=" + program) + 10, program.size(), MILLRACE_PROGRAM);
  write_file(scratch / "millrace.service", unit);
  const Ran ran = run_command({"systemd-analyze", "verify", scratch / "millrace.service"});
  EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.err, Not(HasSubstr("millrace.service")));
}

// ---- Events
// --------------------------------------------------------------------------------------

TEST(Events, a_stream_lives_as_long_as_the_server) {
  ServerProcess process({"--store", "memory:"});
  ASSERT_TRUE(process.ready()) << process.said();
  RawClient reader = process.connect();
  reader.send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(reader.read_until("\n\n"), HasSubstr("text/event-stream"));
  for (int i = 0; i < 3; ++i) {
    const Reply put = process.ask({"POST", "/v1/tasks", R"({"queue":"emails","type":"t"})"});
    const std::string told = reader.read_until("\n\n");
    EXPECT_THAT(told, HasSubstr("event: put\n"));
    EXPECT_THAT(told, HasSubstr(field(put.body, "id")));
  }
  process.signal(SIGTERM);
  EXPECT_TRUE(reader.read_to_end().ends_with("0\r\n\r\n"));
  reader.close();
  EXPECT_EQ(process.exit(), 0) << process.said();
}

// ---- Prometheus itself -------------------------------------------------------------------------

class Prometheus {
 public:
  explicit Prometheus(std::uint16_t target) : port_(free_port()) {
    write_file(scratch_ / "prometheus.yml",
               fmt::format("global: {{scrape_interval: 1s, evaluation_interval: 1s}}\n"
                           "rule_files: [\"{}/deploy/prometheus/millrace.rules.yml\"]\n"
                           "scrape_configs:\n"
                           "  - job_name: millrace\n"
                           "    static_configs: [{{targets: [\"127.0.0.1:{}\"]}}]\n",
                           root, target));
    std::vector<std::string> words = {"prometheus",
                                      "--config.file=" + (scratch_ / "prometheus.yml"),
                                      "--storage.tsdb.path=" + (scratch_ / "data"),
                                      fmt::format("--web.listen-address=127.0.0.1:{}", port_)};
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) std::abort();
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ends[1], STDERR_FILENO);
    if (::posix_spawnp(&process_, argv.front(), &files, nullptr, argv.data(), environ) != 0) {
      process_ = 0;
    }
    posix_spawn_file_actions_destroy(&files);
    ::close(ends[1]);
    log_ = ends[0];
  }
  Prometheus(const Prometheus&) = delete;
  Prometheus& operator=(const Prometheus&) = delete;
  ~Prometheus() {
    ::close(log_);
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }

  bool ready() {
    while (!said_.contains("Server is ready to receive web requests")) {
      if (!read(60'000)) return false;
    }
    return true;
  }
  // What it answers to a query, once there is something to answer.
  std::string query(const std::string& expression) {
    for (int i = 0; i < 300; ++i) {
      RawClient client(port_);
      const Reply reply = client.ask(fmt::format(
          "GET /api/v1/query?query={} HTTP/1.1\r\nHost: localhost\r\n\r\n", expression));
      if (reply.body.contains("\"value\":")) return reply.body;
      read(200);  // a moment
    }
    return {};
  }
  const std::string& said() const { return said_; }

 private:
  bool read(int patience_ms) {
    pollfd file{.fd = log_, .events = POLLIN, .revents = 0};
    if (::poll(&file, 1, patience_ms) <= 0) return false;
    std::array<char, 4096> bytes{};
    const ssize_t got = ::read(log_, bytes.data(), bytes.size());
    if (got <= 0) return false;
    said_.append(bytes.data(), static_cast<std::size_t>(got));
    return true;
  }

  const TemporaryDirectory scratch_;
  const std::uint16_t port_;
  pid_t process_ = 0;
  int log_ = -1;
  std::string said_;
};

// S0-179, S1-077
TEST(Metrics, a_real_prometheus_reads_them) {
  const Watched server(true);
  Prometheus prometheus(server.port());
  ASSERT_TRUE(prometheus.ready()) << prometheus.said();
  // queued tasks of emails; quotes and braces are percent-encoded
  const std::string queued =
      prometheus.query("millrace_queue_tasks%7Bqueue=%22emails%22,state=%22queued%22%7D");
  EXPECT_THAT(queued, HasSubstr("\"state\":\"queued\"")) << prometheus.said();
  EXPECT_THAT(queued, HasSubstr(",\"1\"]"));
  EXPECT_THAT(prometheus.query("up"), HasSubstr(",\"1\"]"));
  EXPECT_THAT(prometheus.query("millrace_store_up"), HasSubstr(",\"1\"]"));
  EXPECT_THAT(prometheus.query("millrace_task_run_duration_seconds_count"), HasSubstr("welcome"));
  EXPECT_THAT(prometheus.query("claude_proxy_tasks_total%7Bstatus=%22completed%22%7D"),
              HasSubstr("\"priority\":\"high\""));
  EXPECT_THAT(prometheus.query("bullmq_job_duration_seconds_count"),
              HasSubstr("\"exported_job\":\"welcome\""));  // `job` is Prometheus' own
  EXPECT_THAT(prometheus.query("queue_running_job_processors"), HasSubstr(",\"value\":["));
}

}  // namespace
}  // namespace millrace::test
