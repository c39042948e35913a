#include "bench/peers.h"

#include <fmt/format.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "bench/measure.h"
#include "bench/processes.h"
#include "bench/require.h"

namespace millrace::bench {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

Peers::Peers() : directory_(own_directory() + "/peers") {
  const fs::path scripts = MILLRACE_PEERS;
  fs::create_directories(directory_);
  const bool there =
      fs::exists(directory_ + "/node_modules/.package-lock.json") &&
      text_of(directory_ + "/package-lock.json") == text_of(scripts / "package-lock.json");
  for (const auto& entry : fs::directory_iterator(scripts)) {
    fs::copy_file(entry.path(), fs::path(directory_) / entry.path().filename(),
                  fs::copy_options::overwrite_existing);
  }
  if (there) return;
  std::fprintf(stderr, "installing the peers with npm into %s\n", directory_.c_str());
  // Nothing of them has to be compiled, so their scripts need not run.
  output_of({.words = {"npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"},
             .directory = directory_});
}

Peers::~Peers() = default;

std::vector<double> Peers::figures(const std::vector<std::string>& script,
                                   const std::vector<std::string>& names) const {
  Command command{
      .words = {"node"},
      .directory = directory_,
      .environment = {{"MILLRACE_BENCH_PAYLOAD", payload_text()}, {"NODE_ENV", "production"}}};
  command.words.insert(command.words.end(), script.begin(), script.end());
  const std::string output = output_of(command);
  const std::size_t line = output.rfind("\n{") == std::string::npos ? 0 : output.rfind("\n{") + 1;
  boost::system::error_code failure;
  const auto value = boost::json::parse(
      std::string_view(output).substr(line, output.find('\n', line) - line), failure);
  require(!failure && value.is_object(), fmt::format("{} printed: {}", script[0], output));
  std::vector<double> read;
  for (const std::string& name : names) {
    read.push_back(value.as_object().at(name).to_number<double>());
  }
  return read;
}

std::vector<double> Peers::with_redis(std::vector<std::string> script,
                                      const std::vector<std::string>& names) const {
  const test::TemporaryDirectory directory;
  const std::uint16_t port = free_port();
  Process redis({.words = {"redis-server", "--port", fmt::format("{}", port), "--bind", "127.0.0.1",
                           "--dir", directory.path(), "--appendonly", "yes", "--appendfsync",
                           "everysec", "--save", ""},
                 .directory = directory.path(),
                 .log = directory / "log"});
  wait_for_port(redis, port);
  script.insert(script.end(), {"--port", fmt::format("{}", port)});
  return figures(script, names);
}

double Peers::bullmq_adds(std::size_t in_flight, double seconds) {
  return with_redis({"bullmq.mjs", "add", "--in-flight", fmt::format("{}", in_flight), "--seconds",
                     fmt::format("{}", seconds)},
                    {"per_second"})[0];
}

double Peers::bullmq_works(std::size_t tasks, std::size_t concurrency) {
  return with_redis({"bullmq.mjs", "work", "--tasks", fmt::format("{}", tasks), "--concurrency",
                     fmt::format("{}", concurrency)},
                    {"per_second"})[0];
}

Latency Peers::bullmq_latency(double rate, double seconds, std::size_t concurrency) {
  const auto read =
      with_redis({"bullmq.mjs", "latency", "--rate", fmt::format("{}", rate), "--seconds",
                  fmt::format("{}", seconds), "--concurrency", fmt::format("{}", concurrency)},
                 {"p50_ms", "p99_ms"});
  return {.p50_ms = read[0], .p99_ms = read[1]};
}

double Peers::on_postgres(const char* script, const char* mode, const PostgresAddress& server,
                          const std::vector<std::pair<const char*, std::size_t>>& flags) const {
  std::vector<std::string> words{
      script, mode, "--socket", server.socket_directory, "--port", fmt::format("{}", server.port)};
  for (const auto& [flag, value] : flags) {
    words.insert(words.end(), {flag, fmt::format("{}", value)});
  }
  return figures(words, {"per_second"})[0];
}

double Peers::graphile_works(std::size_t tasks, std::size_t processes) {
  // One cluster for all rounds; it runs only while it is measured.
  if (!postgres_) postgres_ = std::make_unique<test::PostgresServer>();
  postgres_->start();
  const double rate =
      graphile_work({postgres_->socket_directory(), postgres_->port()}, tasks, processes);
  postgres_->stop();
  return rate;
}

double Peers::graphile_put_single(const PostgresAddress& server, const PeerPuts& puts) {
  return on_postgres(
      "graphile.mjs", "put", server,
      {{"--tasks", puts.tasks}, {"--in-flight", puts.in_flight}, {"--processes", puts.processes}});
}

double Peers::graphile_put_batch(const PostgresAddress& server, const PeerBatches& puts) {
  return on_postgres("graphile.mjs", "batch", server,
                     {{"--tasks", puts.tasks},
                      {"--batch", puts.batch},
                      {"--in-flight", puts.in_flight},
                      {"--processes", puts.processes}});
}

double Peers::graphile_work(const PostgresAddress& server, std::size_t tasks,
                            std::size_t processes) {
  return on_postgres("graphile.mjs", "work", server,
                     {{"--tasks", tasks}, {"--processes", processes}});
}

double Peers::pg_boss_put_single(const PostgresAddress& server, const PeerPuts& puts) {
  return on_postgres(
      "pgboss.mjs", "put", server,
      {{"--tasks", puts.tasks}, {"--in-flight", puts.in_flight}, {"--processes", puts.processes}});
}

double Peers::pg_boss_put_batch(const PostgresAddress& server, const PeerBatches& puts) {
  return on_postgres("pgboss.mjs", "batch", server,
                     {{"--tasks", puts.tasks},
                      {"--batch", puts.batch},
                      {"--in-flight", puts.in_flight},
                      {"--processes", puts.processes}});
}

double Peers::pg_boss_work(const PostgresAddress& server, std::size_t tasks,
                           std::size_t processes) {
  return on_postgres("pgboss.mjs", "work", server,
                     {{"--tasks", tasks}, {"--processes", processes}});
}

}  // namespace millrace::bench
