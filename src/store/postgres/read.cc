#include <unordered_map>

#include "store/embedded/verbs.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/sql.h"

namespace millrace::store_postgres {

namespace {

using embedded::QueueEntry;

using Places = std::unordered_map<std::int32_t, std::size_t>;  // of queues

// Rows of counts.sql.
void add_sums(const postgres::Rows& sums, const Places& places, std::vector<QueueCounts>& counts) {
  using At = sql::CountsColumns;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto state = sums.get<std::int16_t>(i, At::state);
    if (state >= book::own_finished) continue;
    const auto priority = static_cast<std::size_t>(sums.get<std::int16_t>(i, At::priority));
    counts[places.at(sums.get<std::int32_t>(i, At::queue))]
        .by[static_cast<std::size_t>(state)][priority] = sums.get<std::uint64_t>(i, At::count);
  }
}

}  // namespace

Result<std::vector<QueueCounts>> PostgresStore::counts(const std::optional<QueueRef>& queue,
                                                       TimePoint now) {
  using Counts = std::vector<QueueCounts>;
  return flat(look("count tasks", [&](Connection& connection) -> Answer<Result<Counts>> {
    std::vector<std::uint16_t> indexes;
    if (queue) {
      const QueueEntry* entry = state().queue(*queue);
      if (entry == nullptr) {
        if (auto fresh = check_fresh(connection); !fresh) {
          return std::unexpected(fresh.error());
        }
        return Result<Counts>(embedded::unknown_queue(*queue));
      }
      indexes.push_back(entry->index);
    } else {
      for (const auto& [name, index] : state().queue_names()) indexes.push_back(index);
    }
    postgres::Array<std::int32_t> queues;
    Places places;
    Counts counts;
    for (const std::uint16_t index : indexes) {
      queues.push(index);
      places[index] = counts.size();
      const QueueSettings& settings = state().queue_at(index).settings();
      counts.push_back({.queue = settings.name, .number = settings.number});
    }
    Batch batch;
    batch.add(sql::version);
    const std::size_t counted = batch.add(sql::Counts{.queues = queues});
    const std::size_t oldest_at = batch.add(sql::Oldest{.queues = queues, .now = now});
    auto answer = connection.commit(batch.statements());
    if (!answer) return std::unexpected(std::move(answer.error()));
    if (auto fresh = check_version(answer->front()); !fresh) {
      return std::unexpected(fresh.error());
    }
    add_sums((*answer)[counted], places, counts);
    const postgres::Rows& oldest = (*answer)[oldest_at];
    for (std::size_t i = 0; i < oldest.size(); ++i) {
      using At = sql::OldestColumns;
      counts[places.at(oldest.get<std::int32_t>(i, At::queue))].oldest =
          oldest.get<TimePoint>(i, At::start);
    }
    return counts;
  }));
}

}  // namespace millrace::store_postgres
