#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/check.h"
#include "core/own_keep.h"
#include "core/transition.h"
#include "core/uuid.h"
#include "core/validate.h"
#include "store/embedded/verbs.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/row.h"
#include "store/postgres/sql.h"

namespace millrace::store_postgres {
namespace {

using embedded::QueueEntry;

// A task may end before its id says that it was made, by as much as clocks differ.
constexpr Duration clock_difference = std::chrono::days(1);

// No task with this id can have ended before; ids that are not UUIDv7 say nothing.
TimePoint made_at(const Uuid& id, TimePoint now) {
  if (id.bytes[6] >> 4U != 7) return first_time;
  std::int64_t ms = 0;
  for (std::size_t i = 0; i < 6; ++i) ms = (ms << 8) | id.bytes[i];
  return std::min(TimePoint(Duration(ms)), now);
}

void push_plain(sql::PlainArrays& to, const NewTask& put, const QueueEntry& queue, TaskState state,
                TimePoint start) {
  const auto with_keep = with_keep_of_type(put, queue.settings());
  const NewTask& task = with_keep ? *with_keep : put;
  const auto some = [](const std::string& text) {
    return text.empty() ? std::nullopt : std::optional<std::string_view>(text);
  };
  to.id.push(task.id.value);
  to.queue.push(queue.index);
  to.state.push(static_cast<std::int16_t>(state));
  to.priority.push(task.priority);
  to.start.push(start);
  to.type.push(task.type);
  to.payload.push(postgres::Bytes{task.payload});
  to.keep_for.push(kept_for(task, state));
  to.start_by.push(task.start_by);
  to.client_id.push(some(task.client_id));
  to.group.push(some(task.group));
  push_bytes(to.more, more_of(task));
}

}  // namespace

// Puts that can be decided from the known settings of queues.
struct PlainPut {
  PlainPut(embedded::State& state, std::span<const NewTask> all, TimePoint now)
      : tasks(all), since(now) {
    results.reserve(tasks.size());
    embedded::QueueFinder queues(state);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      results.push_back(decide(queues, i, now));
    }
  }

  Result<Put> decide(embedded::QueueFinder& queues, std::size_t place, TimePoint now) {
    const NewTask& task = tasks[place];
    if (auto good = validate(task, now); !good) return std::unexpected(std::move(good.error()));
    Put put{.id = task.id};
    if (const auto first = places.find(task.id); first != places.end()) {
      twins.emplace_back(place, first->second);
      return put;
    }
    const QueueEntry* queue = queues.find(task.queue);
    if (queue == nullptr) {
      refused.push_back(place);
      return embedded::unknown_queue(task.queue);
    }
    if (auto open = embedded::check_open(*queue); !open) {
      refused.push_back(place);
      return std::unexpected(std::move(open.error()));
    }
    if (auto size = embedded::check_size(queue->settings(), "payload", task.payload.size());
        !size) {
      refused.push_back(place);
      return std::unexpected(std::move(size.error()));
    }
    places.emplace(task.id, place);
    const TimePoint start = embedded::ready_moment(task, now);
    put.state = task.held ? TaskState::created : waiting_state(start, now);
    push_plain(columns, task, *queue, *put.state, start);
    push_text(tags, tags_text(task.tags));
    since = std::min(since, made_at(task.id.value, now));
    return put;
  }

  // A row of the answer: this task is new.
  std::pair<const NewTask&, const Put&> added(const postgres::Rows& rows, std::size_t row) {
    const auto found = places.find({rows.get<Uuid>(row, sql::AddedColumns::id)});
    const std::size_t place = found->second;
    places.erase(found);
    results[place]->number = {rows.get<std::uint64_t>(row, sql::AddedColumns::number)};
    return {tasks[place], *results[place]};
  }

  // Tasks that the answer did not have: their id exists, or may exist.
  std::vector<std::size_t> left() const {
    std::vector<std::size_t> all = refused;
    for (const auto& [id, place] : places) all.push_back(place);
    return all;
  }

  std::span<const NewTask> tasks;
  std::vector<Result<Put>> results;
  sql::PlainArrays columns;
  postgres::Array<std::string_view> tags;
  TimePoint since;                                           // none can have ended before
  std::unordered_map<TaskId, std::size_t, UuidHash> places;  // of the first with this id
  std::vector<std::pair<std::size_t, std::size_t>> twins;    // the same id again, and the first
  std::vector<std::size_t> refused;                          // unless the task exists already
};

