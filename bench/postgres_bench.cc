// Millrace on PostgreSQL beside Graphile Worker and pg-boss, on the same server and in the same
// run.
//
//   postgres_bench [--smoke] [FLAGS] [NAME...]     put-single put-batch work work-kept flat churn
//                                                  reads waiters; the first three if none
//   --rounds N      by turns (5)
//   --brokers N     of ours, as an application with so many processes has them (2)
//   --workers N     of each broker (4)
//   --no-peers      ours alone
//   --waiting N, --finished N, --held S   beside which `flat` works, and how long a snapshot is
//   held
//   --churn N       lives before the tables are measured (5,000,000)
//   --seconds S     what one figure of `reads` is measured for (2)
//   --stored N      tasks that `reads` reads (500,000); --warm leaves them in the page cache
//   --waiters N     clients that wait for a task each in `waiters` (10,000)
//   --program FILE  another program in the place of millrace, for `reads` and `waiters`
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/flags.h"
#include "bench/measure.h"
#include "bench/peers.h"
#include "bench/postgres_load.h"
#include "bench/postgres_reads.h"
#include "bench/processes.h"
#include "bench/reads.h"
#include "bench/require.h"
#include "store/store.h"
#include "tests/support/postgres_server.h"

namespace millrace::bench {
namespace {

struct Scale {
  int rounds = 5;
  std::size_t brokers = 2;
  std::size_t workers = 4;  // of each broker
  bool peers = true;
  std::size_t single = 40'000;  // tasks per round
  std::size_t batched = 200'000;
  std::size_t worked = 200'000;
  std::size_t waiting = 2'000'000;
  std::size_t finished = 5'000'000;
  double held = 120;  // seconds
  std::size_t churn = 5'000'000;
  ReadsSettings reads = {.rounds = 9, .stored = 500'000, .work_tasks = 20'000};
  bool warm = false;
  WaitersSettings waiters = {};
  std::string program = own_directory() + "/../millrace";
  bool smoke = false;
};

constexpr std::size_t in_flight = 32;
constexpr std::size_t batch = 1000;
constexpr std::size_t batches_in_flight = 8;
constexpr std::uint32_t taken_at_once = 500;

// Durable, as PostgreSQL comes; the memory is that of a small server.
test::PostgresOptions server_options() {
  return {.settings = {{"shared_buffers", "512MB"}, {"max_wal_size", "4GB"}}};
}

class Ours {
 public:
  Ours(test::PostgresServer& server, const Scale& scale)
      : server_(server), workers_(scale.workers) {
    server_.run_sql("drop schema if exists millrace cascade");
    for (std::size_t i = 0; i < scale.brokers; ++i) {
      brokers_.push_back(std::make_unique<PostgresBroker>(server_.url()));
    }
  }

  // Tasks per second.
  double put(std::size_t tasks, std::size_t size, std::size_t most) {
    put_all(tasks / 5, size, most);
    return rate(tasks, [&] { put_all(tasks, size, most); });
  }

  double work(std::size_t tasks) {
    put_all(tasks, batch, batches_in_flight);
    server_.run_sql("vacuum analyze millrace.tasks");  // as the peers' tables are
    return rate(tasks, [&] { work_off(tasks); });
  }

  // Whole lives for so long: as many tasks are put as are worked off. Tasks per second.
  double live(double seconds) {
    const double began = wall_seconds();
    std::size_t lived = 0;
    while (wall_seconds() - began < seconds) {
      put_all(life, batch, batches_in_flight);
      work_off(life);
      lived += life;
    }
    return static_cast<double>(lived) / (wall_seconds() - began);
  }

  // Adds tasks that wait in the same queue until later, and tasks that have ended.
  void fill(std::size_t waiting, std::size_t finished) {
    server_.run_sql(fmt::format(
        "insert into millrace.tasks (id, queue, state, priority, start, created_at, updated_at, "
        "type, payload) select gen_random_uuid(), q.queue, 2, 5, now() + interval '1 day', now(), "
        "now(), 'send-email', convert_to('{1}', 'UTF8') from millrace.queues q, "
        "generate_series(1, {0}) where q.name = 'emails'",
        waiting, payload_text()));
    server_.run_sql(fmt::format(
        "insert into millrace.finished (number, id, queue, state, priority, start, created_at, "
        "updated_at, type, payload, finished_at, class) select nextval('millrace.task_numbers'), "
        "gen_random_uuid(), q.queue, 5, 5, now(), now(), now(), 'send-email', "
        "convert_to('{1}', 'UTF8'), now(), q.completed_class from millrace.queues q, "
        "generate_series(1, {0}) where q.name = 'emails'",
        finished, payload_text()));
    server_.run_sql(fmt::format(
        "insert into millrace.count_changes select queue, 2, 5, {} from millrace.queues where name "
        "= 'emails' union all select queue, 5, 5, {} from millrace.queues where name = 'emails'",
        waiting, finished));
    server_.run_sql("vacuum analyze millrace.tasks, millrace.finished");
  }

