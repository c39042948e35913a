#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/limits.h"
#include "core/transition.h"
#include "store/embedded/verbs.h"
#include "store/postgres/keeping.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/row.h"
#include "store/postgres/sql.h"
#include "store/postgres/write.h"

namespace millrace::store_postgres {
namespace {

using embedded::QueueEntry;
using postgres::Rows;

constexpr Duration one_day = std::chrono::days(1);
constexpr Duration longest_drop = std::chrono::minutes(5);
// A step of upkeep that takes this long is left out for a while. Users may see that its work is
// late.
constexpr Duration noticed_step = std::chrono::milliseconds(500);

Result<void> check_limit(std::size_t limit, std::size_t most) {
  if (limit >= 1 && limit <= most) return {};
  return fail(ErrorCode::invalid, fmt::format("limit is {}; 1 to {} are allowed", limit, most));
}

std::string text_of(std::chrono::sys_days day) {
  const std::chrono::year_month_day date{day};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

// An overdue task, and since when it is.
struct Found {
  TimePoint at;
  std::uint64_t number;
  Overdue overdue;
};

// Rows of due_leases.sql, or of due_waits.sql.
void add_found(const Rows& rows, bool leases, const auto& name_of, std::vector<Found>& found) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Row row = read_row(rows, i);
    if (!row.unreadable.empty()) continue;  // it must not keep the others from their end
    const embedded::Slot slot = row.slot;
    const TimePoint at = leases ? slot.moment : row.given.start_by.value();
    Expectation expect = Unchanged{{slot.version}};
    if (leases) expect = Lost{{slot.token}, slot.moment};
    found.push_back({.at = at,
                     .number = slot.number,
                     .overdue = {.lease = lease_of(std::move(row), name_of(slot.queue)),
                                 .expect = expect,
                                 .cancel_requested = slot.cancel_requested}});
  }
}

// Rows of due_orphans.sql.
void add_orphans(const Rows& rows, std::size_t most, const auto& name_of,
                 std::vector<Overdue>& all) {
  for (std::size_t i = 0; i < rows.size() && all.size() < most; ++i) {
    Row row = read_row(rows, i);
    if (!row.unreadable.empty() || !row.notes.waits) continue;
    const embedded::Slot slot = row.slot;
    auto parent = row.notes.waits->ended;
    all.push_back({.lease = lease_of(std::move(row), name_of(slot.queue)),
                   .expect = Unchanged{{slot.version}},
                   .cancel_requested = slot.cancel_requested,
                   .parent = parent});
  }
}

}  // namespace

// ---- due ----------------------------------------------------------------------------------------

Result<std::vector<Overdue>> PostgresStore::due(TimePoint now, const DueRequest& request) {
  if (auto good = check_limit(request.limit, limits::max_due); !good) {
    return std::unexpected(std::move(good.error()));
  }
  return look("look for overdue tasks",
              [&](Connection& connection) { return due(connection, now, request); });
}

// No lease ends with the process of its worker here, because other processes go on; so where leases
// are not asked for, none is looked for.
PostgresStore::Answer<std::vector<Overdue>> PostgresStore::due(Connection& connection,
                                                               TimePoint now,
                                                               const DueRequest& request) {
  const auto most = static_cast<std::int64_t>(request.limit);
  Batch batch;
  batch.add(sql::version);
  batch.add(sql::in_order);
  const std::size_t waits = batch.add(sql::DueWaits{.now = now, .most = most});
  const std::size_t orphans = batch.add(sql::DueOrphans{.most = most});
  if (request.leases) {
    batch.add(
        sql::DueLeases{.now = now, .after = lease_scan_.begin(now, clock_.steady()), .most = most});
  }
  auto answer = connection.commit(batch.statements());
  if (!answer) {
    if (request.leases) lease_scan_.failed(clock_.steady());
    return std::unexpected(std::move(answer.error()));
  }
  if (auto fresh = check_version(answer->front()); !fresh) return std::unexpected(fresh.error());
  std::vector<Found> found;
  const auto name_of = [&](std::uint16_t queue) { return queue_name(queue); };
  add_found((*answer)[waits], false, name_of, found);
  if (request.leases) {
    const Rows& leases = answer->back();
    if (leases.empty()) lease_scan_.none(now, clock_.steady());
    add_found(leases, true, name_of, found);
  }
  std::ranges::stable_sort(found, [](const Found& a, const Found& b) {
    return std::pair(a.at, a.number) < std::pair(b.at, b.number);
  });
  std::vector<Overdue> all;
  for (Found& one : found) {
    if (all.size() < request.limit) all.push_back(std::move(one.overdue));
  }
  add_orphans((*answer)[orphans], request.limit, name_of, all);
  return all;
}

