// The plan, the measurements and the report of `millrace bench`.
#pragma once

#include <millrace/result.h>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "api/wire/answers.h"
#include "cli/latency_book.h"
#include "cli/table.h"

namespace millrace::cli {

enum class BenchMode : std::uint8_t { both, put_only, work_only };

struct BenchPlan {
  std::uint64_t tasks = 100'000;
  std::size_t payload = 200;  // bytes
  std::size_t batch = 100;
  std::size_t connections = 8;
  std::string queue = "bench";
  BenchMode mode = BenchMode::both;
  bool keep = false;
};

// One kind of request, sent over all connections at the same time.
struct BenchPhase {
  std::uint64_t tasks = 0;                    // that succeeded
  std::uint64_t errors = 0;                   // tasks that failed
  std::optional<Error> error = std::nullopt;  // the first
  std::chrono::nanoseconds took{};
  LatencyBook round_trips = {};  // of requests

  double rate() const;
};

// Tasks put one at a time while a worker waits.
struct BenchTrickle {
  LatencyBook puts = {};    // from sent to acknowledged
  LatencyBook starts = {};  // from sent to being with the worker
  std::uint64_t errors = 0;
  std::optional<Error> error = std::nullopt;
};

struct BenchReport {
  BenchPlan plan = {};
  std::string url = {};
  std::string host = {};  // where the client ran
  wire::ServerInfo server = {};
  std::optional<BenchPhase> put = std::nullopt;
  std::optional<BenchPhase> work = std::nullopt;
  std::optional<BenchTrickle> trickle = std::nullopt;
  std::chrono::nanoseconds client_cpu{};  // of this process, while it put and worked
  bool stopped = false;                   // the user pressed Ctrl-C

  std::uint64_t errors() const;
};

std::string text_of(const BenchReport& report, const Look& look);
std::string json_of(const BenchReport& report);

}  // namespace millrace::cli
