// Schedules and memos.
#include <fmt/format.h>

#include <array>

#include "core/limits.h"
#include "core/validate.h"
#include "store/embedded/bytes.h"
#include "store/embedded/fields.h"
#include "store/embedded/verbs.h"
#include "store/postgres/format.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/sql.h"

namespace millrace::store_postgres {
namespace {

using postgres::Rows;

// Whether a schedule may have this name. Others may be no text, which the server would refuse.
bool is_schedule_name(std::string_view name) {
  return validate_name("schedule name", name, true).has_value();
}

// A row of schedules.sql or load_schedule.sql.
postgres::Answer<Schedule> schedule_at(const Rows& rows, std::size_t at) {
  Schedule schedule;
  const auto name = [&] {
    return fmt::format("fields of schedule \"{}\"",
                       rows.get<std::string>(at, sql::ScheduleColumns::name));
  };
  auto read = read_value(rows.get<std::string_view>(at, sql::ScheduleColumns::schedule), name,
                         [&](embedded::ByteReader& in) {
                           embedded::read(in, schedule);
                           embedded::read_all_late(in, schedule);  // since format 2
                         });
  if (!read) return std::unexpected(std::move(read.error()));
  return schedule;
}

void write_schedule(const postgres::Sql& how, const Schedule& schedule, Batch& batch) {
  std::string bytes;
  embedded::Appender out(bytes);
  embedded::write(out, embedded::has_late(schedule) ? newest_format : first_format);
  embedded::write(out, schedule), embedded::write_all_late(out, schedule);
  batch.add(sql::AddSchedule{.name = schedule.name,
                             .next = schedule.next,
                             .paused = schedule.paused,
                             .schedule = postgres::Bytes{bytes}},
            how);
}

// Whether one more schedule may be added.
postgres::Answer<Result<void>> check_room(postgres::Connection& connection) {
  const postgres::Statement statement{.sql = &sql::count_schedules};
  auto count = connection.send({&statement, 1});
  if (!count) return std::unexpected(std::move(count.error()));
  if (count->front().value<std::uint64_t>() < limits::max_schedules) return Result<void>();
  return Result<void>(
      fail(ErrorCode::limited,
           fmt::format("there are {} schedules, the most a store keeps", limits::max_schedules)));
}

// The first key after all that begin with the prefix; nullopt: there is none.
std::optional<std::string> end_of(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xFF) prefix.pop_back();
  if (prefix.empty()) return std::nullopt;
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

}  // namespace

// ---- Schedules ----------------------------------------------------------------------------------

PostgresStore::Answer<void> PostgresStore::read_schedule(Connection& connection,
                                                         std::string_view name) {
  if (!is_schedule_name(name)) return check_fresh(connection);
  Batch batch;
  batch.add(sql::version);
  batch.add(sql::LoadSchedule{.name = name});
  auto answer = connection.send(batch.statements());
  if (!answer) return std::unexpected(std::move(answer.error()));
  if (auto fresh = check_version(answer->front()); !fresh) return fresh;
  if (!answer->back().empty()) {
    auto schedule = schedule_at(answer->back(), 0);
    if (!schedule) return std::unexpected(std::move(schedule.error()));
    state().schedules.insert_or_assign(schedule->name, std::move(*schedule));
  }
  return {};
}

Result<Schedule> PostgresStore::put_schedule(const Schedule& schedule, PutSchedule mode,
                                             TimePoint now) {
  return flat(
      change("put a schedule", now, [&](Connection& connection) -> Answer<Result<Schedule>> {
        // A name that is not text has no schedule; the state machine says what is wrong with it.
        const bool valid = validate(schedule).has_value();
        if (valid) {
          if (auto got = read_schedule(connection, schedule.name); !got) {
            return std::unexpected(got.error());
          }
        }
        const bool is_new = state().schedules.empty();
        if (valid && is_new && !mode.seen) {
          auto room = check_room(connection);
          if (!room) return std::unexpected(std::move(room.error()));
          if (!*room) return Result<Schedule>(std::unexpected(std::move(room->error())));
        }
        Result<Schedule> stored = embedded::put_schedule(state(), schedule, mode, now);
        if (!stored) return stored;
        Batch batch;
        // A missing row cannot be locked: if another process adds it meanwhile, this begins again.
        write_schedule(is_new ? sql::add_schedule : sql::change_schedule, *stored, batch);
        if (auto ok = write(connection, batch, now); !ok) return std::unexpected(ok.error());
        if (listener_) listener_->tell_schedules();
        return stored;
      }));
}

Result<void> PostgresStore::remove_schedule(std::string_view name, TimePoint now) {
  auto removed =
      flat(change("remove a schedule", now, [&](Connection& connection) -> Answer<Result<bool>> {
        if (auto got = read_schedule(connection, name); !got) return std::unexpected(got.error());
        if (auto gone = embedded::remove_schedule(state(), name); !gone) {
          return Result<bool>(std::unexpected(std::move(gone.error())));
        }
        Batch batch;
        batch.add(sql::RemoveSchedule{.name = name});
        if (auto ok = write(connection, batch, now); !ok) return std::unexpected(ok.error());
        if (listener_) listener_->tell_schedules();
        return Result<bool>(true);
      }));
  if (!removed) return std::unexpected(std::move(removed.error()));
  return {};
}

Result<std::vector<Schedule>> PostgresStore::schedules(const std::optional<std::string>& name) {
  if (name && !is_schedule_name(*name)) {
    return fail(ErrorCode::not_found, fmt::format("there is no schedule \"{}\"", *name));
  }
  auto all =
      look("read the schedules", [&](Connection& connection) -> Answer<std::vector<Schedule>> {
        const Batch batch = batch_of(sql::Schedules{.name = name});
        auto answer = connection.commit(batch.statements());
        if (!answer) return std::unexpected(std::move(answer.error()));
        std::vector<Schedule> found;
        const Rows& rows = answer->front();
        for (std::size_t i = 0; i < rows.size(); ++i) {
          auto schedule = schedule_at(rows, i);
          if (!schedule) return std::unexpected(std::move(schedule.error()));
          found.push_back(std::move(*schedule));
        }
        return found;
      });
  if (all && name && all->empty()) {
    return fail(ErrorCode::not_found, fmt::format("there is no schedule \"{}\"", *name));
  }
  return all;
}

Result<Fired> PostgresStore::fire(const Fire& tick, TimePoint now) {
  return flat(change("fire a schedule", now, [&](Connection& connection) -> Answer<Result<Fired>> {
    if (auto got = read_schedule(connection, tick.schedule); !got) {
      return std::unexpected(got.error());
    }
    Reading reading;
    add_follow_up(tick.task, reading);
    if (const auto found = state().schedules.find(tick.schedule);
        found != state().schedules.end() && !found->second.last_task.value.is_nil()) {
      reading.ids.push_back(found->second.last_task.value);
    }
    if (auto got = read(connection, reading); !got) return std::unexpected(got.error());
    Result<Fired> fired = embedded::fire(state(), tick, now);
    if (!fired) return fired;
    Batch batch;
    write_schedule(sql::change_schedule, fired->schedule, batch);
    if (auto ok = write(connection, batch, now); !ok) return std::unexpected(ok.error());
    return fired;
  }));
}

// ---- Memos --------------------------------------------------------------------------------------

Result<Memo> PostgresStore::remember(const Remember& request, TimePoint now) {
  return flat(change("remember", now, [&](Connection& connection) -> Answer<Result<Memo>> {
    const Batch load = batch_of(sql::LoadMemo{.key = postgres::Bytes{request.key}});
    auto answer = connection.send(load.statements());
    if (!answer) return std::unexpected(std::move(answer.error()));
    using At = sql::LoadedColumns;
    const Rows& rows = answer->front();
    if (!rows.is_null(0, At::version)) {
      state().memos.restore({.key = request.key,
                             .value = rows.get<std::string>(0, At::value),
                             .version = rows.get<std::uint64_t>(0, At::version),
                             .expires = rows.get<std::optional<TimePoint>>(0, At::expires)});
    }
    state().memos.resume(rows.get<std::uint64_t>(0, At::next_version) - 1);
    Result<Memo> memo = state().memos.remember(request, now);
    if (!memo) return memo;
    Batch batch;
    if (memo->version == 0) {
      batch.add(sql::RemoveMemo{.key = postgres::Bytes{request.key}});
    } else {
      batch.add(sql::PutMemo{.key = postgres::Bytes{memo->key},
                             .value = postgres::Bytes{memo->value},
                             .version = static_cast<std::int64_t>(memo->version),
                             .expires = memo->expires});
    }
    if (auto ok = write(connection, batch, now); !ok) return std::unexpected(ok.error());
    return memo;
  }));
}

Result<std::vector<Memo>> PostgresStore::recall(const Recall& request, TimePoint now) {
  if (request.limit < 1 || request.limit > limits::max_page) {
    return fail(ErrorCode::invalid,
                fmt::format("limit is {}; 1 to {} are allowed", request.limit, limits::max_page));
  }
  return look("recall", [&](Connection& connection) -> Answer<std::vector<Memo>> {
    const auto end = end_of(request.prefix);
    const Batch batch =
        batch_of(sql::Memos{.from = postgres::Bytes{request.prefix},
                            .after = postgres::Bytes{request.after},
                            .before = end ? std::optional(postgres::Bytes{*end}) : std::nullopt,
                            .now = now,
                            .most = static_cast<std::int64_t>(request.limit)});
    auto answer = connection.commit(batch.statements());
    if (!answer) return std::unexpected(std::move(answer.error()));
    std::vector<Memo> found;
    const Rows& rows = answer->front();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      using At = sql::MemoColumns;
      found.push_back({.key = rows.get<std::string>(i, At::key),
                       .value = rows.get<std::string>(i, At::value),
                       .version = rows.get<std::uint64_t>(i, At::version),
                       .expires = rows.get<std::optional<TimePoint>>(i, At::expires)});
    }
    return found;
  });
}

}  // namespace millrace::store_postgres