// ---- advance ------------------------------------------------------------------------------------

// One statement that counts what it did.
PostgresStore::Answer<std::size_t> PostgresStore::count_of(Connection& connection,
                                                           const Batch& one) {
  auto answer = connection.send(one.statements());
  if (!answer) return std::unexpected(std::move(answer.error()));
  return static_cast<std::size_t>(answer->front().value<std::int64_t>());
}

// A released task comes among those that may be taken at a place that takes may have left behind.
PostgresStore::Answer<void> PostgresStore::release_parked(Connection& connection, TimePoint now,
                                                          std::size_t& left,
                                                          std::size_t& promoted) {
  using At = sql::ReleasedColumns;
  if (left == 0) return {};
  const Batch release =
      batch_of(sql::ReleaseParked{.now = now, .most = static_cast<std::int64_t>(left)});
  auto answer = connection.send(release.statements());
  if (!answer) return std::unexpected(std::move(answer.error()));
  const Rows& rows = answer->front();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto queue = static_cast<std::uint16_t>(rows.get<std::int32_t>(i, At::queue));
    const auto priority = static_cast<std::uint8_t>(rows.get<std::int16_t>(i, At::priority));
    const auto start = rows.get<TimePoint>(i, At::start);
    const auto count = static_cast<std::size_t>(rows.get<std::int64_t>(i, At::count));
    cursors_.lower(queue, priority, {start, 0});
    cursors_.queued(queue, start);
    if (listener_) listener_->tell_work(queue_name(queue));
    left -= std::min(left, count);
    promoted += count;
  }
  return {};
}

Result<Advanced> PostgresStore::advance(TimePoint now, std::size_t limit) {
  if (auto good = check_limit(limit, limits::max_advance); !good) {
    return std::unexpected(std::move(good.error()));
  }
  if (auto there = make_partitions(now); !there) return std::unexpected(there.error());
  std::vector<std::uint16_t> to_lift;
  auto done = change("do the upkeep", now, [&](Connection& connection) -> Answer<Advanced> {
    to_lift.clear();
    return advance(connection, now, limit, to_lift);
  });
  if (!done) return done;
  for (const std::uint16_t queue : to_lift) {
    auto lifted = lift(queue, now);
    if (!lifted) return std::unexpected(lifted.error());
    done->lifted += *lifted;
  }
  auto dropped = drop_partitions(now);
  if (!dropped) return std::unexpected(dropped.error());
  done->removed += *dropped;
  return done;
}

PostgresStore::Answer<Advanced> PostgresStore::advance(Connection& connection, TimePoint now,
                                                       std::size_t limit,
                                                       std::vector<std::uint16_t>& to_lift) {
  if (auto fresh = check_fresh(connection); !fresh) return std::unexpected(fresh.error());
  cursors_.saw(now);  // what it promotes is ready
  Advanced done;
  std::size_t left = limit;
  const auto most = [&] { return static_cast<std::int64_t>(left); };
  const auto step = [&](const auto& call, std::size_t* counts) -> Answer<void> {
    const std::string_view name = call.its_sql().name;
    Throttle& throttle =
        step_throttles_.try_emplace(name, Duration::zero(), 20, noticed_step).first->second;
    const auto began = clock_.steady();
    if (left == 0 || !throttle.may_begin(began)) return {};
    auto count = count_of(connection, batch_of(call));
    // The step looked at everything there is, or was stopped before.
    if (!count || *count < left) throttle.ended(began, clock_.steady());
    if (!count) return std::unexpected(std::move(count.error()));
    left -= std::min(left, *count);
    if (counts != nullptr) *counts += *count;
    return {};
  };
  if (auto ok = step(sql::Promote{.now = now, .most = most()}, &done.promoted); !ok) {
    return std::unexpected(ok.error());
  }
  if (auto ok = release_parked(connection, now, left, done.promoted); !ok) {
    return std::unexpected(ok.error());
  }
  if (auto ok = tell(connection, now, left, done.promoted); !ok) {
    return std::unexpected(ok.error());
  }
  if (auto ok = step(sql::RemoveByOwnRule{.now = now, .most = most()}, &done.removed); !ok) {
    return std::unexpected(ok.error());
  }
  if (auto ok = prune(connection, now, left, done.removed, to_lift); !ok) {
    return std::unexpected(ok.error());
  }
  if (auto ok = empty_removed(connection, left, done.removed, to_lift, now); !ok) {
    return std::unexpected(ok.error());
  }
  if (auto ok = step(sql::EndWindows{.now = now, .most = most()}, nullptr); !ok) {
    return std::unexpected(ok.error());
  }
  if (auto ok = step(sql::EndMemos{.now = now, .most = most()}, nullptr); !ok) {
    return std::unexpected(ok.error());
  }
  done.more = left == 0;
  if (const auto began = clock_.steady(); next_throttle_.may_begin(began)) {
    auto next = next_moment(connection, now);
    next_throttle_.ended(began, clock_.steady());
    if (!next) return std::unexpected(next.error());
    done.next = *next;
  } else {
    done.next = later(now, std::chrono::seconds(1));
  }
  Batch batch;
  batch.add(sql::sum_up);
  if (auto ok = write(connection, batch, now); !ok) return std::unexpected(ok.error());
  return done;
}

