// The server beside the least that it could cost (the bare server) and beside its peers. This
// program is the load; it measures programs that it starts and stops. docs/benchmarks.md says how
// to read its lines.
//
//   server_bench [FLAG...] [NAME...]     put-single put-batch work latency flat idle reads; all
//                                        but reads if none
//
//   --rounds N      alternating rounds of everything (9)
//   --seconds S     what one figure is measured for (2)
//   --waiting N     tasks that wait in `flat` (5000000)
//   --no-peers      nothing but ours and the bare server
//   --stored N      tasks that `reads` reads (2000000)
//   --data DIR      where they lie; what is there already is used, and stays
//   --keep          leaves a new DIR there
//   --warm          leaves them in the system's page cache
//   --program FILE  another program in the place of millrace
//   --smoke         one very short round of everything, without peers
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/flags.h"
#include "bench/http_load.h"
#include "bench/measure.h"
#include "bench/peers.h"
#include "bench/processes.h"
#include "bench/reads.h"
#include "bench/require.h"
#include "bench/server_load.h"

namespace millrace::bench {
namespace {

struct Settings {
  int rounds = 9;
  double seconds = 2;
  std::size_t waiting = 5'000'000;
  std::size_t work_tasks = 200'000;  // put before the first round of work
  std::size_t idle_connections = 10'000;
  std::size_t long_polls = 1'000;
  bool peers = true;
  std::size_t segments = 8;  // of the bare server's log
  std::string program = own_directory() + "/../millrace";
  ReadsSettings reads = {};
  std::string data = {};  // of reads; empty: a temporary directory
  bool keep = false;
  bool warm = false;
  bool smoke = false;
};

constexpr std::size_t put_connections = 64;
constexpr std::size_t work_connections = 4;
constexpr std::size_t batch = 100;
constexpr std::size_t bullmq_concurrency = 50;
constexpr std::size_t graphile_processes = 1;
constexpr double idle_most = 300e6;  // bytes

class Bench {
 public:
  explicit Bench(const Settings& settings) : settings_(settings) {}

  void put_single();
  void put_batch();
  void work();
  void latency();
  void flat();
  void idle();
  void reads();

 private:
  std::unique_ptr<TestServer> ours() const {
    return std::make_unique<TestServer>(settings_.program,
                                        std::vector<std::string>{"--log-level", "warning"});
  }
  Peers& peers() {
    if (!peers_) peers_.emplace();
    return *peers_;
  }
  // So many tasks that a peer with that rate is busy for the time of a round.
  std::size_t tasks_for(double per_second) const {
    return static_cast<std::size_t>(per_second * settings_.seconds);
  }

  Settings settings_;
  std::optional<Peers> peers_;
};

// The figures of one side over all rounds.
struct Side {
  std::vector<double> rates = {};
  std::vector<double> server_cpu = {};
  std::vector<double> load_cpu = {};

