// What an operator does beside a running server: imports and scrapes. docs/benchmarks.md says how
// to read its lines.
//
//   console_bench [FLAG...] [NAME...]     import scrape; all if none
//
//   --rounds N      alternating rounds (9)
//   --seconds S     what a figure beside an import or a scrape is measured for (2)
//   --tasks N       tasks that are imported per round (500000)
//   --queues N      queues of a server that is scraped (1000)
//   --smoke         one very short round of everything
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/flags.h"
#include "bench/http_load.h"
#include "bench/measure.h"
#include "bench/processes.h"
#include "bench/require.h"
#include "bench/server_load.h"
#include "tests/support/temporary_directory.h"

namespace millrace::bench {
namespace {

struct Settings {
  int rounds = 9;
  double seconds = 2;
  std::size_t tasks = 500'000;
  std::size_t queues = 1000;
  std::string program = own_directory() + "/../millrace";
};

constexpr std::size_t put_connections = 64;
constexpr std::size_t put_batch = 100;
constexpr double scrape_most_ms = 50;

std::unique_ptr<TestServer> serve(const Settings& settings) {
  return std::make_unique<TestServer>(settings.program,
                                      std::vector<std::string>{"--log-level", "warning"});
}

// An export of so many tasks with the payload that the other benches put.
void write_export(const std::string& path, std::size_t tasks) {
  std::ofstream file(path, std::ios::binary);
  file << R"({"millrace_export":{"format":1,"minor":0,"store":"journal"}})" << '\n'
       << R"({"queue":{"name":"emails","id":"01890000-0000-7000-8000-000000000000"}})" << '\n';
  std::string payload;
  for (const char c : payload_text()) payload += c == '"' ? "\\\"" : std::string(1, c);
  std::string line;
  for (std::size_t i = 0; i < tasks; ++i) {
    const std::string moment =
        fmt::format("2026-01-02T03:{:02}:{:02}.{:03}Z", i / 60'000 % 60, i / 1000 % 60, i % 1000);
    line = fmt::format(
        R"({{"task":{{"id":"01890000-0000-7000-9000-{:012x}","number":{},"version":1,)"
        R"("queue":"emails","state":"queued","type":"send","payload":"{}","priority":5,)"
        R"("created_at":"{}","updated_at":"{}","start":"{}"}}}})",
        i, i + 1, payload, moment, moment, moment);
    file << line << '\n';
  }
  file << fmt::format(R"({{"end":{{"queues":1,"schedules":0,"memos":0,"tasks":{}}}}})", tasks);
  file << '\n';
  require(static_cast<bool>(file.flush()), "the export is written");
}

struct Imported {
  double per_second = 0;
  double client_bytes = 0;  // resident at most
  double server_bytes = 0;  // growth through the tasks, per task
};

Imported import_once(const Settings& settings, const std::string& file) {
  const auto server = serve(settings);
  const double before = static_cast<double>(server->process().resident_bytes());
  test::TemporaryDirectory directory;
  const double began = wall_seconds();
  Process client({.words = {settings.program, "import", file, "--into",
                            fmt::format("http://127.0.0.1:{}", server->port())},
                  .log = directory / "log"});
  Imported result;
  while (!client.ended_within(0.02)) {
    result.client_bytes =
        std::max(result.client_bytes, static_cast<double>(client.resident_bytes()));
  }
  const double took = wall_seconds() - began;
  require(client.printed().starts_with("added 1 queue"), "import: " + client.printed());
  require(HttpLoad(server->port(), 1)
              .ask(0, http_request("GET", "/v1/queues/emails/stats"))
              .body.contains(fmt::format("\"queued\":{},", settings.tasks)),
          "everything was imported");
  result.per_second = static_cast<double>(settings.tasks) / took;
  const double after = static_cast<double>(server->process().resident_bytes());
  result.server_bytes = (after - before) / static_cast<double>(settings.tasks);
  return result;
}

// Memory of a server per waiting task, however the task came in.
double put_bytes(const Settings& settings) {
  const auto server = serve(settings);
  const double before = static_cast<double>(server->process().resident_bytes());
  Workers workers(*server, 4, put_batch);
  workers.fill(settings.tasks);
  return (static_cast<double>(server->process().resident_bytes()) - before) /
         static_cast<double>(settings.tasks);
}

void import(const Settings& settings) {
  test::TemporaryDirectory directory;
  const std::string file = directory / "export.jsonl";
  write_export(file, settings.tasks);
  std::vector<double> ours;
  std::vector<double> batches;
  std::vector<double> client;
  std::vector<double> server;
  for (int round = 0; round < settings.rounds; ++round) {
    const Imported imported = import_once(settings, file);
    ours.push_back(imported.per_second);
    client.push_back(imported.client_bytes);
    server.push_back(imported.server_bytes);
    const auto other = serve(settings);
    make_queue(*other);
    batches.push_back(put_for(*other, put_connections, put_batch, settings.seconds).per_second);
  }
  const Ratio ratio = ratio_of(ours, batches);
  Line("console/import")
      .add("durability", "fsync")
      .add("tasks", std::uint64_t{settings.tasks})
      .add("payload", std::uint64_t{payload_size})
      .add("ours", ratio.ours)
      .add("put_batch", ratio.yardstick)
      .add("ratio", ratio.ratio)
      .add("ratio_min", ratio.least)
      .add("ratio_max", ratio.greatest)
      .add("client_resident", *std::ranges::max_element(client))
      .add("server_bytes_per_task", median(server))
      .add("put_bytes_per_task", put_bytes(settings))
      .print();
}

// So many queues, each with tasks of a type of its own, in several states.
void fill_queues(TestServer& server, std::size_t queues) {
  HttpLoad load(server.port(), 1);
  for (std::size_t i = 0; i < queues; ++i) {
    const std::string body =
        fmt::format(R"([{{"queue":"queue-{0}","type":"type-{0}","payload":{{}}}},)"
                    R"({{"queue":"queue-{0}","type":"type-{0}","payload":{{}}}}])",
                    i);
    require(load.ask(0, http_request("POST", "/v1/tasks", body)).status < 300, "put");
    const std::string take =
        fmt::format(R"({{"worker":"w","queues":[{{"queue":"queue-{}","most":1}}]}})", i);
    const Reply taken = load.ask(0, http_request("POST", "/v1/take", take));
    require(taken.status == 200, "take");
  }
}

void scrape(const Settings& settings) {
  const auto server = serve(settings);
  make_queue(*server);
  fill_queues(*server, settings.queues);
  const std::string request = http_request("GET", "/metrics");
  std::vector<double> took_ms;
  std::vector<double> alone;
  std::vector<double> scraped;
  std::size_t bytes = 0;
  for (int round = 0; round < settings.rounds; ++round) {
    HttpLoad load(server->port(), 1);
    for (int i = 0; i < 5; ++i) {
      const double began = wall_seconds();
      const Reply reply = load.ask(0, request);
      took_ms.push_back((wall_seconds() - began) * 1000);
      require(reply.status == 200, "GET /metrics");
      bytes = reply.body.size();
    }
    alone.push_back(put_for(*server, put_connections, 1, settings.seconds).per_second);
    // Once per second: fifteen times as often as usual.
    scraped.push_back(
        put_for(*server, put_connections, 1, settings.seconds, {.request = request, .every = 1.0})
            .per_second);
  }
  const Ratio ratio = ratio_of(scraped, alone);
  Line("console/scrape")
      .add("unit", "milliseconds")
      .add("queues", std::uint64_t{settings.queues})
      .add("bytes", std::uint64_t{bytes})
      .add("ours", median(took_ms))
      .add("ours_max", *std::ranges::max_element(took_ms))
      .add("most", scrape_most_ms)
      .add("ratio", median(took_ms) / scrape_most_ms)
      .add("puts_scraped", ratio.ours)
      .add("puts_alone", ratio.yardstick)
      .add("puts_ratio", ratio.ratio)
      .add("puts_ratio_min", ratio.least)
      .add("puts_ratio_max", ratio.greatest)
      .print();
}

Settings smoke() {
  return {.rounds = 1, .seconds = 0.1, .tasks = 2'000, .queues = 20};
}

}  // namespace
}  // namespace millrace::bench

int main(int argc, char** argv) {
  using namespace millrace::bench;
  std::vector<std::string> words(argv + 1, argv + argc);
  Flags flags(words);
  Settings settings = flags.has("--smoke") ? smoke() : Settings{};
  flags.number("--rounds", settings.rounds);
  flags.number("--seconds", settings.seconds);
  flags.number("--tasks", settings.tasks);
  flags.number("--queues", settings.queues);
  settings.program = flags.value("--program").value_or(settings.program);
  raise_file_limit();
  flags.refuse_others({"import", "scrape"});
  const auto wanted = [&](std::string_view name) {
    return words.empty() || std::ranges::find(words, name) != words.end();
  };
  if (wanted("import")) import(settings);
  if (wanted("scrape")) scrape(settings);
  return 0;
}