// Prunes by the rules of queues. An age counts here if it is less than a day. Whole days go with
// their table, except tasks that a rule made shorter has left behind.
PostgresStore::Answer<void> PostgresStore::prune(Connection& connection, TimePoint now,
                                                 std::size_t& left, std::size_t& removed,
                                                 std::vector<std::uint16_t>& to_lift) {
  postgres::Array<std::int32_t> queues;
  for (const auto& [name, index] : state().queue_names()) queues.push(index);
  Batch batch;
  batch.add(sql::lock_pruning);
  batch.add(sql::Counts{.queues = queues});
  auto answer = connection.send(batch.statements());
  if (!answer) return std::unexpected(std::move(answer.error()));
  const bool alone = answer->front().value<bool>();
  std::map<std::uint16_t, std::array<std::uint64_t, 2>> finished;  // dead letters second
  std::map<std::uint16_t, std::uint64_t> busy;                     // waiting and running
  const Rows& rows = answer->back();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    using At = sql::CountsColumns;
    const auto queue = static_cast<std::uint16_t>(rows.get<std::int32_t>(i, At::queue));
    const auto state = rows.get<std::int16_t>(i, At::state);
    const auto count = rows.get<std::uint64_t>(i, At::count);
    if (state == book::own_finished || state == book::own_dead) {
      finished[queue][state == book::own_dead ? 1 : 0] -= count;
    } else if (is_final(static_cast<TaskState>(state))) {
      finished[queue][book::is_dead_letter(static_cast<TaskState>(state)) ? 1 : 0] += count;
    } else {
      busy[queue] += count;
    }
  }
  const bool look_back = clock_.steady() - looked_back_ >= std::chrono::minutes(1);
  if (look_back) looked_back_ = clock_.steady();
  for (const auto& [name, index] : state().queue_names()) {
    const QueueSettings& settings = state().queue_at(index).settings();
    const bool unpause = settings.paused_until && *settings.paused_until <= now;
    const bool drained = settings.draining && busy[index] == 0;
    if (unpause || drained) to_lift.push_back(index);
    for (const bool dead : {false, true}) {
      const Keep& keep = dead ? settings.keep_dead : settings.keep_completed;
      const std::uint64_t kept = finished[index][dead ? 1 : 0];
      if (kept == 0 || left == 0 || !alone) continue;
      const std::uint64_t excess = keep.last && kept > *keep.last ? kept - *keep.last : 0;
      TimePoint until = first_time;
      if (keep.for_time && *keep.for_time < one_day) until = later(now, -*keep.for_time);
      if (keep.for_time && *keep.for_time >= one_day && look_back) {
        until = later(now, -*keep.for_time - one_day);
      }
      if (excess == 0 && until == first_time) continue;
      TimePoint& mark = pruned_.try_emplace({index, dead}, first_time).first->second;
      const Batch rule = batch_of(sql::Prune{.queue = std::int32_t{index},
                                             .dead = dead,
                                             .since = mark,
                                             .most = static_cast<std::int64_t>(left),
                                             .excess = static_cast<std::int64_t>(excess),
                                             .until = std::max(until, first_time)});
      auto gone = connection.send(rule.statements());
      if (!gone) return std::unexpected(std::move(gone.error()));
      const auto count =
          static_cast<std::size_t>(gone->front().get<std::int64_t>(0, sql::PrunedColumns::count));
      const auto last = gone->front().get<std::optional<TimePoint>>(0, sql::PrunedColumns::last);
      // A task that another process restored may have ended before the mark.
      if (last || excess != 0 || look_back) mark = last.value_or(first_time);
      left -= std::min(left, count);
      removed += count;
    }
  }
  return {};
}

