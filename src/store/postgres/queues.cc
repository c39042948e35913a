#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/limits.h"
#include "core/uuid.h"
#include "store/embedded/bytes.h"
#include "store/embedded/fields.h"
#include "store/embedded/verbs.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/sql.h"

namespace millrace::store_postgres {
namespace {

using embedded::QueueEntry;
using embedded::Thing;
using postgres::Rows;

constexpr std::uint8_t format = 1;

std::optional<Duration> duration_at(const Rows& rows, std::size_t at, std::size_t column) {
  const auto ms = rows.get<std::optional<std::int64_t>>(at, column);
  return ms ? std::optional(Duration(*ms)) : std::nullopt;
}

std::optional<std::uint32_t> number_at(const Rows& rows, std::size_t at, std::size_t column) {
  const auto number = rows.get<std::optional<std::int64_t>>(at, column);
  return number ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
}

std::optional<Rate> rate_at(const Rows& rows, std::size_t at, std::size_t column) {
  const auto max = number_at(rows, at, column);
  if (!max) return std::nullopt;
  return Rate{.max = *max, .per = duration_at(rows, at, column + 1).value_or(Duration(1))};
}

// Columns of queues.sql: the version, then as in put_queue.sql.
Queue queue_at(const Rows& rows, std::size_t at) {
  Queue queue;
  QueueSettings& settings = queue.settings;
  settings.name = rows.get<std::string>(at, 2);
  if (const auto number = rows.get<std::optional<std::int64_t>>(at, 3)) {
    settings.number = QueueNumber{*number};
  }
  settings.id = rows.get<Uuid>(at, 4);
  settings.description = rows.get<std::string>(at, 5);
  settings.active = rows.get<bool>(at, 6);
  settings.draining = rows.get<bool>(at, 7);
  queue.removing = rows.get<bool>(at, 8);
  settings.paused_until = rows.get<std::optional<TimePoint>>(at, 9);
  settings.max_concurrent = number_at(rows, at, 10);
  if (const auto depth = rows.get<std::optional<std::int64_t>>(at, 11)) {
    settings.max_depth = static_cast<std::uint64_t>(*depth);
  }
  settings.put_rate = rate_at(rows, at, 12);
  settings.process_rate = rate_at(rows, at, 14);
  settings.priority = static_cast<std::uint8_t>(rows.get<std::int16_t>(at, 16));
  settings.weight = number_at(rows, at, 17);
  settings.ageing = duration_at(rows, at, 18);
  settings.lease = duration_at(rows, at, 19).value_or(settings.lease);
  settings.timeout = duration_at(rows, at, 20);
  settings.batch_size = number_at(rows, at, 21).value_or(settings.batch_size);
  settings.max_lost = number_at(rows, at, 22);
  settings.dead_letters = rows.get<bool>(at, 23);
  settings.keep_completed = {duration_at(rows, at, 24), number_at(rows, at, 25)};
  settings.keep_dead = {duration_at(rows, at, 26), number_at(rows, at, 27)};
  embedded::Reader in(rows.get<std::string_view>(at, 30));
  std::uint8_t first = 0;
  embedded::read(in, first), embedded::read(in, settings.retry), embedded::read(in, settings.types);
  queue.created_at = rows.get<TimePoint>(at, 31);
  queue.updated_at = rows.get<TimePoint>(at, 32);
  return queue;
}

template <class T>
void add_number(postgres::Params& params, const std::optional<T>& number) {
  params.add(number ? std::optional(static_cast<std::int64_t>(*number)) : std::nullopt);
}
void add_duration(postgres::Params& params, const std::optional<Duration>& duration) {
  params.add(duration ? std::optional(std::int64_t{duration->count()}) : std::nullopt);
}
void add_rate(postgres::Params& params, const std::optional<Rate>& rate) {
  add_number(params, rate ? std::optional(rate->max) : std::nullopt);
  add_duration(params, rate ? std::optional(rate->per) : std::nullopt);
}

void write_queue(const QueueEntry& entry, Batch& batch) {
  const Queue& queue = entry.queue;
  const QueueSettings& settings = queue.settings;
  postgres::Params& params = batch.add(sql::put_queue);
  params.add(std::int32_t{entry.index}), params.add(settings.name);
  params.add(settings.number ? std::optional(settings.number->value) : std::nullopt);
  params.add(settings.id), params.add(settings.description);
  params.add(settings.active), params.add(settings.draining), params.add(queue.removing);
  params.add(settings.paused_until);
  add_number(params, settings.max_concurrent), add_number(params, settings.max_depth);
  add_rate(params, settings.put_rate), add_rate(params, settings.process_rate);
  params.add(std::int16_t{settings.priority}), add_number(params, settings.weight);
  add_duration(params, settings.ageing), params.add(std::int64_t{settings.lease.count()});
  add_duration(params, settings.timeout), params.add(std::int64_t{settings.batch_size});
  add_number(params, settings.max_lost), params.add(settings.dead_letters);
  for (const Keep& keep : {settings.keep_completed, settings.keep_dead}) {
    add_duration(params, keep.for_time), add_number(params, keep.last);
  }
  params.add(class_of(settings.keep_completed)), params.add(class_of(settings.keep_dead));
  std::string policies;
  embedded::Appender out(policies);
  embedded::write(out, format);
  embedded::write(out, settings.retry), embedded::write(out, settings.types);
  params.add_bytes(policies);
  params.add(queue.created_at), params.add(queue.updated_at);
}

}  // namespace

// ---- What is known of queues
// ---------------------------------------------------------------------

std::string PostgresStore::queue_name(std::uint16_t index) {
  return state().has_queue_at(index) ? state().queue_at(index).settings().name : std::string();
}

PostgresStore::Answer<void> PostgresStore::check_version(const Rows& rows) const {
  if (!rows.empty() && rows.get<std::int64_t>(0, 0) == version_) return {};
  return std::unexpected(stale());
}

PostgresStore::Answer<bool> PostgresStore::read_queues(Connection& connection) {
  const postgres::Statement statement{.sql = &sql::queues};
  auto answer = connection.send({&statement, 1});
  if (!answer) return std::unexpected(std::move(answer.error()));
  enter_queues(answer->front());
  return true;
}

void PostgresStore::enter_queues(const Rows& rows) {
  constexpr std::size_t most_hints = 100;
  book_.close();
  keeping_nothing_.clear();
  std::vector<std::uint16_t> gone;
  for (const auto& [name, index] : state().queue_names()) gone.push_back(index);
  for (const std::uint16_t index : gone) state().erase_queue(state().queue_at(index));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    version_ = rows.get<std::int64_t>(i, 0);
    if (rows.is_null(i, 1)) continue;  // there is no queue
    const auto index = rows.get<std::int32_t>(i, 1);
    Queue queue = queue_at(rows, i);
    if (class_of(queue.settings.keep_completed) == kept_nowhere &&
        keeping_nothing_.size() < most_hints) {
      keeping_nothing_.push_back(index);
    }
    state().put_queue_at(static_cast<std::uint16_t>(index), std::move(queue));
  }
  book_.close();
}

