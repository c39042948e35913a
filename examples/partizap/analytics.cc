// Counters, copies of data for fast reading, and a look at the queues themselves.
#include <fmt/format.h>

#include <memory>
#include <set>
#include <string>

#include "queues.h"

namespace partizap {
namespace {

using namespace std::chrono_literals;
using millrace::App;
using millrace::Client;
using millrace::Context;

constexpr std::uint64_t too_many = 1000;

// An alert for each queue that has too many tasks waiting, once until it has fewer again.
void watch_queues(Client& client, Services& services, std::set<std::string>& crowded) {
  for (const std::string name : queue_names) {
    const auto counts = client.counts(name);
    if (!counts) throw millrace::Failure(counts.error());
    if (counts->waiting() <= too_many) {
      crowded.erase(name);
    } else if (crowded.insert(name).second) {
      services.alert({.level = "warning",
                      .message = fmt::format("Queue is crowded: {}", name),
                      .data = {.error = fmt::format("{} tasks wait", counts->waiting())}});
    }
  }
}

// The tables become tasks in the commit that ends this one: all of them or none.
millrace::Result<void> sync_tables(const SyncTablesJob& job, Context& task) {
  for (const Table table : job.tables) {
    auto put = task.put("analytics", SyncDenormalizedDataJob{table}, {.type = "sync-table"});
    if (!put) return put;
  }
  return {};
}

}  // namespace

Analytics add_analytics(App& app, Services& services) {
  add_queue(app, services, "analytics", {.concurrency = 2, .priority = low});

  app.handle_type<SyncTablesJob>("analytics", "sync-denormalized", sync_tables);
  app.cron("0 3 * * *", "scheduled-sync-denormalized", {},
           {.queue = "analytics",
            .type = "sync-denormalized",
            .payload = millrace::encode(
                SyncTablesJob{{Table::users, Table::products, Table::categories}})});

  app.handle_type<WatchQueuesJob>("analytics", "watch-queues",
                                  [&app, &services, crowded = std::set<std::string>()]() mutable {
                                    watch_queues(app.client(), services, crowded);
                                  });
  app.every(1min, "scheduled-watch-queues", {},
            {.queue = "analytics", .type = "watch-queues", .payload = "{}"});

  return {
      .update_counters = app.handle_type<UpdateCountersJob>(
          "analytics", "update-counters",
          [&services](const UpdateCountersJob& job) {
            services.database.update_counter(job.type, job.entityId);
          }),
      .sync_table = app.handle_type<SyncDenormalizedDataJob>(
          "analytics", "sync-table",
          [&services](const SyncDenormalizedDataJob& job, Context& task) {
            services.database.sync(job.table, task.now());
          }),
  };
}

}  // namespace partizap
