#include "bench/postgres_reads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/http_load.h"
#include "bench/measure.h"
#include "bench/processes.h"
#include "bench/require.h"
#include "bench/server_load.h"

namespace millrace::bench {
namespace {

constexpr double waiters_most = 0.1;  // cores

TestServer fresh_server(test::PostgresServer& database, const std::string& program) {
  database.run_sql("drop schema if exists millrace cascade");
  return {program, database.url(), {"--log-level", "warning"}};
}

std::vector<std::string> put_tasks(TestServer& server, std::size_t tasks) {
  static constexpr std::string_view id_member = R"("id":")";
  HttpLoad load(server.port(), 1);
  std::vector<std::string> ids;
  while (ids.size() < tasks) {
    const std::size_t count = std::min<std::size_t>(tasks - ids.size(), 500);
    const Reply reply = load.ask(0, put_request(std::max<std::size_t>(count, 2)));
    require(reply.status == 200, reply.body);
    for (std::size_t at = reply.body.find(id_member); at != std::string::npos;
         at = reply.body.find(id_member, at + 1)) {
      ids.push_back(reply.body.substr(at + id_member.size(), 36));
    }
  }
  ids.resize(tasks);
  return ids;
}

// Processor time of the server and of all of PostgreSQL.
class Cores {
 public:
  Cores(TestServer& server, test::PostgresServer& database)
      : server_(server), database_(database) {}

  struct Used {
    double server = 0;
    double database = 0;

    double both() const { return server + database; }
  };
  // While `load` only waits for answers, of which there must be none.
  Used during(double seconds, HttpLoad& load) {
    const double server_before = server_.process().cpu_seconds();
    const double database_before = cpu_seconds_with_children(database_.pid());
    const double begin = wall_seconds();
    load.run(begin + seconds, [](const Answer& answer) {
      require(false,
              fmt::format("a client was answered too early: {} {}", answer.status, answer.body));
    });
    const double took = wall_seconds() - begin;
    return {.server = (server_.process().cpu_seconds() - server_before) / took,
            .database = (cpu_seconds_with_children(database_.pid()) - database_before) / took};
  }

 private:
  TestServer& server_;
  test::PostgresServer& database_;
};

struct WaitersFigures {
  std::vector<double> idle = {};
  std::vector<double> server = {};
  std::vector<double> database = {};
  std::vector<double> more = {};  // both, less the idle figure
};

void print(const WaitersSettings& settings, const WaitersFigures& figures) {
  Line("postgres/waiters")
      .add("unit", "cores")
      .add("waiters", std::uint64_t{settings.waiters})
      .add("seconds", settings.seconds)
      .add("ours", median(figures.more))
      .add("most", waiters_most)
      .add("ratio", median(figures.more) / waiters_most)
      .add("ratio_min", std::ranges::min(figures.more) / waiters_most)
      .add("ratio_max", std::ranges::max(figures.more) / waiters_most)
      .add("server", median(figures.server))
      .add("database", median(figures.database))
      .add("idle", median(figures.idle))
      .print();
}

}  // namespace

void measure_postgres_reads(test::PostgresServer& database, const std::string& program,
                            ReadsSettings settings, bool warm) {
  TestServer server = fresh_server(database, program);
  if (!warm) settings.directory = database.socket_directory() + "/data";
  settings.loaded = [&] {
    database.run_sql("vacuum analyze millrace.tasks, millrace.finished");
    database.run_sql("checkpoint");
  };
  measure_reads("postgres", server, settings);
}

void measure_postgres_waiters(test::PostgresServer& database, const std::string& program,
                              const WaitersSettings& settings) {
  TestServer server = fresh_server(database, program);
  make_queue(server);
  const std::vector<std::string> ids = put_tasks(server, settings.waiters);
  const double settled_after = std::min(2.0, settings.seconds);
  Cores cores(server, database);
  WaitersFigures figures;
  for (int round = 0; round < settings.rounds; ++round) {
    HttpLoad load(server.port());
    cores.during(settled_after, load);
    figures.idle.push_back(cores.during(settings.seconds, load).both());
    for (const std::string& id : ids) {
      load.send(load.connect(), http_request("GET", fmt::format("/v1/tasks/{}?wait=60s", id)));
    }
    cores.during(settled_after, load);
    const Cores::Used used = cores.during(settings.seconds, load);
    figures.server.push_back(used.server);
    figures.database.push_back(used.database);
    figures.more.push_back(used.both() - figures.idle.back());
  }
  print(settings, figures);
}

}  // namespace millrace::bench