  void note(const Rate& rate) {
    rates.push_back(rate.per_second);
    server_cpu.push_back(rate.server_cpu_us);
    load_cpu.push_back(rate.load_cpu_us);
  }
};

Line line_of(std::string_view name, std::size_t connections, std::size_t batch_size) {
  Line line(name);
  line.add("durability", "fsync")
      .add("connections", std::uint64_t{connections})
      .add("batch", std::uint64_t{batch_size})
      .add("payload", std::uint64_t{payload_size});
  return line;
}

void add_yardstick(Line& line, std::string_view yardstick, const Ratio& ratio) {
  line.add(yardstick, ratio.yardstick)
      .add("ratio", ratio.ratio)
      .add("ratio_min", ratio.least)
      .add("ratio_max", ratio.greatest);
}

void add_peer(Line& line, std::string_view peer, const std::vector<double>& ours,
              const std::vector<double>& theirs) {
  if (theirs.empty()) return;
  const Ratio ratio = ratio_of(ours, theirs);
  line.add(peer, ratio.yardstick)
      .add(fmt::format("vs_{}", peer), ratio.ratio)
      .add(fmt::format("vs_{}_min", peer), ratio.least)
      .add(fmt::format("vs_{}_max", peer), ratio.greatest);
}

void Bench::put_single() {
  const auto server = ours();
  make_queue(*server);
  TestServer bare_server(own_directory() + "/bare_server",
                         {"--segments", fmt::format("{}", settings_.segments)});
  Side our_side;
  Side bare_side;
  std::vector<double> bullmq;
  for (int round = 0; round < settings_.rounds; ++round) {
    our_side.note(put_for(*server, put_connections, 1, settings_.seconds));
    bare_side.note(put_for(bare_server, put_connections, 1, settings_.seconds));
    if (!settings_.peers) continue;
    bullmq.push_back(peers().bullmq_adds(put_connections, settings_.seconds));
  }
  Line line = line_of("server/put-single", put_connections, 1);
  line.add("ours", median(our_side.rates));
  add_yardstick(line, "bare_server", ratio_of(our_side.rates, bare_side.rates));
  add_peer(line, "bullmq", our_side.rates, bullmq);
  line.add("server_cpu_us", median(our_side.server_cpu))
      .add("bare_cpu_us", median(bare_side.server_cpu))
      .add("load_cpu_us", median(our_side.load_cpu))
      .print();
}

void Bench::put_batch() {
  const auto server = ours();
  make_queue(*server);
  Side batches;
  Side singles;
  for (int round = 0; round < settings_.rounds; ++round) {
    batches.note(put_for(*server, put_connections, batch, settings_.seconds));
    singles.note(put_for(*server, put_connections, 1, settings_.seconds));
  }
  Line line = line_of("server/put-batch", put_connections, batch);
  line.add("ours", median(batches.rates));
  add_yardstick(line, "single", ratio_of(batches.rates, singles.rates));
  line.add("server_cpu_us", median(batches.server_cpu))
      .add("load_cpu_us", median(batches.load_cpu))
      .print();
}

void Bench::work() {
  const auto server = ours();
  Workers workers(*server, work_connections, batch);
  Side our_side;
  std::vector<double> bullmq;
  std::vector<double> graphile;
  double expected_bullmq = 20'000;
  double expected_graphile = 40'000;
  std::size_t tasks = settings_.work_tasks;
  for (int round = 0; round < settings_.rounds; ++round) {
    workers.fill(tasks);
    const Rate rate = workers.work_for(settings_.seconds);
    our_side.note(rate);
    tasks = std::max(tasks, static_cast<std::size_t>(rate.per_second * settings_.seconds * 1.3));
    if (!settings_.peers) continue;
    bullmq.push_back(peers().bullmq_works(tasks_for(expected_bullmq), bullmq_concurrency));
    graphile.push_back(peers().graphile_works(tasks_for(expected_graphile), graphile_processes));
    expected_bullmq = bullmq.back();
    expected_graphile = graphile.back();
  }
  Line line = line_of("server/work", work_connections, batch);
  line.add("ours", median(our_side.rates));
  add_peer(line, "bullmq", our_side.rates, bullmq);
  add_peer(line, "graphile_worker", our_side.rates, graphile);
  line.add("server_cpu_us", median(our_side.server_cpu))
      .add("load_cpu_us", median(our_side.load_cpu))
      .print();
}

void Bench::latency() {
  constexpr double rate = 200;
  constexpr std::size_t waiting_workers = 4;
  const auto server = ours();
  make_queue(*server);
  std::vector<double> our_p50;
  std::vector<double> our_p99;
  std::vector<double> their_p50;
  std::vector<double> their_p99;
  for (int round = 0; round < settings_.rounds; ++round) {
    const Latency our = wait_of_tasks(*server, waiting_workers, rate, settings_.seconds * 1.5);
    our_p50.push_back(our.p50_ms);
    our_p99.push_back(our.p99_ms);
    if (!settings_.peers) continue;
    const Latency their = peers().bullmq_latency(rate, settings_.seconds * 1.5, bullmq_concurrency);
    their_p50.push_back(their.p50_ms);
    their_p99.push_back(their.p99_ms);
  }
  Line line("server/latency");
  line.add("durability", "fsync")
      .add("unit", "milliseconds")
      .add("rate", rate)
      .add("workers", std::uint64_t{waiting_workers})
      .add("payload", std::uint64_t{payload_size})
      .add("ours", median(our_p50))
      .add("ours_p99", median(our_p99));
  if (settings_.peers) {
    add_yardstick(line, "bullmq", ratio_of(our_p50, their_p50));
    const Ratio p99 = ratio_of(our_p99, their_p99);
    line.add("bullmq_p99", p99.yardstick)
        .add("ratio_p99", p99.ratio)
        .add("ratio_p99_min", p99.least)
        .add("ratio_p99_max", p99.greatest);
  }
  line.print();
}

void Bench::flat() {
  const auto full_server = ours();
  const auto empty_server = ours();
  Workers many(*full_server, work_connections, batch);
  Workers few(*empty_server, work_connections, batch);
  const double before = wall_seconds();
  many.fill(settings_.waiting);
  const double fill_seconds = wall_seconds() - before;
  std::vector<Probe> probes{
      {.request = http_request("GET", "/v1/tasks?queue=emails&state=queued&limit=100")},
      {.request = http_request("GET", "/v1/queues/emails/stats")}};
  std::vector<double> with_many;
  std::vector<double> with_few;
  std::size_t tasks = settings_.work_tasks;
  for (int round = 0; round < settings_.rounds; ++round) {
    many.fill(settings_.waiting + tasks);
    few.fill(tasks);
    with_many.push_back(many.work_for(settings_.seconds, &probes).per_second);
    with_few.push_back(few.work_for(settings_.seconds).per_second);
    const double fastest = std::max(with_many.back(), with_few.back());
    tasks = std::max(tasks, static_cast<std::size_t>(fastest * settings_.seconds * 1.3));
  }
  Line line = line_of("server/flat", work_connections, batch);
  line.add("waiting", std::uint64_t{settings_.waiting}).add("ours", median(with_many));
  add_yardstick(line, "empty", ratio_of(with_many, with_few));
  line.add("list_ms", median(probes[0].took_ms))
      .add("list_ms_max", std::ranges::max(probes[0].took_ms))
      .add("stats_ms", median(probes[1].took_ms))
      .add("stats_ms_max", std::ranges::max(probes[1].took_ms))
      .add("filled_per_second", static_cast<double>(settings_.waiting) / fill_seconds)
      .add("resident", std::uint64_t{full_server->process().resident_bytes()})
      .print();
}

void Bench::idle() {
  const auto server = ours();
  make_queue(*server);
  const std::uint64_t before = server->process().resident_bytes();
  HttpLoad load(server->port());
  const std::string health = http_request("GET", "/health");
  for (std::size_t i = 0; i < settings_.idle_connections; ++i) {
    // Each connection had a request, so that it is a kept-alive one and not one that waits for its
    // first.
    require(load.ask(load.connect(), health).status == 200, "GET /health");
  }
  for (std::size_t i = 0; i < settings_.long_polls; ++i) {
    load.send(load.connect(),
              http_request("POST", "/v1/take",
                           fmt::format(R"({{"worker":"idle-{}","queues":[{{"queue":"emails",)"
                                       R"("most":1}}],"wait_ms":60000}})",
                                       i)));
  }
  std::size_t answered = 0;
  load.run(wall_seconds() + std::min(settings_.seconds, 2.0), [&](const Answer&) { ++answered; });
  require(answered == 0, "a long poll waits");
  const std::uint64_t after = server->process().resident_bytes();
  const double cpu_before = server->process().cpu_seconds();
  const double begin = wall_seconds();
  load.run(begin + settings_.seconds, [&](const Answer&) { ++answered; });
  require(answered == 0, "a long poll waits");
  const double cpu = server->process().cpu_seconds() - cpu_before;
  Line("server/idle")
      .add("unit", "bytes")
      .add("connections", std::uint64_t{settings_.idle_connections})
      .add("long_polls", std::uint64_t{settings_.long_polls})
      .add("ours", after)
      .add("most", idle_most)
      .add("ratio", static_cast<double>(after) / idle_most)
      .add("before", before)
      .add("bytes_per_connection",
           static_cast<double>(after - before) / static_cast<double>(load.connections()))
      .add("cpu_share", cpu / (wall_seconds() - begin))
      .print();
}

void Bench::reads() {
  namespace fs = std::filesystem;
  const std::optional<test::TemporaryDirectory> temporary =
      settings_.data.empty() ? std::optional<test::TemporaryDirectory>(std::in_place)
                             : std::nullopt;
  const std::string data = temporary ? *temporary / "data" : settings_.data;
  const bool remove = !settings_.keep && !fs::exists(data);
  ReadsSettings reads = settings_.reads;
  reads.rounds = settings_.rounds;
  reads.seconds = settings_.seconds;
  reads.work_tasks = settings_.work_tasks;
  if (!settings_.warm) reads.directory = data;
  {
    TestServer server(settings_.program, "journal:" + data, {"--log-level", "warning"});
    measure_reads("server", server, reads);
  }
  if (remove) fs::remove_all(data);
}

void run(const Settings& settings, const std::vector<std::string>& names) {
  Bench bench(settings);
  struct Named {
    std::string_view name;
    void (Bench::*run)();
  };
  static constexpr std::array all{Named{"put-single", &Bench::put_single},
                                  Named{"put-batch", &Bench::put_batch},
                                  Named{"work", &Bench::work},
                                  Named{"latency", &Bench::latency},
                                  Named{"flat", &Bench::flat},
                                  Named{"idle", &Bench::idle}};
  for (const Named& each : all) {
    if (names.empty() || std::ranges::find(names, each.name) != names.end()) (bench.*each.run)();
  }
  // It writes gigabytes, so it runs only where it is named.
  const bool asked = std::ranges::find(names, "reads") != names.end();
  if (asked || (settings.smoke && names.empty())) bench.reads();
}

Settings smoke() {
  Settings settings;
  settings.rounds = 1;
  settings.seconds = 0.1;
  settings.waiting = 2'000;
  settings.work_tasks = 20'000;
  settings.idle_connections = 50;
  settings.long_polls = 10;
  settings.segments = 1;
  settings.peers = false;
  settings.reads.stored = 4'000;
  settings.smoke = true;
  return settings;
}

}  // namespace
}  // namespace millrace::bench

int main(int argc, char** argv) {
  using namespace millrace::bench;
  std::vector<std::string> words(argv + 1, argv + argc);
  Flags flags(words);
  Settings settings = flags.has("--smoke") ? smoke() : Settings{};
  if (flags.has("--no-peers")) settings.peers = false;
  flags.number("--rounds", settings.rounds);
  flags.number("--seconds", settings.seconds);
  flags.number("--waiting", settings.waiting);
  settings.program = flags.value("--program").value_or(settings.program);
  flags.number("--stored", settings.reads.stored);
  settings.data = flags.value("--data").value_or("");
  settings.keep = flags.has("--keep");
  settings.warm = flags.has("--warm");
  flags.refuse_others({"put-single", "put-batch", "work", "latency", "flat", "idle", "reads"});
  raise_file_limit();
  run(settings, words);
  return 0;
}
