#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/limits.h"
#include "core/transition.h"
#include "core/uuid.h"
#include "store/embedded/bytes.h"
#include "store/embedded/fields.h"
#include "store/embedded/verbs.h"
#include "store/postgres/format.h"
#include "store/postgres/keeping.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/sql.h"

namespace millrace::store_postgres {
namespace {

using embedded::QueueEntry;
using embedded::Thing;
using postgres::Rows;

using QueueAt = sql::QueuesColumns;

std::optional<Duration> duration_at(const Rows& rows, std::size_t at, std::size_t column) {
  const auto ms = rows.get<std::optional<std::int64_t>>(at, column);
  return ms ? std::optional(Duration(*ms)) : std::nullopt;
}

std::optional<std::uint32_t> number_at(const Rows& rows, std::size_t at, std::size_t column) {
  const auto number = rows.get<std::optional<std::int64_t>>(at, column);
  return number ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
}

std::optional<Rate> rate_at(const Rows& rows, std::size_t at, std::size_t max_column,
                            std::size_t per_column) {
  const auto max = number_at(rows, at, max_column);
  if (!max) return std::nullopt;
  return Rate{.max = *max, .per = duration_at(rows, at, per_column).value_or(Duration(1))};
}

postgres::Answer<void> read_policies(std::string_view bytes, QueueSettings& settings) {
  const auto name = [&] { return fmt::format("policies of queue \"{}\"", settings.name); };
  return read_value(bytes, name, [&](embedded::ByteReader& in) {
    embedded::read(in, settings.retry), embedded::read(in, settings.types);
    embedded::read_all_late(in, settings);  // since format 2
  });
}

postgres::Answer<Queue> queue_at(const Rows& rows, std::size_t at) {
  Queue queue;
  QueueSettings& settings = queue.settings;
  settings.name = rows.get<std::string>(at, QueueAt::name);
  if (const auto number = rows.get<std::optional<std::int64_t>>(at, QueueAt::number)) {
    settings.number = QueueNumber{*number};
  }
  settings.id = rows.get<Uuid>(at, QueueAt::id);
  settings.description = rows.get<std::string>(at, QueueAt::description);
  settings.active = rows.get<bool>(at, QueueAt::active);
  settings.draining = rows.get<bool>(at, QueueAt::draining);
  queue.removing = rows.get<bool>(at, QueueAt::removing);
  settings.paused_until = rows.get<std::optional<TimePoint>>(at, QueueAt::paused_until);
  settings.max_concurrent = number_at(rows, at, QueueAt::max_concurrent);
  if (const auto depth = rows.get<std::optional<std::int64_t>>(at, QueueAt::max_depth)) {
    settings.max_depth = static_cast<std::uint64_t>(*depth);
  }
  settings.put_rate = rate_at(rows, at, QueueAt::put_max, QueueAt::put_per);
  settings.process_rate = rate_at(rows, at, QueueAt::process_max, QueueAt::process_per);
  settings.priority = static_cast<std::uint8_t>(rows.get<std::int16_t>(at, QueueAt::priority));
  settings.weight = number_at(rows, at, QueueAt::weight);
  settings.ageing = duration_at(rows, at, QueueAt::ageing);
  settings.lease = duration_at(rows, at, QueueAt::lease).value_or(settings.lease);
  settings.timeout = duration_at(rows, at, QueueAt::timeout);
  settings.batch_size = number_at(rows, at, QueueAt::batch_size).value_or(settings.batch_size);
  settings.max_lost = number_at(rows, at, QueueAt::max_lost);
  settings.dead_letters = rows.get<bool>(at, QueueAt::dead_letters);
  settings.keep_completed = {duration_at(rows, at, QueueAt::keep_completed_for),
                             number_at(rows, at, QueueAt::keep_completed_last)};
  settings.keep_dead = {duration_at(rows, at, QueueAt::keep_dead_for),
                        number_at(rows, at, QueueAt::keep_dead_last)};
  queue.created_at = rows.get<TimePoint>(at, QueueAt::created_at);
  queue.updated_at = rows.get<TimePoint>(at, QueueAt::updated_at);
  auto read = read_policies(rows.get<std::string_view>(at, QueueAt::policies), settings);
  if (!read) return std::unexpected(std::move(read.error()));
  return queue;
}

template <class T>
std::optional<std::int64_t> number_of(const std::optional<T>& number) {
  return number ? std::optional(static_cast<std::int64_t>(*number)) : std::nullopt;
}
std::optional<std::int64_t> ms_of(const std::optional<Duration>& duration) {
  return duration ? std::optional(std::int64_t{duration->count()}) : std::nullopt;
}
std::optional<std::int64_t> max_of(const std::optional<Rate>& rate) {
  return rate ? std::optional(std::int64_t{rate->max}) : std::nullopt;
}
std::optional<std::int64_t> per_of(const std::optional<Rate>& rate) {
  return rate ? std::optional(std::int64_t{rate->per.count()}) : std::nullopt;
}

postgres::Array<std::int16_t> states_where(bool (*wanted)(TaskState)) {
  postgres::Array<std::int16_t> states;
  for (std::size_t i = 0; i < state_count; ++i) {
    if (wanted(static_cast<TaskState>(i))) states.push(static_cast<std::int16_t>(i));
  }
  return states;
}

std::string policies_of(const QueueSettings& settings) {
  std::string bytes;
  embedded::Appender out(bytes);
  embedded::write(out, embedded::has_late(settings) ? newest_format : first_format);
  embedded::write(out, settings.retry), embedded::write(out, settings.types);
  embedded::write_all_late(out, settings);
  return bytes;
}

void write_queue(const QueueEntry& entry, Batch& batch) {
  const Queue& queue = entry.queue;
  const QueueSettings& settings = queue.settings;
  const Keep& completed = settings.keep_completed;
  const Keep& dead = settings.keep_dead;
  const std::string policies = policies_of(settings);
  batch.add(sql::PutQueue{
      .queue = std::int32_t{entry.index},
      .name = settings.name,
      .number = settings.number ? std::optional(settings.number->value) : std::nullopt,
      .id = settings.id,
      .description = settings.description,
      .active = settings.active,
      .draining = settings.draining,
      .removing = queue.removing,
      .paused_until = settings.paused_until,
      .max_concurrent = number_of(settings.max_concurrent),
      .max_depth = number_of(settings.max_depth),
      .put_max = max_of(settings.put_rate),
      .put_per = per_of(settings.put_rate),
      .process_max = max_of(settings.process_rate),
      .process_per = per_of(settings.process_rate),
      .priority = std::int16_t{settings.priority},
      .weight = number_of(settings.weight),
      .ageing = ms_of(settings.ageing),
      .lease = std::int64_t{settings.lease.count()},
      .timeout = ms_of(settings.timeout),
      .batch_size = std::int64_t{settings.batch_size},
      .max_lost = number_of(settings.max_lost),
      .dead_letters = settings.dead_letters,
      .keep_completed_for = ms_of(completed.for_time),
      .keep_completed_last = number_of(completed.last),
      .keep_dead_for = ms_of(dead.for_time),
      .keep_dead_last = number_of(dead.last),
      .completed_class = class_of(completed),
      .dead_class = class_of(dead),
      .max_task_size =
          number_of(settings.max_task_size),  // for millrace.put(); here it is a policy
      .policies = postgres::Bytes{policies},
      .created_at = queue.created_at,
      .updated_at = queue.updated_at});
}

}  // namespace

// ---- What is known of queues --------------------------------------------------------------------

std::string PostgresStore::queue_name(std::uint16_t index) {
  return state().has_queue_at(index) ? state().queue_at(index).settings().name : std::string();
}

PostgresStore::Answer<void> PostgresStore::check_version(const Rows& rows) const {
  if (!rows.empty() && rows.value<std::int64_t>() == version_) return {};
  return std::unexpected(stale());
}

PostgresStore::Answer<bool> PostgresStore::read_queues(Connection& connection) {
  const postgres::Statement statement{.sql = &sql::queues};
  auto answer = connection.send({&statement, 1});
  if (!answer) return std::unexpected(std::move(answer.error()));
  if (auto entered = enter_queues(answer->front()); !entered) {
    return std::unexpected(std::move(entered.error()));
  }
  return true;
}

PostgresStore::Answer<void> PostgresStore::enter_queues(const Rows& rows) {
  constexpr std::size_t most_hints = 100;
  std::vector<std::pair<std::uint16_t, Queue>> there;
  std::int64_t version = version_;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    version = rows.get<std::int64_t>(i, QueueAt::version);
    if (rows.is_null(i, QueueAt::queue)) continue;  // there is no queue
    auto queue = queue_at(rows, i);
    if (!queue) return std::unexpected(std::move(queue.error()));
    there.emplace_back(static_cast<std::uint16_t>(rows.get<std::int32_t>(i, QueueAt::queue)),
                       std::move(*queue));
  }
  version_ = version;
  book_.close();
  keeping_nothing_.clear();
  smallest_task_size_ = limits::usual_task_size;
  std::vector<std::uint16_t> gone;
  for (const auto& [name, index] : state().queue_names()) gone.push_back(index);
  for (const std::uint16_t index : gone) state().erase_queue(state().queue_at(index));
  for (auto& [index, queue] : there) {
    if (class_of(queue.settings.keep_completed) == kept_nowhere &&
        keeping_nothing_.size() < most_hints) {
      keeping_nothing_.push_back(index);
    }
    smallest_task_size_ = std::min<std::size_t>(
        smallest_task_size_, queue.settings.max_task_size.value_or(limits::usual_task_size));
    state().put_queue_at(index, std::move(queue));
  }
  book_.close();
  return {};
}

