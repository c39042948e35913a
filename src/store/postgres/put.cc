#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/transition.h"
#include "core/uuid.h"
#include "core/validate.h"
#include "store/embedded/verbs.h"
#include "store/postgres/postgres_store.h"
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

// Columns of put.sql.
class PlainColumns {
 public:
  void push(const NewTask& task, std::uint16_t queue, TaskState state, TimePoint start) {
    ids_.push(task.id.value);
    queue_.push(queue);
    state_.push(static_cast<std::int16_t>(state));
    priority_.push(task.priority);
    start_.push(start);
    type_.push(task.type);
    payload_.push(postgres::Bytes{task.payload});
    keep_for_.push(task.keep_for ? std::optional(task.keep_for->count()) : std::nullopt);
    start_by_.push(task.start_by);
    push(client_id_, task.client_id);
    push(group_, task.group);
    if (const auto tags = tags_text(task.tags)) {
      tags_.push(*tags);
    } else {
      tags_.push_null();
    }
    if (const auto more = more_of(task)) {
      more_.push(postgres::Bytes{*more});
    } else {
      more_.push_null();
    }
  }

  void add_to(postgres::Params& params) const {
    params.add(ids_), params.add(queue_), params.add(state_), params.add(priority_);
    params.add(start_), params.add(type_), params.add(payload_), params.add(keep_for_);
    params.add(start_by_), params.add(client_id_), params.add(group_), params.add(tags_);
    params.add(more_);
  }

  const postgres::Array<Uuid>& ids() const { return ids_; }
  bool empty() const { return ids_.size() == 0; }

 private:
  template <class T>
  using Array = postgres::Array<T>;

  static void push(Array<std::string_view>& to, const std::string& text) {
    to.push(text.empty() ? std::nullopt : std::optional<std::string_view>(text));
  }

  Array<Uuid> ids_;
  Array<std::int32_t> queue_;
  Array<std::int16_t> state_, priority_;
  Array<TimePoint> start_;
  Array<std::string_view> type_;
  Array<postgres::Bytes> payload_;
  Array<std::int64_t> keep_for_;
  Array<TimePoint> start_by_;
  Array<std::string_view> client_id_, group_, tags_;
  Array<postgres::Bytes> more_;
};

// Puts that can be decided by what is known of queues.
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
    if (places.contains(task.id)) {
      again.push_back(place);
      return put;
    }
    const QueueEntry* queue = queues.find(task.queue);
    if (queue == nullptr) {
      again.push_back(place);  // unless it is there already
      return embedded::unknown_queue(task.queue);
    }
    if (auto open = embedded::check_open(*queue); !open) {
      again.push_back(place);
      return std::unexpected(std::move(open.error()));
    }
    places.emplace(task.id, place);
    const TimePoint start = embedded::ready_moment(task, now);
    put.state = task.held ? TaskState::created : waiting_state(start, now);
    columns.push(task, queue->index, *put.state, start);
    since = std::min(since, made_at(task.id.value, now));
    return put;
  }

  // A row of the answer: this one is new.
  std::pair<const NewTask&, const Put&> added(const postgres::Rows& rows, std::size_t row) {
    const auto found = places.find({rows.get<Uuid>(row, 0)});
    const std::size_t place = found->second;
    places.erase(found);
    results[place]->number = {rows.get<std::uint64_t>(row, 1)};
    return {tasks[place], *results[place]};
  }

  // Those that stood in nobody's answer: something with their id is there.
  std::vector<std::size_t> left() const {
    std::vector<std::size_t> all = again;
    for (const auto& [id, place] : places) all.push_back(place);
    return all;
  }

  std::span<const NewTask> tasks;
  std::vector<Result<Put>> results;
  PlainColumns columns;
  TimePoint since;                                           // none of them can have ended before
  std::unordered_map<TaskId, std::size_t, UuidHash> places;  // of the first with this id
  std::vector<std::size_t> again;  // the same id once more, or refused unless it is there
};

std::set<Uuid> ids_of(const postgres::Rows& rows) {
  std::set<Uuid> ids;
  for (std::size_t i = 0; i < rows.size(); ++i) ids.insert(rows.get<Uuid>(i, 0));
  return ids;
}

}  // namespace

