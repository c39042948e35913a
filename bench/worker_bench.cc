// The worker over the journal, beside the journal alone: what handlers, threads and the broker
// cost.
//
//   worker_bench [--smoke]
#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/journal_load.h"
#include "bench/load.h"
#include "bench/measure.h"
#include "bench/require.h"
#include "broker/local_broker.h"
#include "core/clock.h"
#include "tests/support/temporary_directory.h"
#include "worker/worker.h"

namespace millrace {
namespace {

using bench::JournalLoad;
using bench::Load;
using bench::require;

struct Scale {
  int rounds = 9;
  std::size_t tasks = 300'000;      // a round
  std::size_t waiting = 1'000'000;  // beside the lives of the yardstick
};

struct Work {
  double rate = 0;    // tasks a second
  double cpu_us = 0;  // of the process, a task
  std::uint64_t orders = 0;
};

// From the start of the worker until every task is settled and the worker stopped.
Work work_off(std::size_t tasks, std::uint32_t concurrency) {
  const test::TemporaryDirectory directory;
  const auto store = bench::open_store(directory);
  {
    Load load(*store, 1000);
    for (std::size_t filled = 0; filled < tasks; filled += 1000) load.put();
    load.flush();
  }
  SystemClock clock;
  LocalBroker broker(clock, *store);
  std::atomic<std::size_t> ran = 0;
  std::vector<worker::QueueHandlers> queues(1);
  queues[0].queue = "emails";
  queues[0].concurrency = concurrency;
  queues[0].any = [&](auto) {
    if (ran.fetch_add(1, std::memory_order_relaxed) + 1 == tasks) ran.notify_one();
  };
  worker::Worker worker(clock, broker, {.name = "$local-bench", .internal = true}, queues);
  const double wall = bench::wall_seconds();
  const double cpu = bench::process_cpu_seconds();
  worker.start();
  for (auto seen = ran.load(); seen != tasks; seen = ran.load()) ran.wait(seen);
  worker.graceful_stop(std::chrono::seconds(30));
  const double seconds = bench::wall_seconds() - wall;
  const auto figures = worker.figures().front();
  require(figures.completed == tasks, fmt::format("{} of {} done", figures.completed, tasks));
  return {static_cast<double>(tasks) / seconds,
          (bench::process_cpu_seconds() - cpu) * 1e6 / static_cast<double>(tasks),
          broker.stats().rounds.requests};
}

void journal(const Scale& scale) {
  constexpr std::size_t batch = 100;
  constexpr std::uint32_t concurrency = 2;
  JournalLoad alone(batch);
  alone.fill(scale.waiting);
  const std::size_t batches = std::max<std::size_t>(1, scale.tasks / 3 / batch);
  Work last;
  const auto ratio = bench::by_turns(
      scale.rounds,
      [&] {
        last = work_off(scale.tasks, concurrency);
        return last.rate;
      },
      [&] { return alone.run(batches); });
  bench::Line("worker/journal")
      .add("durability", "fsync")
      .add("payload", std::uint64_t{Load::payload_size})
      .add("tasks", std::uint64_t{scale.tasks})
      .add("concurrency", std::uint64_t{concurrency})
      .add("ours", ratio.ours)
      .add("journal_lifecycle", ratio.yardstick)
      .add("ratio", ratio.ratio)
      .add("ratio_min", ratio.least)
      .add("ratio_max", ratio.greatest)
      .add("cpu_us_per_task", last.cpu_us)
      .add("tasks_per_order", static_cast<double>(scale.tasks) /
                                  static_cast<double>(std::max<std::uint64_t>(1, last.orders)))
      .print();
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
  millrace::Scale scale;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--smoke") {
      scale = {.rounds = 1, .tasks = 3000, .waiting = 1000};
    } else {
      fmt::print(stderr, "usage: worker_bench [--smoke]\n");
      return 2;
    }
  }
  millrace::journal(scale);
}