Result<void> PostgresStore::read_queues() {
  auto done = session_.transact(
      "read the queues", {.read_only = true}, [] { return Result<void>(); },
      [&](Connection& connection) { return read_queues(connection); });
  if (!done) return std::unexpected(std::move(done.error()));
  return {};
}

// Writes everything that the state machine did to queues.
void PostgresStore::write_queues(Batch& batch) {
  std::set<std::uint16_t> changed;
  for (const auto& change : state().changes.small) {
    if (change.thing == Thing::queue) changed.insert(change.queue);
  }
  for (const std::uint16_t index : changed) {
    if (state().has_queue_at(index)) {
      write_queue(state().queue_at(index), batch);
    } else {
      batch.add(sql::EraseQueue{.queue = std::int32_t{index}});
    }
  }
}

// For change_queues(): locks the settings, and reads what they are by now.
PostgresStore::Answer<void> PostgresStore::lock_queues(Connection& connection) {
  const std::array statements = {postgres::Statement{.sql = &sql::lock_settings},
                                 postgres::Statement{.sql = &sql::queues}};
  auto answer = connection.send(statements);
  if (!answer) return std::unexpected(std::move(answer.error()));
  return enter_queues(answer->back());
}

// ---- Verbs --------------------------------------------------------------------------------------