// Most tasks have no unique key and go to a queue without limits; then what is known of queues is
// enough to decide, and one statement does it all.
bool PostgresStore::is_plain(std::span<const NewTask> tasks) {
  embedded::QueueFinder queues(state());
  return std::ranges::none_of(tasks, [&](const NewTask& task) {
    if (task.unique) return true;
    const QueueEntry* queue = queues.find(task.queue);
    return queue != nullptr && (queue->settings().max_depth || queue->settings().put_rate);
  });
}

void PostgresStore::add_follow_up(const NewTask& task, Reading& reading) {
  reading.ids.push_back(task.id.value);
  ++reading.numbers;
  const QueueEntry* queue = state().queue(task.queue);
  if (queue != nullptr && task.unique) reading.keys.emplace_back(queue->index, task.unique->key);
}

void PostgresStore::add_reading(const NewTask& task, Reading& reading) {
  add_follow_up(task, reading);
  const QueueEntry* queue = state().queue(task.queue);
  if (queue != nullptr && (queue->settings().max_depth || queue->settings().put_rate)) {
    reading.limited.push_back(queue->index);
  }
}

Result<std::vector<Result<Put>>> PostgresStore::put(std::span<const NewTask> tasks, TimePoint now) {
  if (auto good = check_batch(tasks.size()); !good) return std::unexpected(good.error());
  if (is_plain(tasks)) return put_plain(tasks, now);
  return change("put tasks", now, [&](Connection& connection) -> Answer<std::vector<Result<Put>>> {
    Reading reading;
    for (const NewTask& task : tasks) add_reading(task, reading);
    if (auto got = read(connection, reading); !got) return std::unexpected(got.error());
    embedded::QueueFinder queues(state());
    std::vector<Result<Put>> results;
    results.reserve(tasks.size());
    for (const NewTask& task : tasks) {
      results.push_back(embedded::put(state(), queues, task, now));
    }
    Batch batch;
    if (auto put = write(connection, batch, now); !put) return std::unexpected(put.error());
    return results;
  });
}

Result<std::vector<Result<Put>>> PostgresStore::put_plain(std::span<const NewTask> tasks,
                                                          TimePoint now) {
  return change("put tasks", now, [&](Connection& connection) -> Answer<std::vector<Result<Put>>> {
    PlainPut plain(state(), tasks, now);
    Batch batch;
    batch.add(sql::version);
    if (!plain.columns.empty()) {
      postgres::Params& params = batch.add(sql::put);
      params.add(version_);
      plain.columns.add_to(params);
      params.add(now);
      postgres::Params& ended = batch.add(sql::take_back);
      ended.add(plain.columns.ids());
      ended.add(std::max(first_time, later(plain.since, -clock_difference)));
    }
    auto answer = connection.commit(batch.statements());
    if (!answer) return std::unexpected(std::move(answer.error()));
    if (auto fresh = check_version(answer->front()); !fresh) return std::unexpected(fresh.error());
    const QueueEntry* told = nullptr;
    std::set<Uuid> ended;
    if (!plain.columns.empty()) ended = ids_of(answer->back());
    for (std::size_t i = 0; !plain.columns.empty() && i < (*answer)[1].size(); ++i) {
      if (ended.contains((*answer)[1].get<Uuid>(i, 0))) continue;
      const auto& [task, put] = plain.added((*answer)[1], i);
      const QueueEntry& queue = *state().queue(task.queue);
      marks_.lower(queue.index, task.priority,
                   {embedded::ready_moment(task, now), put.number.value});
      if (!listener_ || put.state != TaskState::queued || told == &queue) continue;
      told = &queue;
      listener_->tell_work(queue.settings().name);
    }
    const std::vector<std::size_t> left = plain.left();
    if (left.empty()) return std::move(plain.results);
    // What stands in the way of the others is read once this is committed.
    std::set<Uuid> ids;
    for (const std::size_t place : left) ids.insert(tasks[place].id.value);
    connection.begin();
    auto got = read_tasks(connection, {ids.begin(), ids.end()});
    if (!got) return std::unexpected(std::move(got.error()));
    for (const std::size_t place : left) {
      if (const auto existing = embedded::find_id(state(), tasks[place].id)) {
        plain.results[place] = *existing;
      } else if (plain.results[place]) {
        return std::unexpected(stale());  // it is gone by now
      }
    }
    return std::move(plain.results);
  });
}

}  // namespace millrace::store_postgres