// Empties queues that are being removed. Each step is applied at once: next_moment() must not see
// it.
PostgresStore::Answer<void> PostgresStore::empty_removed(Connection& connection, std::size_t& left,
                                                         std::size_t& removed,
                                                         std::vector<std::uint16_t>& to_lift,
                                                         TimePoint now) {
  for (const auto& [name, index] : state().queue_names()) {
    if (!state().queue_at(index).queue.removing) continue;
    auto count = remove_oldest(connection, index, false, left, now);
    if (!count) return std::unexpected(std::move(count.error()));
    left -= std::min(left, *count);
    removed += *count;
    to_lift.push_back(index);
    if (auto applied = apply(connection); !applied) return applied;
  }
  return {};
}

// Writes what the book has changed, without a commit, and closes it for the next step.
PostgresStore::Answer<void> PostgresStore::apply(Connection& connection) {
  const book::Changes changes = book_.changes();
  Batch batch;
  write_changes(book_, changes, batch);
  if (batch.size() != 0) {
    auto written = connection.send(batch.statements());
    if (!written) return std::unexpected(std::move(written.error()));
  }
  note_changes(changes);
  book_.close();
  return {};
}

// Ends a pause or a drain, or the queue itself if it is empty and to be removed. Returns how many
// ended.
Result<std::size_t> PostgresStore::lift(std::uint16_t queue, TimePoint now) {
  return change_queues<std::size_t>(
      "end a pause", [&](Connection& connection) -> Answer<Result<std::size_t>> {
        if (!state().has_queue_at(queue)) return Result<std::size_t>(0);
        QueueEntry& entry = state().queue_at(queue);
        if (entry.queue.removing) {
          auto can = may_erase(connection, queue);
          if (!can) return std::unexpected(std::move(can.error()));
          if (can->closed && can->empty) state().erase_queue(entry);
          return Result<std::size_t>(0);
        }
        const Batch busy = batch_of(sql::IsBusy{.queue = std::int32_t{queue}});
        auto answer = connection.send(busy.statements());
        if (!answer) return std::unexpected(std::move(answer.error()));
        const QueueSettings& settings = entry.settings();
        const bool unpause = settings.paused_until && *settings.paused_until <= now;
        const bool drained = settings.draining && !answer->back().value<bool>();
        Queue changed = entry.queue;
        if (unpause) changed.settings.paused_until.reset();
        if (drained) changed.settings.draining = false;
        if (unpause || drained) {
          changed.updated_at = embedded::written_after(changed.updated_at, now);
          state().set_queue(entry, std::move(changed));
        }
        return Result<std::size_t>(std::size_t{unpause} + std::size_t{drained});
      });
}

PostgresStore::Answer<std::optional<TimePoint>> PostgresStore::next_moment(Connection& connection,
                                                                           TimePoint now) {
  std::optional<TimePoint> first;
  const auto consider = [&](std::optional<TimePoint> moment) {
    if (!moment || *moment <= now || *moment == never) return;
    first = std::min(first.value_or(*moment), *moment);
  };
  postgres::Array<std::int32_t> queues;
  postgres::Array<bool> kinds;
  postgres::Array<TimePoint> after;
  std::vector<Duration> keeps;
  for (const auto& [name, index] : state().queue_names()) {
    const QueueSettings& settings = state().queue_at(index).settings();
    consider(settings.paused_until);
    for (const bool dead : {false, true}) {
      const auto& keep = (dead ? settings.keep_dead : settings.keep_completed).for_time;
      if (!keep || *keep >= one_day) continue;
      queues.push(index), kinds.push(dead), after.push(later(now, -*keep));
      keeps.push_back(*keep);
    }
  }
  Batch batch;
  batch.add(sql::Next{.now = now});
  if (!keeps.empty()) {
    batch.add(sql::FirstEnd{.queues = queues, .dead = kinds, .after = after});
  }
  auto answer = connection.send(batch.statements());
  if (!answer) return std::unexpected(std::move(answer.error()));
  consider(answer->front().value<std::optional<TimePoint>>());
  if (!keeps.empty()) {
    const Rows& ends = answer->back();
    for (std::size_t i = 0; i < ends.size(); ++i) {
      using At = sql::EndColumns;
      const auto place = static_cast<std::size_t>(ends.get<std::int64_t>(i, At::place)) - 1;
      consider(later(ends.get<TimePoint>(i, At::finished_at), keeps[place]));
    }
  }
  return first;
}