namespace {

std::unexpected<Error> no_groups(std::string_view field = "groups") {
  return fail(
      ErrorCode::invalid,
      "the postgres store has no rules for groups and no rates of cost yet; leave them out, "
      "or use a journal",
      std::string(field));
}

}  // namespace

Result<Queue> PostgresStore::put_queue(const QueueSettings& settings, PutQueue mode,
                                       TimePoint now) {
  if (settings.groups) return no_groups();
  if (settings.rate_of != RateOf::tasks) return no_groups("rate_of");
  return change_queues<Queue>("put a queue", [&](Connection&) -> Answer<Result<Queue>> {
    return embedded::put_queue(state(), settings, mode, now);
  });
}

Result<std::vector<Queue>> PostgresStore::queues(const std::optional<QueueRef>& queue) {
  if (queue) return one_queue(*queue);
  if (auto read = read_queues(); !read) return std::unexpected(read.error());
  std::vector<Queue> found;
  for (const auto& [name, index] : state().queue_names()) {
    found.push_back(state().queue_at(index).queue);
  }
  return found;
}

// As it is remembered, if nothing has changed since: every change has its version.
Result<std::vector<Queue>> PostgresStore::one_queue(const QueueRef& queue) {
  using Queues = std::vector<Queue>;
  return flat(look("read a queue", [&](Connection& connection) -> Answer<Result<Queues>> {
    const postgres::Statement statement{.sql = &sql::version};
    auto answer = connection.commit({&statement, 1});
    if (!answer) return std::unexpected(std::move(answer.error()));
    if (auto fresh = check_version(answer->front()); !fresh) return std::unexpected(fresh.error());
    const QueueEntry* entry = state().queue(queue);
    if (entry == nullptr) return Result<Queues>(embedded::unknown_queue(queue));
    return Result<Queues>(Queues{entry->queue});
  }));
}