// Most tasks have no unique key, wait for no other and go to a queue without limits; then the known
// settings of queues are enough to decide, and one statement does it all.
bool PostgresStore::is_plain(std::span<const NewTask> tasks) {
  embedded::QueueFinder queues(state());
  return std::ranges::none_of(tasks, [&](const NewTask& task) {
    if (task.unique || task.after) return true;
    const QueueEntry* queue = queues.find(task.queue);
    return queue != nullptr && (queue->settings().max_depth || queue->settings().put_rate);
  });
}

void PostgresStore::add_follow_up(const NewTask& task, Reading& reading) {
  reading.ids.push_back(task.id.value);
  ++reading.numbers;
  add_key(state().queue(task.queue), task.unique, reading);
}

// A key that is not allowed is held by no task, and may be no text, which the server would refuse.
void PostgresStore::add_key(const QueueEntry* queue, const std::optional<UniqueKey>& unique,
                            Reading& reading) {
  if (queue == nullptr || !unique || !check::unique(*unique)) return;
  reading.keys.emplace_back(queue->index, unique->key);
}

void PostgresStore::add_reading(const NewTask& task, Reading& reading) {
  add_follow_up(task, reading);
  // So many are refused before any of them is looked for.
  if (task.after && task.after->tasks.size() <= limits::max_parents) {
    for (const TaskId& parent : task.after->tasks) reading.parents.push_back(parent.value);
  }
  const QueueEntry* queue = state().queue(task.queue);
  if (queue != nullptr && (queue->settings().max_depth || queue->settings().put_rate)) {
    reading.limited.push_back(queue->index);
  }
}

Result<std::vector<Result<Put>>> PostgresStore::put(std::span<const NewTask> tasks, TimePoint now) {
  if (auto good = check_batch(tasks.size()); !good) return std::unexpected(good.error());
  return is_plain(tasks) ? put_plain(tasks, now) : put_by_book(tasks, now);
}

Result<std::vector<Result<Put>>> PostgresStore::put_by_book(std::span<const NewTask> tasks,
                                                            TimePoint now) {
  return change("put tasks", now, [&](Connection& connection) -> Answer<std::vector<Result<Put>>> {
    Reading reading;
    for (const NewTask& task : tasks) add_reading(task, reading);
    if (auto got = read(connection, reading); !got) return std::unexpected(got.error());
    embedded::QueueFinder queues(state());
    std::vector<Result<Put>> results;
    results.reserve(tasks.size());
    for (const NewTask& task : tasks) {
      auto good = unreadable_rates_.check(queues.find(task.queue), "put a task");
      results.push_back(good ? embedded::put(state(), queues, task, now)
                             : std::unexpected(good.error()));
    }
    Batch batch;
    if (auto put = write(connection, batch, now); !put) return std::unexpected(put.error());
    return results;
  });
}

// Answers of put.sql and take_back.sql: notes what was added and stayed, and tells others of it.
void PostgresStore::note_added(PlainPut& plain, const postgres::Rows& rows,
                               const postgres::Rows& taken_back, TimePoint now) {
  const auto ids = taken_back.values<Uuid>();
  const std::set<Uuid> ended(ids.begin(), ids.end());
  const QueueEntry* told = nullptr;
  cursors_.saw(now);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (ended.contains(rows.get<Uuid>(i, sql::AddedColumns::id))) continue;
    const auto& [task, put] = plain.added(rows, i);
    const QueueEntry& queue = *state().queue(task.queue);
    cursors_.lower(queue.index, task.priority,
                   {embedded::ready_moment(task, now), put.number.value});
    if (!listener_ || put.state != TaskState::queued || told == &queue) continue;
    told = &queue;
    listener_->tell_work(queue.settings().name);
  }
}

