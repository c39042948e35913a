// Lists, page by page.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "core/limits.h"
#include "store/embedded/state.h"
#include "store/embedded/verbs.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/row.h"
#include "store/postgres/sql.h"

namespace millrace::store_postgres {
namespace {

using embedded::QueueEntry;

// A page is read in steps, each a statement with a time limit (open.cc). With a filter the first
// steps are small, so that a slow server gives a short page instead of none.
constexpr std::uint32_t first_step = 250;
constexpr std::chrono::milliseconds quick{500};
// No step begins later than this, so a page takes this long and the time limit of one statement.
constexpr std::chrono::seconds longest_page{5};

// The columns of list.sql beside those of a task.
constexpr std::size_t walked_column = sql::RowColumns::waits + 1;
constexpr std::size_t next_column = walked_column + 1;
constexpr std::size_t bytes_column = next_column + 1;

bool has_filter(const ListRequest& request) {
  return request.type || request.client_id || request.group || request.tag || request.priority ||
         request.created_from || request.created_until;
}

Result<void> check(const ListRequest& request) {
  if (request.limit < 1 || request.limit > limits::max_page) {
    return fail(ErrorCode::invalid,
                fmt::format("limit is {}; 1 to {} are allowed", request.limit, limits::max_page),
                "limit");
  }
  if (request.priority && *request.priority > limits::max_priority) {
    return fail(
        ErrorCode::invalid,
        fmt::format("priority is {}; 0 to {} are allowed", *request.priority, limits::max_priority),
        "priority");
  }
  return {};
}

// As bytes: PostgreSQL refuses texts that are not UTF-8, and no task has one.
std::optional<postgres::Bytes> bytes_of(const std::optional<std::string>& text) {
  return text ? std::optional(postgres::Bytes{*text}) : std::nullopt;
}

// Leaves out what a list that is not full does not have.
void leave_out(Task& task) {
  task.payload.clear(), task.result.clear(), task.log.clear(), task.history.clear();
  task.checkpoint.clear(), task.answer.reset();
}

bool is_stopped(const postgres::Failure& failure) {
  return failure.state == "57014";
}

postgres::Array<std::int16_t> states_of(const ListRequest& request) {
  postgres::Array<std::int16_t> states;
  for (std::size_t i = 0; i < state_count; ++i) {
    const auto wanted = static_cast<TaskState>(i);
    if (request.states.empty() ||
        std::ranges::find(request.states, wanted) != request.states.end()) {
      states.push(static_cast<std::int16_t>(i));
    }
  }
  return states;
}

// What list.sql asks of each task that it walks.
bool matches(const Task& task, const ListRequest& request, const std::string* queue) {
  const auto is = [](const auto& wanted, const auto& has) { return !wanted || *wanted == has; };
  const auto& states = request.states;
  return (queue == nullptr || task.queue == *queue) &&
         (states.empty() || std::ranges::find(states, task.state) != states.end()) &&
         is(request.type, task.type) && is(request.client_id, task.client_id) &&
         is(request.group, task.group) && is(request.priority, task.priority) &&
         (!request.tag || std::ranges::find(task.tags, *request.tag) != task.tags.end()) &&
         (!request.created_from || task.created_at >= *request.created_from) &&
         (!request.created_until || task.created_at < *request.created_until);
}

// How many of those that wait for a task are read at once: few, where each may have 32 MiB.
std::size_t read_at_once(const ListRequest& request) {
  return request.detail == Detail::full ? 8 : 200;
}

std::size_t bytes_of(const Task& task) {
  return task.payload.size() + task.result.size();
}

}  // namespace

// An index leads to those that wait, so this walks no queues.
Result<TaskPage> PostgresStore::list_waiting(const ListRequest& request) {
  std::string queue;
  if (request.queue) {
    const auto found = one_queue(*request.queue);
    if (!found) return std::unexpected(found.error());
    queue = found->front().settings.name;
  }
  TaskPage page;
  std::size_t bytes = 0;
  constexpr auto greatest = std::uint64_t{INT64_MAX} >> embedded::Edge::place_bits;
  std::uint64_t below = std::min(request.before.value_or(TaskNumber{greatest}).value, greatest);
  while (page.tasks.size() < request.limit && page.looked_at < limits::max_walk &&
         bytes < limits::max_taken_bytes) {
    const auto children = children_below(*request.waits_for, below, request);
    if (!children) return std::unexpected(children.error());
    if (children->empty()) return page;
    std::vector<TaskRef> ids;
    for (const Child& child : *children) ids.emplace_back(child.id);
    const auto tasks = find(ids, {.payload = request.detail == Detail::full});
    if (!tasks) return std::unexpected(tasks.error());
    for (std::size_t i = 0; i < ids.size() && page.tasks.size() < request.limit; ++i) {
      const Result<Task>& task = (*tasks)[i];
      ++page.looked_at;
      below = (*children)[i].number;
      if (!task) continue;  // it is gone since, or only another program can read it
      if (!matches(*task, request, request.queue ? &queue : nullptr)) continue;
      page.tasks.push_back(*task);
      bytes += bytes_of(*task);
      if (request.detail != Detail::full) leave_out(page.tasks.back());
    }
  }
  page.next = TaskNumber{below};
  return page;
}

// The tasks that wait for this one, with numbers below, newest first.
Result<std::vector<PostgresStore::Child>> PostgresStore::children_below(
    const TaskId& parent, std::uint64_t below, const ListRequest& request) {
  constexpr auto bits = embedded::Edge::place_bits;
  const std::uint64_t from = std::min(request.from.value, below);
  return look("list tasks", [&](Connection& connection) -> Answer<std::vector<Child>> {
    Batch batch;
    batch.add(sql::version);
    batch.add(sql::WaitingFor{.parent = parent.value,
                              .below = static_cast<std::int64_t>(below << bits),
                              .from = static_cast<std::int64_t>(from << bits),
                              .most = static_cast<std::int64_t>(read_at_once(request))});
    auto answer = connection.commit(batch.statements());
    if (!answer) return std::unexpected(std::move(answer.error()));
    if (auto fresh = check_version(answer->front()); !fresh) {
      return std::unexpected(fresh.error());
    }
    const postgres::Rows& rows = answer->back();
    std::vector<Child> children;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      children.push_back({.id = {rows.get<Uuid>(i, sql::EdgeColumns::child)},
                          .number = rows.get<std::uint64_t>(i, sql::EdgeColumns::edge) >> bits});
    }
    return children;
  });
}