PostgresStore::Answer<PostgresStore::Erasable> PostgresStore::may_erase(Connection& connection,
                                                                        std::uint16_t queue) {
  Batch batch;
  batch.add(sql::lock_removal);
  const std::size_t close = batch.add(sql::CloseQueue{.queue = std::int32_t{queue}});
  const std::size_t has_tasks = batch.add(sql::HasTasks{.queue = std::int32_t{queue}});
  auto answer = connection.send(batch.statements());
  if (!answer) return std::unexpected(std::move(answer.error()));
  return Erasable{.closed = (*answer)[close].value<bool>(),
                  .empty = !(*answer)[has_tasks].value<bool>()};
}

Result<Group> PostgresStore::put_group(const PutGroup& /*change*/, TimePoint /*now*/) {
  return no_groups();
}

Result<GroupPage> PostgresStore::groups(const GroupsRequest& /*request*/, TimePoint /*now*/) {
  return no_groups();
}

Result<void> PostgresStore::remove_queue(const QueueRef& queue, bool force, TimePoint now) {
  auto removed =
      change_queues<bool>("remove a queue", [&](Connection& connection) -> Answer<Result<bool>> {
        QueueEntry* entry = state().queue(queue);
        if (entry == nullptr) return Result<bool>(embedded::unknown_queue(queue));
        if (auto good = embedded::check_gets_none(state(), *entry); !good) {
          return Result<bool>(std::unexpected(std::move(good.error())));
        }
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
          auto total =
              count_of(connection, batch_of(sql::Total{.queue = std::int32_t{entry->index}}));
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
  if (auto there = make_partitions(now); !there) return std::unexpected(there.error());
  return flat(
      change("clear a queue", now, [&](Connection& connection) -> Answer<Result<std::size_t>> {
        const QueueEntry* entry = state().queue(queue);
        if (entry == nullptr) {
          // The queue may be new.
          if (auto fresh = check_fresh(connection); !fresh) return std::unexpected(fresh.error());
          return Result<std::size_t>(embedded::unknown_queue(queue));
        }
        auto removed = remove_oldest(connection, entry->index, true, limit, now);
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
                                                                std::size_t limit, TimePoint now) {
  if (limit == 0) return 0;
  const auto most = static_cast<std::int64_t>(limit);
  const std::int32_t index = queue;
  Batch batch;
  batch.add(sql::OldestOf{.states = states_where(is_waiting), .queue = index, .most = most});
  if (!waiting_only) {
    const auto is_running = [](TaskState state) { return state == TaskState::processing; };
    batch.add(sql::OldestOf{.states = states_where(is_running), .queue = index, .most = most});
    batch.add(
        sql::OldestFinishedOf{.states = states_where(is_final), .queue = index, .most = most});
  }
  auto answer = connection.send(batch.statements());
  if (!answer) return std::unexpected(std::move(answer.error()));
  std::vector<Uuid> ids;
  for (const Rows& rows : *answer) {
    for (std::size_t i = 0; i < rows.size() && ids.size() < limit; ++i) {
      ids.push_back(rows.get<Uuid>(i, sql::RemovableColumns::id));
    }
  }
  if (auto got = read(connection, {.ids = ids, .ends = ids}); !got) {
    return std::unexpected(got.error());
  }
  // Only these: of others in the book, not all that wait for them were read.
  std::size_t removed = 0;
  for (const Uuid& id : ids) {
    const auto at = state().find(TaskId{id});
    if (at == embedded::no_slot || state().slot(at).queue != queue) continue;
    if (waiting_only && !is_waiting(state().slot(at).state)) continue;
    if (!book_.check_removable({id})) continue;
    if (!embedded::drop(state(), at, now) && !waiting_only) break;
    ++removed;
  }
  return removed;
}

PostgresStore::Answer<void> PostgresStore::check_fresh(Connection& connection) {
  const postgres::Statement statement{.sql = &sql::version};
  auto answer = connection.send({&statement, 1});
  if (!answer) return std::unexpected(std::move(answer.error()));
  return check_version(answer->front());
}

}  // namespace millrace::store_postgres
