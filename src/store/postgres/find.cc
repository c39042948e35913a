// Tasks by their ids and numbers.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "core/uuid.h"
#include "store/embedded/verbs.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/row.h"
#include "store/postgres/sql.h"

namespace millrace::store_postgres {
namespace {

// Numbers have no index of their own, so each of them is looked for in every queue.
constexpr std::size_t numbers_at_once = 100;

// Leaves out what find() was not asked for.
void leave_out(Task& task, Parts parts) {
  if (!parts.payload) task.payload.clear();
  if (parts.notes) return;
  task.result.clear(), task.log.clear(), task.history.clear();
  task.checkpoint.clear(), task.answer.reset();
  task.error.reset(), task.delivery.reset(), task.progress = 0;
}

// The tasks asked for, and which answers are theirs; one may be asked for twice.
struct Wanted {
  explicit Wanted(std::span<const TaskRef> tasks) {
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if (const auto* id = std::get_if<TaskId>(&tasks[i])) {
        ids.push(id->value);
        by_id.emplace(id->value, i);
      } else {
        const std::uint64_t number = std::get<TaskNumber>(tasks[i]).value;
        // None that the tables could have is greater.
        if (number <= INT64_MAX) numbers.push_back(static_cast<std::int64_t>(number));
        by_number.emplace(number, i);
      }
    }
  }

  void add_to(Batch& batch, Parts parts) const {
    if (ids.size() != 0) {
      batch.add(sql::Find{.payload = parts.payload, .notes = parts.notes, .ids = ids});
    }
    for (std::size_t begin = 0; begin < numbers.size(); begin += numbers_at_once) {
      postgres::Array<std::int64_t> some;
      const std::size_t end = std::min(begin + numbers_at_once, numbers.size());
      for (std::size_t i = begin; i < end; ++i) some.push(numbers[i]);
      batch.add(sql::FindNumbers{.numbers = some, .payload = parts.payload, .notes = parts.notes});
    }
  }

  postgres::Array<Uuid> ids = {};
  std::vector<std::int64_t> numbers = {};
  std::unordered_multimap<Uuid, std::size_t, UuidHash> by_id = {};
  std::unordered_multimap<std::uint64_t, std::size_t> by_number = {};
};

std::vector<Result<Task>> all_unknown(std::span<const TaskRef> tasks) {
  std::vector<Result<Task>> unknown;
  unknown.reserve(tasks.size());
  for (const TaskRef& ref : tasks) {
    if (const auto* id = std::get_if<TaskId>(&ref)) {
      unknown.emplace_back(embedded::unknown_task(*id));
    } else {
      unknown.emplace_back(
          fail(ErrorCode::not_found,
               fmt::format("there is no task number {}", std::get<TaskNumber>(ref).value)));
    }
  }
  return unknown;
}

template <class Places, class Key>
void answer(std::vector<Result<Task>>& found, const Places& places, const Key& key,
            const Result<Task>& task) {
  const auto [first, last] = places.equal_range(key);
  for (auto at = first; at != last; ++at) found[at->second] = task;
}

}  // namespace

Result<std::vector<Result<Task>>> PostgresStore::find(std::span<const TaskRef> tasks, Parts parts) {
  if (auto good = check_batch(tasks.size()); !good) return std::unexpected(good.error());
  const Wanted wanted(tasks);
  return look("find tasks", [&](Connection& connection) -> Answer<std::vector<Result<Task>>> {
    Batch batch;
    batch.add(sql::version);
    wanted.add_to(batch, parts);
    auto rows = connection.commit(batch.statements());
    if (!rows) return std::unexpected(std::move(rows.error()));
    if (auto fresh = check_version(rows->front()); !fresh) return std::unexpected(fresh.error());
    auto found = all_unknown(tasks);
    for (const postgres::Rows& some : std::span(*rows).subspan(1)) {
      for (std::size_t i = 0; i < some.size(); ++i) {
        // A task that cannot be read must not hide the others.
        Result<Task> task = task_at(some, i, "find a task");
        if (task) leave_out(*task, parts);
        answer(found, wanted.by_id, some.get<Uuid>(i, sql::RowColumns::id), task);
        answer(found, wanted.by_number, some.get<std::uint64_t>(i, sql::RowColumns::number), task);
      }
    }
    return found;
  });
}

// `corrupt` where a part of it cannot be read.
Result<Task> PostgresStore::task_at(const postgres::Rows& rows, std::size_t at,
                                    std::string_view doing) {
  const Row row = read_row(rows, at);
  if (!row.unreadable.empty()) return unreadable_task(row, doing);
  return task_of(row, queue_name(row.slot.queue));
}

}  // namespace millrace::store_postgres
