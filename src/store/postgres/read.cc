#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "core/limits.h"
#include "core/uuid.h"
#include "store/embedded/verbs.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/row.h"
#include "store/postgres/sql.h"

namespace millrace::store_postgres {
namespace {

using embedded::QueueEntry;

// Entries per statement of a walk: those that a filter leaves out are read, too.
constexpr std::uint32_t walked_at_once = 1000;

// A statement reads a few full rows at first, and then as many as make up this many bytes.
constexpr std::uint32_t first_full_step = 64;
constexpr std::size_t bytes_at_once = 4 * limits::mib;

std::uint32_t next_full_step(const TaskPage& page, std::size_t bytes) {
  const std::size_t each = bytes / std::max<std::size_t>(page.tasks.size(), 1) + 1;
  return static_cast<std::uint32_t>(
      std::clamp<std::size_t>(bytes_at_once / each, 4, walked_at_once));
}

bool matches(const Row& row, const ListRequest& request) {
  if (request.priority && row.slot.priority != *request.priority) return false;
  if (request.type && row.given.type != *request.type) return false;
  if (request.client_id && row.given.client_id != *request.client_id) return false;
  if (request.group && row.given.group != *request.group) return false;
  const auto& tags = row.given.tags;
  if (request.tag && std::ranges::find(tags, *request.tag) == tags.end()) return false;
  if (request.created_from && row.created_at < *request.created_from) return false;
  return !request.created_until || row.created_at < *request.created_until;
}

bool has_filter(const ListRequest& request) {
  return request.type || request.client_id || request.group || request.tag || request.priority ||
         request.created_from || request.created_until;
}

Result<void> check(const ListRequest& request) {
  if (request.limit < 1 || request.limit > limits::max_page) {
    return fail(ErrorCode::invalid,
                fmt::format("limit is {}; 1 to {} are allowed", request.limit, limits::max_page));
  }
  if (request.priority && *request.priority > limits::max_priority) {
    return fail(ErrorCode::invalid,
                fmt::format("priority is {}; 0 to {} are allowed", *request.priority,
                            limits::max_priority));
  }
  return {};
}

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

// Leaves out what find() was not asked for.
void leave_out(Task& task, Parts parts) {
  if (!parts.payload) task.payload.clear();
  if (parts.notes) return;
  task.result.clear(), task.log.clear(), task.history.clear();
  task.error.reset(), task.delivery.reset(), task.progress = 0;
}

// Leaves out what a list that is not full does not have.
void leave_out(Task& task) {
  task.payload.clear(), task.result.clear(), task.log.clear(), task.history.clear();
}

}  // namespace

Result<Task> PostgresStore::find_number(TaskNumber number) {
  return flat(look("find a task", [&](Connection& connection) -> Answer<Result<Task>> {
    Batch batch;
    batch.add(sql::version);
    batch.add(sql::FindNumber{.number = static_cast<std::int64_t>(number.value)});
    auto answer = connection.commit(batch.statements());
    if (!answer) return std::unexpected(std::move(answer.error()));
    if (auto fresh = check_version(answer->front()); !fresh) {
      return std::unexpected(fresh.error());
    }
    const postgres::Rows& rows = answer->back();
    if (rows.empty()) {
      return Result<Task>(
          fail(ErrorCode::not_found, fmt::format("there is no task number {}", number.value)));
    }
    const Row row = read_row(rows, 0);
    if (!row.unreadable.empty()) return Result<Task>(unreadable_task(row, "find a task"));
    return task_of(row, queue_name(row.slot.queue));
  }));
}

// All tasks that are named by their ids, in one statement; the others stay unknown.
PostgresStore::Answer<std::vector<Result<Task>>> PostgresStore::find_ids(
    Connection& connection, std::span<const TaskRef> tasks, Parts parts) {
  postgres::Array<Uuid> ids;
  std::unordered_multimap<Uuid, std::size_t, UuidHash> places;
  std::vector<Result<Task>> found;
  for (const TaskRef& ref : tasks) {
    const auto* id = std::get_if<TaskId>(&ref);
    if (id != nullptr) ids.push(id->value);
    if (id != nullptr) places.emplace(id->value, found.size());
    found.emplace_back(embedded::unknown_task(id != nullptr ? *id : TaskId{}));
  }
  const bool heads = !parts.payload && !parts.notes;
  Batch batch;
  batch.add(sql::version);
  batch.add(sql::Find{.ids = ids}, heads ? sql::find_heads : sql::find);
  auto answer = connection.commit(batch.statements());
  if (!answer) return std::unexpected(std::move(answer.error()));
  if (auto fresh = check_version(answer->front()); !fresh) return std::unexpected(fresh.error());
  const postgres::Rows& rows = answer->back();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    // A task that cannot be read must not hide the others.
    const Row row = read_row(rows, i);
    Result<Task> task = row.unreadable.empty() ? Result<Task>(task_of(row, queue_name(row.slot.queue)))
                                               : unreadable_task(row, "find a task");
    if (task) leave_out(*task, parts);
    const auto [first, last] = places.equal_range(rows.get<Uuid>(i, sql::RowColumns::id));
    for (auto at = first; at != last; ++at) found[at->second] = task;
  }
  return found;
}