Result<void> PostgresStore::read_queues() {
  auto done = session_.transact(
      "read the queues", {.read_only = true}, [] { return Result<void>(); },
      [&](Connection& connection) { return read_queues(connection); });
  if (!done) return std::unexpected(std::move(done.error()));
  return {};
}

// Everything that the state machine did to queues.
void PostgresStore::write_queues(Batch& batch) {
  std::set<std::uint16_t> changed;
  for (const auto& change : state().changes.small) {
    if (change.thing == Thing::queue) changed.insert(change.queue);
  }
  for (const std::uint16_t index : changed) {
    if (state().has_queue_at(index)) {
      write_queue(state().queue_at(index), batch);
    } else {
      batch.add(sql::erase_queue).add(std::int32_t{index});
    }
  }
}

// For change_queues(): locks the settings, and reads what they are by now.
PostgresStore::Answer<void> PostgresStore::lock_queues(Connection& connection) {
  const std::array statements = {postgres::Statement{.sql = &sql::lock_settings},
                                 postgres::Statement{.sql = &sql::queues}};
  auto answer = connection.send(statements);
  if (!answer) return std::unexpected(std::move(answer.error()));
  enter_queues(answer->back());
  return {};
}

// ---- Verbs
// ---------------------------------------------------------------------------------------

Result<Queue> PostgresStore::put_queue(const QueueSettings& settings, PutQueue mode,
                                       TimePoint now) {
  return change_queues<Queue>("put a queue", [&](Connection&) -> Answer<Result<Queue>> {
    return embedded::put_queue(state(), settings, mode, now);
  });
}

Result<std::vector<Queue>> PostgresStore::queues(const std::optional<QueueRef>& queue) {
  if (auto read = read_queues(); !read) return std::unexpected(read.error());
  std::vector<Queue> found;
  if (queue) {
    const QueueEntry* entry = state().queue(*queue);
    if (entry == nullptr) return embedded::unknown_queue(*queue);
    found.push_back(entry->queue);
    return found;
  }
  for (const auto& [name, index] : state().queue_names()) {
    found.push_back(state().queue_at(index).queue);
  }
  return found;
}

