// Tasks that wait for each other, beside as many that do not: put, and worked off by one worker
// that settles what it has and takes up to 1,000 in each call. On one core over the state machine
// in memory; with --postgres over a PostgreSQL that keeps its commits, without its flushes.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/measure.h"
#include "bench/require.h"
#include "core/clock.h"
#include "core/limits.h"
#include "core/uuid.h"
#include "store/embedded/memory.h"
#include "store/postgres/postgres.h"
#include "store/store.h"
#include "tests/support/postgres_server.h"

namespace millrace {
namespace {

constexpr std::size_t batch = 1000;
constexpr std::size_t payload_size = 260;

// The places of the tasks that a task waits for; always earlier ones.
using Parents = std::function<std::vector<std::size_t>(std::size_t place)>;
using Open = std::function<std::unique_ptr<Store>()>;  // an empty store, or as good as that

class Run {
 public:
  explicit Run(const Open& open) : store_(open()) {
    QueueSettings queue{.name = "etl", .id = Uuid{{1}}};
    queue.keep_completed.last = 0;
    bench::require(store_->put_queue(queue, PutQueue::create, now_).has_value(), "put_queue");
  }

  // Seconds until all are done.
  double run(std::size_t count, const Parents& parents) {
    const std::vector<NewTask> tasks = make(count, parents);
    const double before = bench::wall_seconds();
    for (std::size_t put = 0; put < tasks.size(); put += batch) {
      const auto part = std::span(tasks).subspan(put, std::min(batch, tasks.size() - put));
      const auto puts = store_->put(part, now_ += Duration(1));
      bench::require(puts && puts->back().has_value(), "put");
    }
    work_off(count);
    return bench::wall_seconds() - before;
  }

 private:
  std::vector<NewTask> make(std::size_t count, const Parents& parents) {
    std::vector<NewTask> tasks(count);
    for (std::size_t i = 0; i < count; ++i) {
      tasks[i].id = {ids_.next(now_)};
      tasks[i].queue = "etl";
      tasks[i].type = "step";
      tasks[i].payload = std::string(payload_size, 'x');
      const auto places = parents(i);
      if (places.empty()) continue;
      tasks[i].after.emplace();
      for (const std::size_t place : places) tasks[i].after->tasks.push_back(tasks[place].id);
    }
    return tasks;
  }

  void work_off(std::size_t count) {
    const TakeRequest take{.worker = "worker-1", .queues = {{"etl", batch}}};
    std::vector<Settlement> settlements;
    for (std::size_t done = 0; done < count;) {
      auto result = store_->work(settlements, {}, {&take, 1}, now_ += Duration(1));
      bench::require(result && result->taken.front().has_value(), "work");
      done += settlements.size();
      settlements.clear();
      for (const Lease& lease : *result->taken.front()) {
        settlements.push_back({.id = lease.id, .expect = Held{lease.token}});
      }
      if (result->more) bench::require(store_->advance(now_, batch).has_value(), "advance");
    }
  }

  std::unique_ptr<Store> store_;
  UuidSource ids_{1};
  TimePoint now_{std::chrono::hours(24 * 365 * 56)};
};

struct Subject {
  std::string_view store;
  Open open;
  int rounds;
  std::size_t fewer;  // tasks, by this factor
};

void compare(const Subject& subject, std::string_view name, std::size_t count,
             const Parents& parents) {
  const auto speed = [&](const Parents& of) {
    Run run(subject.open);
    return static_cast<double>(count) / run.run(count, of);
  };
  const auto ratio = bench::by_turns(
      subject.rounds, [&] { return speed(parents); },
      [&] { return speed([](std::size_t) { return std::vector<std::size_t>(); }); });
  bench::Line(name)
      .add("store", subject.store)
      .add("tasks", std::uint64_t{count})
      .add("payload", std::uint64_t{payload_size})
      .add("ours", ratio.ours)
      .add("plain", ratio.yardstick)
      .add("ratio", ratio.ratio)
      .add("ratio_min", ratio.least)
      .add("ratio_max", ratio.greatest)
      .print();
}

std::vector<std::size_t> before(std::size_t from, std::size_t count) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < count; ++i) places.push_back(from + i);
  return places;
}

void all(const Subject& subject) {
  const std::size_t few = subject.fewer;
  compare(subject, "graph/chain", 10'000 / few,
          [](std::size_t i) { return i == 0 ? before(0, 0) : before(i - 1, 1); });
  compare(subject, "graph/fan-out", 1 + (100'000 / few),
          [](std::size_t i) { return i == 0 ? before(0, 0) : before(0, 1); });
  // A task waits for 1,000 at most: ten wait for those, and one for the ten.
  const std::size_t members = 10'000 / few;
  compare(subject, "graph/fan-in", members + 11, [members](std::size_t i) {
    if (i < members) return before(0, 0);
    return i < members + 10 ? before((i - members) * (members / 10), members / 10)
                            : before(members, 10);
  });
  // Each task of a layer waits for four of the layer before.
  constexpr std::size_t layer = 500;
  compare(subject, "graph/layers", few == 100 ? 2 * layer : 20 * layer, [](std::size_t i) {
    if (i < layer) return before(0, 0);
    std::vector<std::size_t> places;
    const std::size_t above = (i / layer - 1) * layer;
    for (std::size_t k = 0; k < 4; ++k) places.push_back(above + ((i * 7 + k * 131) % layer));
    return places;
  });
}

void on_postgres(bool smoke) {
  test::PostgresServer server({.settings = {{"shared_buffers", "256MB"}, {"max_wal_size", "4GB"}}});
  SystemClock clock;
  // A schema of its own for each run: what the last one has left behind must not slow it down.
  int schemas = 0;
  const auto open = [&]() -> std::unique_ptr<Store> {
    PostgresOptions options{.url = server.url()};
    options.schema = "run" + std::to_string(++schemas);
    auto store = open_postgres(options, clock);
    bench::require(store.has_value(), "open_postgres");
    return std::move(*store);
  };
  all({.store = "postgres", .open = open, .rounds = smoke ? 1 : 5, .fewer = smoke ? 100U : 10U});
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
  bool smoke = false;
  bool postgres = false;
  for (int i = 1; i < argc; ++i) {
    smoke = smoke || std::string_view(argv[i]) == "--smoke";
    postgres = postgres || std::string_view(argv[i]) == "--postgres";
  }
  if (!postgres || smoke) {
    millrace::all({.store = "memory",
                   .open = millrace::open_memory,
                   .rounds = smoke ? 1 : 9,
                   .fewer = smoke ? 100U : 1U});
  }
  if (postgres || smoke) millrace::on_postgres(smoke);
  return 0;
}