  // Sets how long finished tasks stay.
  void keep(const Keep& keep) {
    std::promise<void> done;
    brokers_.front()->broker().put_queue(
        brokers_.front()->ask(), {.name = "emails", .keep_completed = keep}, PutQueue::replace,
        [&](const Result<Queue>& queue) {
          require(queue.has_value(), queue ? "" : queue.error().message);
          done.set_value();
        });
    done.get_future().wait();
  }

 private:
  static constexpr std::size_t life = 20'000;

  void work_off(std::size_t tasks) {
    std::atomic<std::size_t> worked = 0;
    std::vector<std::jthread> threads;
    for (auto& broker : brokers_) {
      for (std::size_t i = 0; i < workers_; ++i) {
        threads.emplace_back([&] { worked += broker->work_off(taken_at_once); });
      }
    }
    threads.clear();
    require(worked == tasks, fmt::format("{} of {} were worked off", worked.load(), tasks));
  }

  template <class Do>
  static double rate(std::size_t tasks, const Do& act) {
    const double began = wall_seconds();
    act();
    return static_cast<double>(tasks) / (wall_seconds() - began);
  }

  // Puts through all brokers; so many calls at a time in total.
  void put_all(std::size_t tasks, std::size_t size, std::size_t most) {
    std::vector<std::jthread> threads;
    for (auto& broker : brokers_) {
      threads.emplace_back([&] {
        InFlight calls(std::max<std::size_t>(1, most / brokers_.size()));
        for (std::size_t i = 0; i < tasks / brokers_.size() / size; ++i) broker->put(size, calls);
        calls.wait();
      });
    }
  }

