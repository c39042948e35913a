#include <unordered_map>

#include "store/embedded/verbs.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/sql.h"

namespace millrace::store_postgres {

using embedded::QueueEntry;

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
    std::unordered_map<std::int32_t, std::size_t> places;
    Counts counts;
    for (const std::uint16_t index : indexes) {
      queues.push(index);
      places[index] = counts.size();
      const QueueSettings& settings = state().queue_at(index).settings();
      counts.push_back({.queue = settings.name, .number = settings.number});
    }
    Batch batch;
    batch.add(sql::version);
    batch.add(sql::Counts{.queues = queues});
    batch.add(sql::Oldest{.queues = queues, .now = now});
    auto answer = connection.commit(batch.statements());
    if (!answer) return std::unexpected(std::move(answer.error()));
    if (auto fresh = check_version((*answer)[0]); !fresh) {
      return std::unexpected(fresh.error());
    }
    const postgres::Rows& sums = (*answer)[1];
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (sums.get<std::int16_t>(i, 1) >= book::own_finished) continue;
      QueueCounts& to = counts[places.at(sums.get<std::int32_t>(i, 0))];
      to.by[static_cast<std::size_t>(sums.get<std::int16_t>(i, 1))]
           [static_cast<std::size_t>(sums.get<std::int16_t>(i, 2))] = sums.get<std::uint64_t>(i, 3);
    }
    const postgres::Rows& oldest = (*answer)[2];
    for (std::size_t i = 0; i < oldest.size(); ++i) {
      counts[places.at(oldest.get<std::int32_t>(i, 0))].oldest = oldest.get<TimePoint>(i, 1);
    }
    return counts;
  }));
}

}  // namespace millrace::store_postgres