Result<std::vector<Result<Task>>> PostgresStore::find(std::span<const TaskRef> tasks, Parts parts) {
  if (auto good = check_batch(tasks.size()); !good) return std::unexpected(good.error());
  auto found = look("find tasks",
                    [&](Connection& connection) { return find_ids(connection, tasks, parts); });
  if (!found) return found;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const auto* number = std::get_if<TaskNumber>(&tasks[i]);
    if (number == nullptr) continue;
    auto task = find_number(*number);
    const bool answered = task || task.error().code == ErrorCode::not_found ||
                          task.error().code == ErrorCode::corrupt;
    if (!answered) return std::unexpected(task.error());
    if (task) leave_out(*task, parts);
    (*found)[i] = std::move(task);
  }
  return found;
}

Result<TaskPage> PostgresStore::list(const ListRequest& request) {
  if (auto good = check(request); !good) return std::unexpected(good.error());
  return flat(look("list tasks", [&](Connection& connection) -> Answer<Result<TaskPage>> {
    postgres::Array<std::int32_t> queues;
    if (request.queue) {
      const QueueEntry* queue = state().queue(*request.queue);
      if (queue == nullptr) {
        if (auto fresh = check_fresh(connection); !fresh) {
          return std::unexpected(fresh.error());
        }
        return Result<TaskPage>(embedded::unknown_queue(*request.queue));
      }
      queues.push(queue->index);
    } else {
      for (const auto& [name, index] : state().queue_names()) queues.push(index);
    }
    postgres::Array<std::int16_t> states;
    for (std::size_t i = 0; i < state_count; ++i) {
      const auto wanted = static_cast<TaskState>(i);
      if (request.states.empty() ||
          std::ranges::find(request.states, wanted) != request.states.end()) {
        states.push(static_cast<std::int16_t>(i));
      }
    }
    return walk(connection, request, queues, states);
  }));
}

// Reads the tables in pieces until the page asked for is full or enough was looked at.
PostgresStore::Answer<Result<TaskPage>> PostgresStore::walk(
    Connection& connection, const ListRequest& request, const postgres::Array<std::int32_t>& queues,
    const postgres::Array<std::int16_t>& states) {
  TaskPage page;
  std::size_t bytes = 0;
  auto before = static_cast<std::int64_t>(
      std::min<std::uint64_t>(request.before ? request.before->value : INT64_MAX, INT64_MAX));
  std::uint32_t step = has_filter(request) ? walked_at_once : request.limit + 1;
  if (request.full) step = std::min(step, first_full_step);
  for (;;) {
    Batch batch;
    batch.add(sql::version);
    batch.add(sql::List{.queues = queues,
                        .states = states,
                        .before = before,
                        .from = static_cast<std::int64_t>(request.from.value),
                        .most = static_cast<std::int64_t>(step)},
              request.full ? sql::list_full : sql::list);
    auto answer = connection.send(batch.statements());
    if (!answer) return std::unexpected(std::move(answer.error()));
    if (auto fresh = check_version(answer->front()); !fresh) return std::unexpected(fresh.error());
    const postgres::Rows& rows = answer->back();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Row row = read_row(rows, i);
      if (page.tasks.size() == request.limit || page.looked_at == limits::max_walk ||
          bytes >= limits::max_taken_bytes) {
        page.next = TaskNumber{row.slot.number + 1};
        return page;
      }
      ++page.looked_at;
      before = static_cast<std::int64_t>(row.slot.number);
      // A task that this program cannot read is left out, so that it does not hide the others.
      if (!row.unreadable.empty() || !matches(row, request)) continue;
      Task& task = page.tasks.emplace_back(task_of(row, queue_name(row.slot.queue)));
      if (!request.full) leave_out(task);
      bytes += task.payload.size() + task.result.size();
    }
    if (rows.size() < step) return page;
    if (request.full) step = next_full_step(page, bytes);
  }
}

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
