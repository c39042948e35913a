#include "store/postgres/postgres_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/limits.h"
#include "core/transition.h"
#include "core/uuid.h"
#include "store/embedded/bytes.h"
#include "store/embedded/fields.h"
#include "store/embedded/verbs.h"
#include "store/postgres/migrate.h"
#include "store/postgres/open.h"
#include "store/postgres/rates.h"
#include "store/postgres/readers.h"
#include "store/postgres/row.h"
#include "store/postgres/sql.h"
#include "store/postgres/write.h"
#include "store/store.h"

namespace millrace {

Result<std::unique_ptr<Store>> open_postgres(PostgresOptions options, Clock& clock) {
  auto store = std::make_unique<store_postgres::PostgresStore>(options, clock);
  auto opened = store->open();
  if (!opened && opened.error().code == ErrorCode::unavailable &&
      store_postgres::wait_for_server(options, opened.error())) {
    store = std::make_unique<store_postgres::PostgresStore>(options, clock);
    opened = store->open();
  }
  if (!opened) return std::unexpected(std::move(opened.error()));
  return std::make_unique<store_postgres::StoreWithReaders>(std::move(store), std::move(options),
                                                            clock);
}

namespace store_postgres {
namespace {

// The column of load_tasks.sql beside those of a task.
constexpr std::size_t children_column = sql::RowColumns::waits + 1;

template <class T>
void sort_and_deduplicate(std::vector<T>& values) {
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace

Result<void> check_batch(std::size_t size) {
  if (size <= limits::max_batch) return {};
  return fail(ErrorCode::invalid, fmt::format("the batch has {} items; at most {} are allowed",
                                              size, limits::max_batch));
}

PostgresStore::PostgresStore(PostgresOptions options, Clock& clock, std::string_view purpose)
    : options_(std::move(options)),
      clock_(clock),
      session_(connect_options(options_, purpose), clock),
      flushing_(connect_options(options_, "flush"), clock) {}

Result<void> PostgresStore::open() {
  if (auto good = check_options(options_); !good) return good;
  auto connection = session_.connection();
  if (!connection) return std::unexpected(std::move(connection.error()));
  const auto facts = server_facts(**connection);
  if (!facts) return std::unexpected(facts.error());
  if (auto good = check_server(*facts, !options_.read_only); !good) return good;
  promise_ = promise_of(*facts);
  for (const std::string& warning : promise_.warnings) {
    if (options_.warn) options_.warn(warning);
  }
  if (!options_.migrate || options_.read_only) {
    if (auto good = check_tables(**connection); !good) return good;
  } else if (auto done = migrate(**connection); !done) {
    return std::unexpected(std::move(done.error()));
  }
  if (auto named = name_boot(); !named) return named;
  if (auto read = read_queues(); !read) return read;
  known_by_ = {session_.connections(), crashes_.load()};
  listen(*facts);
  if (options_.vacuum && !options_.read_only) {
    vacuum_ = std::make_unique<Vacuum>(connect_options(options_, "vacuum"), clock_);
  }
  return {};
}

Result<void> PostgresStore::open_reader() {
  if (auto connection = session_.connection(); !connection) {
    return std::unexpected(std::move(connection.error()));
  }
  if (auto read = read_queues(); !read) return read;
  known_by_ = {session_.connections(), crashes_.load()};
  return {};
}

// Not through a pooler, where the LISTEN would be left behind in another client's session.
void PostgresStore::listen(const ServerFacts& facts) {
  if (options_.read_only) return;
  postgres::ConnectOptions direct = connect_options(options_, "listen");
  if (!options_.listen_url.empty()) {
    direct.url = options_.listen_url;
  } else if (facts.pooled || !options_.prepare) {
    if (options_.warn) {
      options_.warn(
          "a pooler is between here and PostgreSQL, so tasks that other servers accept are "
          "noticed by polling; name a direct way with listen_url=, see "
          "docs/running-on-postgres.md");
    }
    return;
  }
  listener_ = std::make_unique<Listener>(std::move(direct), clock_);
}

Result<void> PostgresStore::name_boot() {
  if (options_.read_only) return {};
  auto boot = flushing_.transact(
      "open the store", {}, [] { return Result<void>(); },
      [&](Connection& connection) -> Answer<Uuid> {
        const postgres::Statement statement{.sql = &sql::boot};
        auto answer = connection.commit({&statement, 1});
        if (!answer) return std::unexpected(std::move(answer.error()));
        if (answer->front().empty()) return std::unexpected(stale());  // made in this very moment
        return answer->front().value<Uuid>();
      });
  if (!boot) return std::unexpected(std::move(boot.error()));
  boot_ = *boot;
  return {};
}

// WAL is written in order: what this transaction writes becomes durable after everything before it,
// unless the server crashed in between and lost the rest.
Result<void> PostgresStore::flush() {
  auto boot = flushing_.transact(
      "flush", {.durable = true}, [] { return Result<void>(); },
      [](Connection& connection) -> Answer<std::optional<Uuid>> {
        const postgres::Statement statement{.sql = &sql::flush};
        auto answer = connection.commit({&statement, 1});
        if (!answer) return std::unexpected(std::move(answer.error()));
        // The changes to be flushed may be on another server, which has taken over.
        using At = sql::FlushedColumns;
        if (answer->front().get<bool>(0, At::demoted)) return std::unexpected(demoted());
        return answer->front().get<std::optional<Uuid>>(0, At::boot);
      });
  if (!boot) return std::unexpected(std::move(boot.error()));
  if (*boot == boot_) return {};
  if (auto named = name_boot(); !named) return named;
  ++crashes_;
  return std::unexpected(Error{ErrorCode::unavailable,
                               "PostgreSQL has crashed and come back, or another server took over: "
                               "what was not on its disk by then is lost",
                               std::chrono::seconds(1)});
}

bool PostgresStore::is_another_server() {
  const std::pair now(session_.connections(), crashes_.load());
  if (std::exchange(known_by_, now) == now) return false;
  cursors_.forget();
  lease_scan_ = {};
  pruned_.clear();
  partitions_.clear();
  version_ = 0;
  // The listener may still be connected to the last server; it finds out when it sends.
  if (listener_) listener_->tell_queues();
  return true;
}

// ---- Reading into the book ----------------------------------------------------------------------

PostgresStore::Answer<void> PostgresStore::enter_rows(const postgres::Rows& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (book_.has({rows.get<Uuid>(i, sql::RowColumns::id)})) continue;
    const Row row = read_row(rows, i);
    // Its queue was created after the queues were read.
    if (!state().has_queue_at(row.slot.queue)) return std::unexpected(stale());
    book_.enter(row);
  }
  return {};
}

PostgresStore::Answer<void> PostgresStore::read_tasks(Connection& connection,
                                                      const std::vector<Uuid>& ids,
                                                      std::vector<Uuid>* parents) {
  if (ids.empty()) return {};
  postgres::Array<Uuid> array;
  for (const Uuid& id : ids) array.push(id);
  Batch batch;
  batch.add(sql::LoadTasks{.ids = array});
  batch.add(sql::LoadFinished{.ids = array});
  batch.add(sql::LoadUntold{.ids = array});
  auto answer = connection.send(batch.statements());
  if (!answer) return std::unexpected(std::move(answer.error()));
  const postgres::Rows& live = (*answer)[0];
  for (const postgres::Rows& rows : std::span(*answer).first(2)) {
    if (auto entered = enter_rows(rows); !entered) return entered;
  }
  const postgres::Rows& untold = (*answer)[2];
  for (std::size_t i = 0; i < untold.size(); ++i) {
    using At = sql::UntoldColumns;
    book_.enter_untold({untold.get<Uuid>(i, At::parent)}, untold.get<std::uint64_t>(i, At::next));
  }
  for (std::size_t i = 0; parents != nullptr && i < live.size(); ++i) {
    if (live.is_null(i, children_column)) continue;
    parents->push_back(live.get<Uuid>(i, sql::RowColumns::id));
  }
  return {};
}

PostgresStore::Answer<void> PostgresStore::read(Connection& connection, Reading reading) {
  reading.ids.insert(reading.ids.end(), reading.parents.begin(), reading.parents.end());
  sort_and_deduplicate(reading.ids);
  sort_and_deduplicate(reading.limited);
  unreadable_rates_ = {};
  Batch batch;
  batch.add(sql::version);
  if (reading.restores) batch.add(sql::lock_restores);
  std::size_t used = 0;  // its place in the batch
  if (!reading.limited.empty()) {
    postgres::Array<std::int32_t> queues;
    for (const auto queue : reading.limited) queues.push(queue);
    batch.add(sql::LockQueues{.queues = queues});
    used = batch.add(sql::Used{.queues = queues});
  }
  if (reading.numbers != 0) {
    batch.add(sql::ReserveNumbers{.count = static_cast<std::int64_t>(reading.numbers)});
  }
  auto answer = connection.send(batch.statements());
  if (!answer) return std::unexpected(std::move(answer.error()));
  if (auto fresh = check_version(answer->front()); !fresh) return fresh;
  if (reading.numbers != 0) {
    for (const auto number : answer->back().values<std::uint64_t>()) book_.use_number(number);
  }
  for (const book::Key& key : reading.keys) book_.looked_at(key);
  std::vector<Uuid> parents;
  if (auto got = read_tasks(connection, reading.ids, &parents); !got) return got;
  if (auto got = read_parents(connection, reading, parents); !got) return got;
  for (const std::uint16_t target : reading.targets) book_.look_for_keys_in(target);
  if (auto got = read_holders(connection); !got) return got;
  // Last, because the counts include the tasks that were just read.
  if (!reading.limited.empty()) unreadable_rates_ = read_used((*answer)[used], book_);
  return {};
}

// The keys of the tasks that were read and of those to be added, and the tasks that hold them.
PostgresStore::Answer<void> PostgresStore::read_holders(Connection& connection) {
  if (book_.keys().empty()) return {};
  postgres::Array<std::int32_t> queues;
  postgres::Array<std::string_view> keys;
  for (const auto& [queue, key] : book_.keys()) queues.push(queue), keys.push(key);
  const Batch batch = batch_of(sql::LoadHolders{.queues = queues, .keys = keys});
  auto answer = connection.send(batch.statements());
  if (!answer) return std::unexpected(std::move(answer.error()));
  const postgres::Rows& rows = answer->front();
  std::vector<Uuid> others;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    using At = sql::HolderColumns;
    const embedded::Holder holder{
        .id = {rows.get<Uuid>(i, At::task)},
        .number = {rows.get<std::uint64_t>(i, At::number)},
        .until = rows.get<std::optional<TimePoint>>(i, At::until).value_or(never)};
    const auto queue = static_cast<std::uint16_t>(rows.get<std::int32_t>(i, At::queue));
    book_.enter({queue, rows.get<std::string>(i, At::key)}, holder);
    if (!book_.has(holder.id)) others.push_back(holder.id.value);
  }
  sort_and_deduplicate(others);
  return read_tasks(connection, others);
}

// ---- Writing ------------------------------------------------------------------------------------

PostgresStore::Answer<void> PostgresStore::write(Connection& connection, Batch& batch, TimePoint) {
  const book::Changes changes = book_.changes();
  write_changes(book_, changes, batch);
  for (const auto& change : state().changes.small) {
    if (change.thing != embedded::Thing::queue) continue;
    if (state().has_queue_at(change.queue)) write_used(state().queue_at(change.queue), batch);
  }
  auto answer = connection.commit(batch.statements());
  if (!answer) return std::unexpected(std::move(answer.error()));
  note_changes(changes);
  for (const book::NewEdge& added : changes.new_edges) remember_parent(added.edge.parent);
  return {};
}

// A task may be taken there now, by this process and by others; and what there is to tell later.
void PostgresStore::note_changes(const book::Changes& changes) {
  for (const book::UntoldChange& change : changes.untold) {
    tells_later_ = tells_later_ || change.next.has_value();
  }
  for (const book::TaskChange& change : changes.tasks) {
    if (change.now == nullptr) continue;
    const embedded::Slot& slot = *change.now;
    if (is_waiting(slot.state)) {
      cursors_.lower(slot.queue, slot.priority, {slot.start, slot.number});
      if (slot.state == TaskState::queued) cursors_.queued(slot.queue, slot.start);
      if (listener_) listener_->tell_work(queue_name(slot.queue));
    }
    // A task that did not end just now: pruning may have to look again from its place.
    const bool ended_before = !change.before || is_final(change.before->state);
    if (!is_final(slot.state) || !ended_before) continue;
    const auto mark = pruned_.find({slot.queue, book::is_dead_letter(slot.state)});
    if (mark != pruned_.end()) mark->second = std::min(mark->second, slot.moment);
  }
}

void PostgresStore::on_hint(std::function<void(const Hint&)> tell) {
  if (listener_) listener_->on_hint(std::move(tell));
}

Result<std::optional<TimePoint>> PostgresStore::time() {
  return look("read the clock", [](Connection& connection) -> Answer<std::optional<TimePoint>> {
    const postgres::Statement statement{.sql = &sql::time};
    auto answer = connection.commit({&statement, 1});
    if (!answer) return std::unexpected(std::move(answer.error()));
    return std::optional(answer->front().value<TimePoint>());
  });
}

Traits PostgresStore::traits() const {
  return {.name = "postgres",
          .durability = promise_.durability,
          .loss_window = promise_.loss_window,
          .leases_survive = true,
          .batch = limits::max_batch,
          .task_size = limits::max_payload,
          .follow_ups = limits::max_follow_ups,
          .several_processes = true,
          .push_wakeups = listener_ != nullptr,
          .recovers = true,
          .retention_step = std::chrono::days(1),
          .order_step = TakeCursors::rescan_step,
          .graphs = true};
}

Result<std::vector<std::string>> PostgresStore::ready(TimePoint now) {
  const auto names = [&](Connection& connection) -> Answer<std::vector<std::string>> {
    Batch batch;
    batch.add(sql::version);
    batch.add(sql::WithWork{.now = now});
    auto answer = connection.commit(batch.statements());
    if (!answer) return std::unexpected(std::move(answer.error()));
    if (auto fresh = check_version(answer->front()); !fresh) return std::unexpected(fresh.error());
    std::vector<std::string> found;
    for (const auto queue : answer->back().values<std::int32_t>()) {
      const auto index = static_cast<std::uint16_t>(queue);
      if (embedded::gives_tasks(state().queue_at(index), now)) found.push_back(queue_name(index));
    }
    return found;
  };
  return look("look for work", names, true);
}

}  // namespace store_postgres
}  // namespace millrace