// ---- Tables of days -----------------------------------------------------------------------------

Result<void> PostgresStore::make_partitions(TimePoint now) {
  const auto today = std::chrono::floor<std::chrono::days>(now);
  std::set<std::int16_t> classes;
  for (const auto& [name, index] : state().queue_names()) {
    const QueueSettings& settings = state().queue_at(index).settings();
    classes.insert({class_of(settings.keep_completed), class_of(settings.keep_dead)});
  }
  for (const std::int16_t task_class : classes) {
    if (task_class <= row_by_row || task_class == for_ever) continue;
    for (const auto day : {today, today + std::chrono::days(1)}) {
      const std::pair key(task_class, std::int64_t{day.time_since_epoch().count()});
      if (partitions_.contains(key)) continue;
      auto made = session_.transact(
          // Durable at once: this process remembers that the table exists, and a crash must not
          // make that untrue.
          "make a table for finished tasks", {}, [] { return Result<void>(); },
          [&](Connection& connection) -> Answer<bool> {
            const Batch make = batch_of(sql::MakePartition{
                .class_of_table = std::int32_t{task_class}, .day = text_of(day)});
            auto answer = connection.commit(make.statements());
            if (!answer) return std::unexpected(std::move(answer.error()));
            return true;
          });
      if (!made) return std::unexpected(std::move(made.error()));
      partitions_.insert(key);
    }
  }
  return {};
}

Result<std::size_t> PostgresStore::drop_partitions(TimePoint now) {
  std::vector<std::pair<std::int32_t, std::chrono::sys_days>> over;
  auto read = look("read the tables of days", [&](Connection& connection) -> Answer<bool> {
    over.clear();
    const postgres::Statement statement{.sql = &sql::partitions};
    auto answer = connection.commit({&statement, 1});
    if (!answer) return std::unexpected(std::move(answer.error()));
    const Rows& rows = answer->front();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      using At = sql::PartitionColumns;
      const auto days = rows.get<std::int32_t>(i, At::class_);
      const auto day = std::chrono::floor<std::chrono::days>(rows.get<TimePoint>(i, At::day));
      if (later(TimePoint(day), (days + 1) * one_day) <= now) over.emplace_back(days, day);
    }
    return true;
  });
  if (!read) return std::unexpected(std::move(read.error()));
  std::size_t removed = 0;
  for (const auto& [days, day] : over) {
    // The drop reads the table once to count its tasks. It must not wait for a session that holds
    // the table; there is a next time.
    const auto began = clock_.steady();
    if (!drop_throttle_.may_begin(began)) break;
    auto gone = session_.transact(
        "drop a table of finished tasks",
        {.statement_timeout = longest_drop,
         .lock_timeout = std::chrono::seconds(1),
         .durable = false},
        [] { return Result<void>(); },
        [&](Connection& connection) -> Answer<std::size_t> {
          const Batch drop =
              batch_of(sql::DropPartition{.class_of_table = days, .day = text_of(day)});
          auto answer = connection.commit(drop.statements());
          if (!answer) return std::unexpected(std::move(answer.error()));
          return static_cast<std::size_t>(answer->front().value<std::int64_t>());
        });
    drop_throttle_.ended(began, clock_.steady());
    if (!gone) continue;
    removed += *gone;
    partitions_.erase({static_cast<std::int16_t>(days), day.time_since_epoch().count()});
  }
  return removed;
}

}  // namespace millrace::store_postgres