struct PostgresStore::Walk {
  const ListRequest& request;
  const postgres::Array<std::int32_t>& queues;
  const postgres::Array<std::int16_t> states = states_of(request);
  TaskPage page = {};
  std::size_t bytes = 0;            // read for the page
  std::int64_t before = INT64_MAX;  // the walk goes on below this number
  std::uint32_t step = 0;           // entries to walk at once

  bool is_full() const {
    return page.tasks.size() == request.limit || page.looked_at == limits::max_walk ||
           bytes >= limits::max_taken_bytes;
  }
  Batch statement() const {
    const std::uint32_t left = limits::max_walk - page.looked_at;
    Batch batch;
    batch.add(sql::version);
    batch.add(
        sql::List{.queues = queues,
                  .states = states,
                  .before = before,
                  .from = static_cast<std::int64_t>(
                      std::min<std::uint64_t>(request.from.value, INT64_MAX)),
                  .most = static_cast<std::int64_t>(std::min(step, left)),
                  .type = bytes_of(request.type),
                  .client_id = bytes_of(request.client_id),
                  .group = bytes_of(request.group),
                  .tag = bytes_of(request.tag),
                  .priority = request.priority ? std::optional(std::int16_t{*request.priority})
                                               : std::nullopt,
                  .created_from = request.created_from,
                  .created_until = request.created_until,
                  .wanted = static_cast<std::int64_t>(request.limit - page.tasks.size()),
                  .bytes = static_cast<std::int64_t>(limits::max_taken_bytes - bytes)},
        request.detail == Detail::full ? sql::list_full : sql::list);
    return batch;
  }
};

Result<TaskPage> PostgresStore::list(const ListRequest& request) {
  if (auto good = check(request); !good) return std::unexpected(good.error());
  if (request.waits_for) return list_waiting(request);
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
    return walk(connection, {.request = request, .queues = queues});
  }));
}

// Reads the tables in steps until the page asked for is full or enough was looked at.
PostgresStore::Answer<Result<TaskPage>> PostgresStore::walk(Connection& connection, Walk walk) {
  const ListRequest& request = walk.request;
  TaskPage& page = walk.page;
  if (request.before && request.before->value < INT64_MAX) {
    walk.before = static_cast<std::int64_t>(request.before->value);
  }
  walk.step = has_filter(request) ? first_step : request.limit;
  for (const auto begun = clock_.steady();;) {
    const auto step_begun = clock_.steady();
    auto more = step(connection, walk);
    if (!more) {
      // The time limit stopped it: what was found until then is a short page.
      if (!is_stopped(more.error()) || page.looked_at == 0) {
        return std::unexpected(std::move(more.error()));
      }
      page.next = TaskNumber{static_cast<std::uint64_t>(walk.before)};
      return std::move(page);
    }
    if (!*more) return std::move(page);
    const auto now = clock_.steady();
    if (walk.is_full() || now - begun >= longest_page) {
      page.next = TaskNumber{static_cast<std::uint64_t>(walk.before)};
      return std::move(page);
    }
    if (now - step_begun < quick) walk.step = std::min(walk.step * 4, limits::max_walk);
  }
}

// Adds what the next entries have for the page; false: there are no more entries.
PostgresStore::Answer<bool> PostgresStore::step(Connection& connection, Walk& walk) {
  const Batch batch = walk.statement();
  auto answer = connection.send(batch.statements());
  if (!answer) return std::unexpected(std::move(answer.error()));
  if (auto fresh = check_version(answer->front()); !fresh) return std::unexpected(fresh.error());
  const postgres::Rows& rows = answer->back();
  for (std::size_t i = rows.size(); i-- > 0;) {              // the oldest comes first
    if (rows.is_null(i, sql::RowColumns::number)) continue;  // no entry matches
    auto task = task_at(rows, i, "list tasks");
    if (!task) continue;  // what this program cannot read must not hide the others
    if (walk.request.detail != Detail::full) leave_out(*task);
    walk.page.tasks.push_back(std::move(*task));
  }
  walk.page.looked_at += static_cast<std::uint32_t>(rows.get<std::int64_t>(0, walked_column));
  walk.bytes += rows.get<std::uint64_t>(0, bytes_column);
  const auto next = rows.get<std::optional<std::int64_t>>(0, next_column);
  if (next) walk.before = *next + 1;
  return next.has_value();
}

}  // namespace millrace::store_postgres
