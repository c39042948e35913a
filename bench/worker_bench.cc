// App with a typed handler that does nothing: over the journal, beside the journal alone; and over
// HTTP, beside the load that the server is measured under.
//
//   worker_bench [--smoke] [journal] [http]      both if none is named
#include <fmt/format.h>
#include <millrace/app.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/journal_load.h"
#include "bench/load.h"
#include "bench/measure.h"
#include "bench/processes.h"
#include "bench/require.h"
#include "bench/server_load.h"

namespace millrace::bench {
namespace {

constexpr std::size_t batch = 100;
constexpr std::uint32_t concurrency = 2;

struct Email {
  std::string to;
  std::string subject;
  std::uint64_t seq = 0;
  std::string text;
};
MILLRACE_FIELDS(Email, to, subject, seq, text)

struct Scale {
  int rounds = 9;
  std::size_t tasks = 300'000;      // per round
  std::size_t waiting = 1'000'000;  // beside the lives of the yardstick
  double seconds = 1.5;             // of a round of the server's load
};

struct Worked {
  double rate = 0;    // tasks per second
  double cpu_us = 0;  // of this process, per task
};

// Whole lives: in batches, durable before the next.
void put_all(Client& client, std::size_t tasks) {
  const std::string payload = payload_text();
  for (std::size_t put = 0; put < tasks; put += batch) {
    std::vector<NewTask> some(std::min(batch, tasks - put));
    for (NewTask& task : some) {
      task.queue = "emails";
      task.type = "send-email";
      task.payload = payload;
    }
    const auto results = client.put_all(std::move(some));
    require(results && results->back().has_value(), "put");
  }
}

// From start() until every task is settled and stop() has returned. With `put` the tasks are put
// meanwhile, otherwise before.
Worked work_off(const std::string& url, std::size_t tasks, bool put) {
  App app(url, {.log = [](std::string_view) {}});
  std::atomic<std::size_t> ran = 0;
  const HandlerOptions options{.concurrency = concurrency, .keep_completed = Keep{.last = 0}};
  app.handle<Email>("emails", options, [&](const Email&) {
    if (ran.fetch_add(1, std::memory_order_relaxed) + 1 == tasks) ran.notify_one();
  });
  const double wall = wall_seconds();
  const double cpu = process_cpu_seconds();
  require(app.start().has_value(), "the app did not start");
  if (put) put_all(app.client(), tasks);
  for (auto seen = ran.load(); seen != tasks; seen = ran.load()) ran.wait(seen);
  require(app.stop() == 0, "the app did not stop");
  const double seconds = wall_seconds() - wall;
  const QueueMetrics metrics = app.metrics("emails");
  require(metrics.completed == tasks, fmt::format("{} of {} done", metrics.completed, tasks));
  return {static_cast<double>(tasks) / seconds,
          (process_cpu_seconds() - cpu) * 1e6 / static_cast<double>(tasks)};
}

Worked live_in_journal(std::size_t tasks) {
  const TemporaryDirectory directory;
  return work_off("journal:" + directory.path(), tasks, true);
}

Line line_of(std::string_view name, const Scale& scale, const Ratio& ratio,
             std::string_view yardstick, double cpu_us) {
  Line line(name);
  line.add("durability", "fsync")
      .add("payload", std::uint64_t{payload_size})
      .add("tasks", std::uint64_t{scale.tasks})
      .add("concurrency", std::uint64_t{concurrency})
      .add("ours", ratio.ours)
      .add(yardstick, ratio.yardstick)
      .add("ratio", ratio.ratio)
      .add("ratio_min", ratio.least)
      .add("ratio_max", ratio.greatest)
      .add("cpu_us_per_task", cpu_us);
  return line;
}

void journal(const Scale& scale) {
  JournalLoad alone(batch);
  alone.fill(scale.waiting);
  const std::size_t batches = std::max<std::size_t>(1, scale.tasks / 3 / batch);
  Worked last;
  const Ratio ratio = by_turns(
      scale.rounds,
      [&] {
        last = live_in_journal(scale.tasks);
        return last.rate;
      },
      [&] { return alone.run(batches); });
  line_of("worker/journal", scale, ratio, "journal_lifecycle", last.cpu_us).print();
}

void http(const Scale& scale) {
  constexpr std::size_t connections = 4;
  TestServer server(own_directory() + "/../millrace", {"--log-level", "warning"});
  const std::string url = fmt::format("http://127.0.0.1:{}", server.port());
  Worked last;
  const Ratio ratio = by_turns(
      scale.rounds,
      [&] {
        Workers(server, connections, batch).fill(scale.tasks);
        last = work_off(url, scale.tasks, false);
        return last.rate;
      },
      [&] {
        Workers load(server, connections, batch);
        load.fill(scale.tasks);
        const double rate = load.work_for(scale.seconds).per_second;
        // Tasks that are left would be worked in the next round.
        while (load.waiting() != 0) load.work_for(scale.seconds);
        return rate;
      });
  line_of("worker/http", scale, ratio, "server_work", last.cpu_us).print();
}

}  // namespace
}  // namespace millrace::bench

int main(int argc, char** argv) {
  millrace::bench::Scale scale;
  std::vector<std::string_view> names;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--smoke") {
      scale = {.rounds = 1, .tasks = 3000, .waiting = 1000, .seconds = 0.05};
    } else if (word == "journal" || word == "http") {
      names.push_back(word);
    } else {
      fmt::print(stderr, "usage: worker_bench [--smoke] [journal] [http]\n");
      return 2;
    }
  }
  const auto wants = [&](std::string_view name) {
    return names.empty() || std::ranges::find(names, name) != names.end();
  };
  if (wants("journal")) millrace::bench::journal(scale);
  if (wants("http")) millrace::bench::http(scale);
}