  test::PostgresServer& server_;
  const std::size_t workers_;
  std::vector<std::unique_ptr<PostgresBroker>> brokers_;
};

struct Figures {
  std::vector<double> ours;
  std::vector<double> graphile;
  std::vector<double> pg_boss;
  std::vector<double> better;  // of the two, round by round
};

// Each side has the server for itself while it is measured.
template <class Of, class Graphile, class Boss>
void compare(std::string_view name, const Scale& scale, const Of& ours, const Graphile& graphile,
             const Boss& pg_boss) {
  Figures figures;
  for (int round = 0; round < scale.rounds; ++round) {
    figures.ours.push_back(ours());
    if (!scale.peers) continue;
    figures.graphile.push_back(graphile());
    figures.pg_boss.push_back(pg_boss());
    figures.better.push_back(std::max(figures.graphile.back(), figures.pg_boss.back()));
  }
  Line line(name);
  line.add("durability", "fsync").add("payload", std::uint64_t{payload_text().size()});
  if (!scale.peers) return line.add("ours", median(figures.ours)).print();
  const Ratio ratio = ratio_of(figures.ours, figures.better);
  line.add("ours", ratio.ours)
      .add("graphile", median(figures.graphile))
      .add("pg_boss", median(figures.pg_boss))
      .add("ratio", ratio.ratio)
      .add("ratio_min", ratio.least)
      .add("ratio_max", ratio.greatest)
      .print();
}

// Lives beside millions of other tasks, and with an open snapshot that keeps dead rows from being
// removed.
void flat(test::PostgresServer& server, const Scale& scale) {
  Ours ours(server, scale);
  ours.keep({.for_time = std::chrono::hours(24)});  // by age alone: filled-in tasks stay
  const double stretch = std::min(20.0, scale.held / 4);
  ours.live(stretch / 4);
  const double fresh = ours.live(stretch);
  ours.fill(scale.waiting, scale.finished);
  ours.live(stretch / 4);
  const double beside = ours.live(stretch);
  std::jthread holder([&] {
    server.run_sql(
        fmt::format("begin isolation level repeatable read; select 1; "
                    "select pg_sleep({}); rollback",
                    scale.held));
  });
  ours.live(scale.held - stretch);
  const double held = ours.live(stretch - 1);
  Line("postgres/flat")
      .add("waiting", std::uint64_t{scale.waiting})
      .add("finished", std::uint64_t{scale.finished})
      .add("held_seconds", scale.held)
      .add("fresh", fresh)
      .add("beside", beside)
      .add("with_snapshot", held)
      .add("ratio", beside / fresh)
      .add("ratio_with_snapshot", held / fresh)
      .print();
}

// What is left in the tables after so many lives.
void churn(test::PostgresServer& server, const Scale& scale) {
  Ours ours(server, scale);
  double seconds = 0;
  for (std::size_t lived = 0; lived < scale.churn;) {
    const double began = wall_seconds();
    lived += static_cast<std::size_t>(ours.live(10) * (wall_seconds() - began));
    seconds += wall_seconds() - began;
  }
  std::fprintf(stderr, "after %.0f s:\n%s\n", seconds,
               server
                   .run_sql("select relname, pg_size_pretty(pg_table_size(relid)) as table, "
                            "pg_size_pretty(pg_indexes_size(relid)) as indexes, n_live_tup, "
                            "n_dead_tup from pg_stat_user_tables where schemaname = 'millrace' and "
                            "pg_table_size(relid) > 65536 order by 1")
                   .c_str());
  const auto number = [&](const char* sql) { return std::stod(server.run_sql(sql)); };
  Line("postgres/churn")
      .add("lives", std::uint64_t{scale.churn})
      .add("table_bytes", number("select sum(pg_table_size(relid)) from pg_stat_user_tables where "
                                 "schemaname = 'millrace'"))
      .add("index_bytes",
           number("select sum(pg_indexes_size(relid)) from pg_stat_user_tables where "
                  "schemaname = 'millrace'"))
      .add("dead_tuples", number("select sum(n_dead_tup) from pg_stat_user_tables where schemaname "
                                 "= 'millrace'"))
      .print();
}

double work(test::PostgresServer& server, const Scale& scale, const Keep& keep) {
  Ours ours(server, scale);
  ours.keep(keep);
  return ours.work(scale.worked);
}

void run(const Scale& scale, const std::vector<std::string>& names) {
  const auto asked = [&](std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  };
  const auto wanted = [&](std::string_view name) { return names.empty() || asked(name); };
  test::PostgresServer server(server_options());
  Scale scale_alone = scale;
  const PostgresAddress address{server.socket_directory(), server.port()};
  std::unique_ptr<Peers> peers;
  if (scale.peers) peers = std::make_unique<Peers>();
  if (wanted("put-single")) {
    compare(
        "postgres/put-single", scale,
        [&] { return Ours(server, scale).put(scale.single, 1, in_flight); },
        [&] { return peers->graphile_put_single(address, {.tasks = scale.single / 10}); },
        [&] { return peers->pg_boss_put_single(address, {.tasks = scale.single / 4}); });
  }
  if (wanted("put-batch")) {
    compare(
        "postgres/put-batch", scale,
        [&] { return Ours(server, scale).put(scale.batched, batch, batches_in_flight); },
        [&] {
          return std::max(
              peers->graphile_put_batch(address, {.tasks = scale.batched, .batch = 100}),
              peers->graphile_put_batch(address, {.tasks = scale.batched, .batch = 1000}));
        },
        [&] {
          return std::max(
              peers->pg_boss_put_batch(address, {.tasks = scale.batched, .batch = 100}),
              peers->pg_boss_put_batch(address, {.tasks = scale.batched, .batch = 1000}));
        });
  }
  if (wanted("work")) {
    compare(
        "postgres/work", scale, [&] { return work(server, scale, {.last = 0}); },
        [&] { return peers->graphile_work(address, scale.worked, 2); },
        [&] { return peers->pg_boss_work(address, scale.worked, 1); });
  }
  if (asked("work-kept")) {
    scale_alone.peers = false;
    compare(
        "postgres/work-kept", scale_alone,
        [&] { return work(server, scale, Keep{.last = 100'000}); }, [] { return 0.0; },
        [] { return 0.0; });
  }
  if (asked("flat")) flat(server, scale);
  if (asked("churn")) churn(server, scale);
  const bool smoke = scale.smoke && names.empty();
  if (asked("reads") || smoke) {
    measure_postgres_reads(server, scale.program, scale.reads, scale.warm);
  }
  if (asked("waiters") || smoke) {
    measure_postgres_waiters(server, scale.program, scale.waiters);
  }
}

}  // namespace
}  // namespace millrace::bench

int main(int argc, char** argv) {
  using namespace millrace::bench;
  std::vector<std::string> words(argv + 1, argv + argc);
  Flags flags(words);
  Scale scale;
  if (flags.has("--smoke")) {
    scale = {.rounds = 1,
             .peers = false,
             .single = 500,
             .batched = 4000,
             .worked = 4000,
             .reads = {.rounds = 1, .seconds = 0.2, .stored = 4000, .work_tasks = 4000},
             .warm = true,  // dropping the thousand files of a new cluster takes seconds
             .waiters = {.rounds = 1, .seconds = 0.5, .waiters = 50},
             .smoke = true};
  }
  if (int rounds = 0; flags.number("--rounds", rounds), rounds != 0) {
    scale.rounds = scale.reads.rounds = scale.waiters.rounds = rounds;
  }
  flags.number("--brokers", scale.brokers);
  flags.number("--workers", scale.workers);
  if (flags.has("--no-peers")) scale.peers = false;
  flags.number("--waiting", scale.waiting);
  flags.number("--finished", scale.finished);
  flags.number("--held", scale.held);
  flags.number("--churn", scale.churn);
  flags.number("--seconds", scale.reads.seconds);
  flags.number("--stored", scale.reads.stored);
  flags.number("--waiters", scale.waiters.waiters);
  if (flags.has("--warm")) scale.warm = true;
  scale.program = flags.value("--program").value_or(scale.program);
  flags.refuse_others(
      {"put-single", "put-batch", "work", "work-kept", "flat", "churn", "reads", "waiters"});
  raise_file_limit();
  run(scale, words);
}
