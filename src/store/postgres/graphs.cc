// Tasks that wait for others. The rules are those of store/embedded/graph.cc; here is what they
// need of the tables: with a task that may end, those that wait for it, as many as may be told now.
#include <fmt/format.h>

#include <algorithm>

#include "core/graph.h"
#include "core/limits.h"
#include "core/uuid.h"
#include "store/embedded/verbs.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/row.h"
#include "store/postgres/sql.h"

namespace millrace::store_postgres {
namespace {

constexpr std::size_t most_parents_known = 100'000;
constexpr std::size_t parents_at_once = 1000;  // that tell the rest

}  // namespace

// ---- Reading ------------------------------------------------------------------------------------

// `parents`: the tasks that were read and that others wait for.
PostgresStore::Answer<void> PostgresStore::read_parents(Connection& connection,
                                                        const Reading& reading,
                                                        std::vector<Uuid>& parents) {
  // A task that is to be waited for may have been revived between the two tables.
  std::vector<Uuid> missing;
  for (const Uuid& id : reading.parents) {
    if (!book_.has({id})) missing.push_back(id);
  }
  std::ranges::sort(missing);
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  if (auto got = read_tasks(connection, missing); !got) return got;
  std::ranges::sort(parents);
  std::vector<Parent> ends;
  for (const Uuid& id : reading.ends) {
    if (std::ranges::binary_search(parents, id)) ends.push_back({.id = {id}});
  }
  for (const Uuid& id : reading.restored_ends) ends.push_back({.id = {id}});
  return read_children(connection, ends, limits::max_told, limits::max_told_by_call);
}

PostgresStore::Answer<void> PostgresStore::read_children(Connection& connection,
                                                         const std::vector<Parent>& parents,
                                                         std::size_t each, std::size_t most) {
  if (parents.empty()) return {};
  postgres::Array<Uuid> ids;
  postgres::Array<std::int64_t> nexts;
  for (const Parent& parent : parents) {
    ids.push(parent.id.value), nexts.push(static_cast<std::int64_t>(parent.next));
  }
  const Batch find =
      batch_of(sql::Children{.parents = ids,
                             .nexts = nexts,
                             .each = static_cast<std::int64_t>(each + 1),
                             .most = static_cast<std::int64_t>(most + parents.size())});
  auto answer = connection.send(find.statements());
  if (!answer) return std::unexpected(std::move(answer.error()));
  using At = sql::EdgeColumns;
  const postgres::Rows& rows = answer->front();
  std::vector<std::pair<embedded::Edge, TaskId>> edges;
  std::vector<Uuid> children;
  std::optional<TaskId> last;
  for (std::size_t i = 0, of_parent = 0; i < rows.size(); ++i) {
    embedded::Edge edge;
    edge.parent = {rows.get<Uuid>(i, At::parent)};
    edge.child = rows.get<std::uint64_t>(i, At::edge);
    if (last != edge.parent) of_parent = 0;
    last = edge.parent;
    if (of_parent == each || edges.size() == most) {
      book_.cut(edge);
      continue;
    }
    ++of_parent;
    const TaskId child{rows.get<Uuid>(i, At::child)};
    edges.emplace_back(edge, child);
    if (!book_.has(child)) children.push_back(child.value);
  }
  std::ranges::sort(children);
  children.erase(std::unique(children.begin(), children.end()), children.end());
  if (!children.empty()) {
    postgres::Array<Uuid> array;
    for (const Uuid& id : children) array.push(id);
    const Batch load = batch_of(sql::LoadTasks{.ids = array});
    auto loaded = connection.send(load.statements());
    if (!loaded) return std::unexpected(std::move(loaded.error()));
    if (auto entered = enter_rows(loaded->front()); !entered) return entered;
  }
  for (const auto& [edge, child] : edges) enter_edge(edge, child);
  return {};
}

// One to a task that no longer waits is forgotten. One to a task that cannot be read keeps the
// parent as it is: a newer server may tell it.
void PostgresStore::enter_edge(const embedded::Edge& edge, const TaskId& child) {
  const auto good = book_.check_readable(child);
  if (good) return book_.enter(edge);
  book_.hold_back(edge.parent, fmt::format("task {} waits for it, and {}", to_text(child.value),
                                           good.error().message));
}

void PostgresStore::remember_parent(const TaskId& id) {
  if (parents_.size() == most_parents_known) parents_.clear();
  parents_.insert(id);
}

// ---- Verbs --------------------------------------------------------------------------------------

Result<std::vector<Put>> PostgresStore::put_all(std::span<const NewTask> tasks, TimePoint now) {
  using Puts = std::vector<Put>;
  if (auto good = validate_all(tasks, now); !good) return std::unexpected(std::move(good.error()));
  return flat(change("put tasks", now, [&](Connection& connection) -> Answer<Result<Puts>> {
    Reading reading;
    for (const NewTask& task : tasks) add_reading(task, reading);
    if (auto got = read(connection, reading); !got) return std::unexpected(got.error());
    embedded::QueueFinder queues(state());
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      auto good = unreadable_rates_.check(queues.find(tasks[i].queue), "put a task");
      if (good) continue;
      return Result<Puts>(
          std::unexpected(inside(fmt::format("tasks[{}]", i), std::move(good)).error()));
    }
    auto puts = embedded::put_all(state(), tasks, now);
    if (!puts) return puts;  // rolled back
    Batch batch;
    if (auto put = write(connection, batch, now); !put) return std::unexpected(put.error());
    return puts;
  }));
}

PostgresStore::Answer<void> PostgresStore::tell(Connection& connection, TimePoint now,
                                                std::size_t& left, std::size_t& promoted) {
  if (left == 0) return {};
  const Batch next =
      batch_of(sql::NextUntold{.most = static_cast<std::int64_t>(std::min(left, parents_at_once))});
  auto answer = connection.send(next.statements());
  if (!answer) return std::unexpected(std::move(answer.error()));
  const postgres::Rows& rows = answer->front();
  tells_later_ = false;
  if (rows.empty()) return {};
  std::vector<Uuid> ids;
  std::vector<Parent> parents;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    using At = sql::UntoldColumns;
    ids.push_back(rows.get<Uuid>(i, At::parent));
    parents.push_back({.id = {ids.back()}, .next = rows.get<std::uint64_t>(i, At::next)});
  }
  if (auto got = read_tasks(connection, ids); !got) return got;
  if (auto got = read_children(connection, parents, left, left); !got) return got;
  for (const Parent& parent : parents) {
    if (!book_.check_readable(parent.id)) book_.leave_untold(parent.id);
  }
  const std::size_t told = embedded::tell_untold(state(), now, left);
  promoted += told;
  left -= told;
  // There may be more of them.
  if (rows.size() == parents_at_once && told != 0) left = 0;
  auto applied = apply(connection);
  tells_later_ = left == 0;
  return applied;
}

}  // namespace millrace::store_postgres
