#include "bench/reads.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "bench/http_load.h"
#include "bench/measure.h"
#include "bench/page_cache.h"
#include "bench/readers.h"
#include "bench/require.h"
#include "bench/server_load.h"
#include "bench/stock.h"

namespace millrace::bench {
namespace {

constexpr std::size_t work_connections = 4;
constexpr std::size_t batch = 100;
constexpr Pace calm{.clients = 32, .per_second = 20};
constexpr Pace flood{.clients = 8};

// Puts one task, waits for the answer, puts the next, in a thread of its own, so that delays in the
// load do not count as time of the server.
class Putter {
 public:
  explicit Putter(std::uint16_t port)
      : load_(port, 1), thread_([this](const std::stop_token& stop) { run(stop); }) {}
  Putter(const Putter&) = delete;
  Putter& operator=(const Putter&) = delete;

  std::vector<double> stop() {
    thread_.request_stop();
    thread_.join();
    // The first ones are the warm-up.
    took_ms_.erase(took_ms_.begin(),
                   took_ms_.begin() + static_cast<std::ptrdiff_t>(took_ms_.size() / 10));
    return std::move(took_ms_);
  }

 private:
  void run(const std::stop_token& stop) {
    const std::string request =
        http_request("POST", "/v1/queues/letters/tasks",
                     fmt::format(R"({{"type":"letter","payload":{}}})", payload_text()));
    do {
      const double before = wall_seconds();
      require(load_.ask(0, request).status == 201, "a single put");
      took_ms_.push_back((wall_seconds() - before) * 1e3);
    } while (!stop.stop_requested());
  }

  HttpLoad load_;
  std::vector<double> took_ms_;
  std::jthread thread_;
};

// The figures of the rounds with one kind of readers, or without.
struct Side {
  std::vector<double> rates = {};
  std::vector<double> put_ms = {};
  std::vector<double> p99_ms = {};
  double longest_put_ms = 0;
  std::vector<double> reads_per_second = {};
  std::vector<double> refused_per_second = {};
  std::array<std::vector<double>, readings.size()> took_ms = {};

  void note_puts(std::vector<double> took) {
    const Latency latency = latency_of(took);
    put_ms.push_back(latency.p50_ms);
    p99_ms.push_back(latency.p99_ms);
    longest_put_ms = std::max(longest_put_ms, std::ranges::max(took));
  }
  void note_reads(const ReadFigures& reads) {
    reads_per_second.push_back(static_cast<double>(reads.answered) / reads.seconds);
    refused_per_second.push_back(static_cast<double>(reads.refused) / reads.seconds);
    for (std::size_t i = 0; i < took_ms.size(); ++i) {
      took_ms[i].insert(took_ms[i].end(), reads.took_ms[i].begin(), reads.took_ms[i].end());
    }
  }
};

// An earlier run with the same data may have left some.
void clear_queue(TestServer& server, std::string_view queue) {
  HttpLoad load(server.port(), 1);
  const auto ask = [&](std::string_view method, const std::string& target, std::string_view body) {
    const Reply reply = load.ask(0, http_request(method, target, body));
    require(reply.status / 100 == 2, reply.body);
  };
  ask("PUT", fmt::format("/v1/queues/{}", queue), fmt::format(R"({{"name":"{}"}})", queue));
  ask("POST", fmt::format("/v1/queues/{}/clear", queue), {});
}

class Rounds {
 public:
  Rounds(TestServer& server, const ReadsSettings& settings)
      : server_(server),
        settings_(settings),
        stock_(server, settings.stored),
        tasks_(settings.work_tasks) {
    clear_queue(server, "emails");
    clear_queue(server, "letters");
    settings.loaded();
    workers_.emplace(server, work_connections, batch);
  }

  void run() {
    for (int round = 0; round < settings_.rounds; ++round) {
      measure(alone_, nullptr);
      measure(calm_, &calm);
      measure(flood_, &flood);
    }
  }

  void print(std::string_view name) const {
    print(fmt::format("{}/reads", name), calm_, calm);
    print(fmt::format("{}/flood", name), flood_, flood);
  }

 private:
  void measure(Side& side, const Pace* pace) {
    workers_->fill(tasks_);
    if (!settings_.directory.empty()) drop_page_cache(settings_.directory);
    std::optional<Readers> readers;
    if (pace != nullptr) readers.emplace(server_.port(), stock_, *pace, ++seed_);
    Putter putter(server_.port());
    const double rate = workers_->work_for(settings_.seconds).per_second;
    side.note_puts(putter.stop());
    if (readers) side.note_reads(readers->stop());
    side.rates.push_back(rate);
    tasks_ = std::max(tasks_, static_cast<std::size_t>(rate * settings_.seconds * 1.5));
  }

  void print(std::string_view name, const Side& side, const Pace& pace) const;

  TestServer& server_;
  const ReadsSettings& settings_;
  Stock stock_;
  std::optional<Workers> workers_;
  std::size_t tasks_;
  std::uint64_t seed_ = 0;
  Side alone_;
  Side calm_;
  Side flood_;
};

void Rounds::print(std::string_view name, const Side& side, const Pace& pace) const {
  const Ratio rates = ratio_of(side.rates, alone_.rates);
  const Ratio p99 = ratio_of(side.p99_ms, alone_.p99_ms);
  Line line(name);
  line.add("durability", "fsync")
      .add("stored", std::uint64_t{stock_.tasks()})
      .add("stored_bytes", std::uint64_t{Stock::payload_size})
      .add("dead", std::uint64_t{stock_.dead()})
      .add("page_cache", settings_.directory.empty() ? "warm" : "dropped before each figure")
      .add("connections", std::uint64_t{work_connections})
      .add("batch", std::uint64_t{batch})
      .add("payload", std::uint64_t{payload_size})
      .add("reading_clients", std::uint64_t{pace.clients})
      .add("ours", rates.ours)
      .add("alone", rates.yardstick)
      .add("ratio", rates.ratio)
      .add("ratio_min", rates.least)
      .add("ratio_max", rates.greatest)
      .add("put_ms", median(side.put_ms))
      .add("put_alone_ms", median(alone_.put_ms))
      .add("p99_ms", p99.ours)
      .add("p99_alone_ms", p99.yardstick)
      .add("p99_ratio", p99.ratio)
      .add("p99_ratio_min", p99.least)
      .add("p99_ratio_max", p99.greatest)
      .add("longest_put_ms", side.longest_put_ms)
      .add("longest_put_alone_ms", alone_.longest_put_ms)
      .add("reads_per_second", median(side.reads_per_second))
      .add("refused_per_second", median(side.refused_per_second));
  for (const Reading reading : readings) {
    const auto& took = side.took_ms[static_cast<std::size_t>(reading)];
    if (!took.empty()) line.add(fmt::format("{}_ms", name_of(reading)), median(took));
  }
  line.print();
}

}  // namespace

void measure_reads(std::string_view name, TestServer& server, const ReadsSettings& settings) {
  Rounds rounds(server, settings);
  rounds.run();
  rounds.print(name);
}

}  // namespace millrace::bench