PostgresStore::Answer<PostgresStore::Erasable> PostgresStore::may_erase(Connection& connection,
                                                                        std::uint16_t queue) {
  postgres::Params params;
  params.add(std::int32_t{queue});
  const std::array statements = {postgres::Statement{.sql = &sql::lock_removal},
                                 postgres::Statement{&sql::close_queue, &params},
                                 postgres::Statement{&sql::has_tasks, &params}};
  auto answer = connection.send(statements);
  if (!answer) return std::unexpected(std::move(answer.error()));
  return Erasable{.closed = (*answer)[1].get<bool>(0, 0), .empty = !(*answer)[2].get<bool>(0, 0)};
}

Result<void> PostgresStore::remove_queue(const QueueRef& queue, bool force, TimePoint now) {
  auto removed =
      change_queues<bool>("remove a queue", [&](Connection& connection) -> Answer<Result<bool>> {
        QueueEntry* entry = state().queue(queue);
        if (entry == nullptr) return Result<bool>(embedded::unknown_queue(queue));
        auto can = may_erase(connection, entry->index);
        if (!can) return std::unexpected(std::move(can.error()));
        if (can->closed && can->empty) {
          state().erase_queue(*entry);
          return Result<bool>(true);
        }
        if (!can->closed && !force) {
          return Result<bool>(fail(
              ErrorCode::conflict,
              fmt::format("tasks are being put into queue \"{}\" right now; force the removal, or "
                          "try again",
                          entry->settings().name)));
        }
        if (!force) {
          postgres::Params params;
          params.add(std::int32_t{entry->index});
          auto total = count_of(connection, sql::total, params);
          if (!total) return std::unexpected(std::move(total.error()));
          return Result<bool>(
              fail(ErrorCode::conflict,
                   fmt::format("queue \"{}\" has {} tasks; empty it, or force the removal",
                               entry->settings().name, *total)));
        }
        Queue marked = entry->queue;
        marked.removing = true;
        marked.updated_at = embedded::written_after(marked.updated_at, now);
        state().set_queue(*entry, std::move(marked));
        return Result<bool>(true);
      });
  if (!removed) return std::unexpected(std::move(removed.error()));
  return {};
}

Result<std::size_t> PostgresStore::clear(const QueueRef& queue, std::size_t limit, TimePoint now) {
  if (limit < 1 || limit > limits::max_advance) {
    return fail(ErrorCode::invalid,
                fmt::format("limit is {}; 1 to {} are allowed", limit, limits::max_advance));
  }
  return flat(
      change("clear a queue", now, [&](Connection& connection) -> Answer<Result<std::size_t>> {
        const QueueEntry* entry = state().queue(queue);
        if (entry == nullptr) {
          // It may be new.
          if (auto fresh = check_fresh(connection); !fresh) return std::unexpected(fresh.error());
          return Result<std::size_t>(embedded::unknown_queue(queue));
        }
        auto removed = remove_oldest(connection, entry->index, true, limit);
        if (!removed) return std::unexpected(removed.error());
        Batch batch;
        if (auto done = write(connection, batch, now); !done) return std::unexpected(done.error());
        return Result<std::size_t>(*removed);
      }));
}

// Reads the oldest tasks of a queue into the book, and removes them from it.
PostgresStore::Answer<std::size_t> PostgresStore::remove_oldest(Connection& connection,
                                                                std::uint16_t queue,
                                                                bool waiting_only,
                                                                std::size_t limit) {
  if (limit == 0) return 0;
  const auto add = [&](Batch& batch, const postgres::Sql& sql, std::initializer_list<int> states) {
    postgres::Array<std::int16_t> array;
    for (const int state : states) array.push(static_cast<std::int16_t>(state));
    postgres::Params& params = batch.add(sql);
    params.add(std::int32_t{queue}), params.add(array);
    params.add(static_cast<std::int64_t>(limit));
  };
  Batch batch;
  add(batch, sql::oldest_of, {0, 1, 2, 4});
  if (!waiting_only) {
    add(batch, sql::oldest_of, {3});
    add(batch, sql::oldest_finished_of, {5, 6, 7, 8});
  }
  auto answer = connection.send(batch.statements());
  if (!answer) return std::unexpected(std::move(answer.error()));
  std::vector<Uuid> ids;
  for (const Rows& rows : *answer) {
    for (std::size_t i = 0; i < rows.size() && ids.size() < limit; ++i) {
      ids.push_back(rows.get<Uuid>(i, 0));
    }
  }
  std::ranges::sort(ids);
  if (auto got = read(connection, {.ids = ids}); !got) return std::unexpected(got.error());
  return embedded::remove_tasks(state(), state().queue_at(queue), waiting_only, limit);
}

PostgresStore::Answer<void> PostgresStore::check_fresh(Connection& connection) {
  const postgres::Statement statement{.sql = &sql::version};
  auto answer = connection.send({&statement, 1});
  if (!answer) return std::unexpected(std::move(answer.error()));
  return check_version(answer->front());
}

}  // namespace millrace::store_postgres