// Adds the tasks that can be added, and commits. nullopt: nothing is done, since queues have limits
// by now.
Result<std::optional<PostgresStore::PlainAnswer>> PostgresStore::add_plain(
    std::span<const NewTask> tasks, TimePoint now) {
  using Done = std::optional<PlainAnswer>;
  return change("put tasks", now, [&](Connection& connection) -> Answer<Done> {
    if (!is_plain(tasks)) return Done();
    PlainPut plain(state(), tasks, now);
    Batch batch;
    batch.add(sql::version);
    std::size_t put = 0;  // places in the batch
    std::size_t taken_back = 0;
    const bool adds = plain.columns.id.size() != 0;
    if (adds) {
      put = batch.add(
          sql::Put{.plain = plain.columns, .tags = plain.tags, .version = version_, .now = now});
      taken_back = batch.add(
          sql::TakeBack{.ids = plain.columns.id,
                        .since = std::max(first_time, later(plain.since, -clock_difference))});
    }
    auto answer = connection.commit(batch.statements());
    if (!answer) return std::unexpected(std::move(answer.error()));
    if (auto fresh = check_version(answer->front()); !fresh) return std::unexpected(fresh.error());
    if (adds) note_added(plain, (*answer)[put], (*answer)[taken_back], now);
    return PlainAnswer{
        .results = std::move(plain.results), .left = plain.left(), .twins = std::move(plain.twins)};
  });
}

Result<PostgresStore::PlainAnswer> PostgresStore::add_any(std::span<const NewTask> tasks,
                                                          TimePoint now) {
  auto added = add_plain(tasks, now);
  if (!added) return std::unexpected(std::move(added.error()));
  if (*added) return std::move(**added);
  auto results = put_by_book(tasks, now);
  if (!results) return std::unexpected(std::move(results.error()));
  return PlainAnswer{.results = std::move(*results)};
}

// Answers the tasks that are left with the existing tasks that they are in conflict with. Returns
// those that are no longer in conflict with any.
std::vector<std::size_t> PostgresStore::answer_left(std::span<const NewTask> tasks,
                                                    PlainAnswer& answer, TimePoint now) {
  std::vector<std::size_t> gone;
  const auto read = change("put tasks", now, [&](Connection& connection) -> Answer<bool> {
    gone.clear();
    std::set<Uuid> ids;
    for (const std::size_t place : answer.left) ids.insert(tasks[place].id.value);
    auto got = read_tasks(connection, {ids.begin(), ids.end()});
    if (!got) return std::unexpected(std::move(got.error()));
    for (const std::size_t place : answer.left) {
      if (const auto existing = embedded::find_id(state(), tasks[place].id)) {
        answer.results[place] = *existing;
      } else if (answer.results[place]) {
        gone.push_back(place);
      }
    }
    return true;
  });
  if (read) return gone;
  for (const std::size_t place : answer.left) {
    answer.results[place] = std::unexpected(read.error());
  }
  return {};
}

// Once the first step is committed, nothing of it is done again, and nothing may fail as a whole:
// the caller has to learn what was added.
Result<std::vector<Result<Put>>> PostgresStore::put_plain(std::span<const NewTask> tasks,
                                                          TimePoint now) {
  constexpr int most_attempts = 10;
  auto answer = add_any(tasks, now);
  if (!answer) return std::unexpected(std::move(answer.error()));
  for (int attempt = 1; !answer->left.empty(); ++attempt) {
    const std::vector<std::size_t> gone = answer_left(tasks, *answer, now);
    answer->left.clear();
    if (gone.empty()) break;
    std::vector<NewTask> again;
    for (const std::size_t place : gone) again.push_back(tasks[place]);
    auto more = add_any(again, now);
    for (std::size_t i = 0; i < gone.size(); ++i) {
      answer->results[gone[i]] = more ? std::move(more->results[i]) : std::unexpected(more.error());
    }
    if (!more) break;
    for (const std::size_t i : more->left) answer->left.push_back(gone[i]);
    if (attempt < most_attempts) continue;
    for (const std::size_t place : std::exchange(answer->left, {})) {
      answer->results[place] = std::unexpected(
          Error{ErrorCode::unavailable,
                "cannot put tasks: other processes keep putting and removing the same ids",
                std::chrono::seconds(1)});
    }
  }
  for (const auto& [place, first] : answer->twins) {
    Result<Put>& twin = answer->results[place] = answer->results[first];
    if (!twin) continue;
    twin->existing = true;
    if (twin->queue.empty()) twin->queue = state().queue(tasks[first].queue)->settings().name;
  }
  return std::move(answer->results);
}

}  // namespace millrace::store_postgres
