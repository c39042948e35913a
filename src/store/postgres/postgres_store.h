// The parts of the store on PostgreSQL; postgres.h opens it. One file per group of verbs.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "store/book/book.h"
#include "store/postgres/batch.h"
#include "store/postgres/format.h"
#include "store/postgres/lease_scan.h"
#include "store/postgres/listener.h"
#include "store/postgres/postgres.h"
#include "store/postgres/rates.h"
#include "store/postgres/server_check.h"
#include "store/postgres/session.h"
#include "store/postgres/take_cursors.h"
#include "store/postgres/vacuum.h"
#include "store/store.h"

namespace millrace::store_postgres {

Result<void> check_batch(std::size_t size);

// The answer, or what refused: the tables or the contract.
template <class T>
Result<T> flat(Result<Result<T>> answer) {
  if (!answer) return std::unexpected(std::move(answer.error()));
  return std::move(*answer);
}

class Taking;
struct PlainPut;

class PostgresStore final : public Store {
 public:
  PostgresStore(PostgresOptions options, Clock& clock, std::string_view purpose = {});

  // Connects, checks the server, brings the tables up to date, reads the queues.
  Result<void> open();
  // Connects and reads the queues: for a store of which only the reads will be called.
  Result<void> open_reader();
  // Whether it believes to be: the server may have gone without a word.
  bool is_connected() const { return session_.has_connection(); }
  // Changes whenever the store may have moved to another server, or its server crashed and lost
  // changes. Any thread may ask.
  std::uint64_t server_epoch() const { return session_.connections() + crashes_; }

  Result<std::vector<Result<Put>>> put(std::span<const NewTask> tasks, TimePoint now) override;
  Result<std::vector<Put>> put_all(std::span<const NewTask> tasks, TimePoint now) override;
  Result<WorkResult> work(std::span<const Settlement> settlements,
                          std::span<const Extension> extensions, std::span<const TakeRequest> takes,
                          TimePoint now) override;
  Result<void> flush() override;

  Result<std::vector<Overdue>> due(TimePoint now, const DueRequest& request) override;
  Result<Advanced> advance(TimePoint now, std::size_t limit) override;

  Result<std::vector<Result<Task>>> find(std::span<const TaskRef> tasks, Parts parts) override;
  Result<TaskPage> list(const ListRequest& request) override;
  Result<std::vector<QueueCounts>> counts(const std::optional<QueueRef>& queue,
                                          TimePoint now) override;
  Result<std::vector<Result<TaskState>>> cancel(std::span<const CancelRequest> requests,
                                                TimePoint now) override;
  Result<std::vector<Result<TaskState>>> retry(std::span<const TaskId> tasks,
                                               TimePoint now) override;
  Result<std::vector<Result<TaskState>>> remove(std::span<const TaskId> tasks,
                                                TimePoint now) override;
  Result<std::vector<Result<TaskState>>> update(std::span<const TaskUpdate> updates,
                                                TimePoint now) override;
  Result<std::vector<Result<Put>>> restore(std::span<const Task> tasks, TimePoint now) override;

  Result<Queue> put_queue(const QueueSettings& settings, PutQueue mode, TimePoint now) override;
  Result<std::vector<Queue>> queues(const std::optional<QueueRef>& queue) override;
  Result<void> remove_queue(const QueueRef& queue, bool force, TimePoint now) override;
  Result<std::size_t> clear(const QueueRef& queue, std::size_t limit, TimePoint now) override;
  Result<Group> put_group(const PutGroup& change, TimePoint now) override;
  Result<GroupPage> groups(const GroupsRequest& request, TimePoint now) override;

  Result<Schedule> put_schedule(const Schedule& schedule, PutSchedule mode, TimePoint now) override;
  Result<void> remove_schedule(std::string_view name, TimePoint now) override;
  Result<std::vector<Schedule>> schedules(const std::optional<std::string>& name) override;
  Result<Fired> fire(const Fire& tick, TimePoint now) override;

  Result<Memo> remember(const Remember& request, TimePoint now) override;
  Result<std::vector<Memo>> recall(const Recall& request, TimePoint now) override;
  Result<std::optional<TimePoint>> time() override;
  Traits traits() const override;
  Result<std::vector<std::string>> ready(TimePoint now) override;
  void on_hint(std::function<void(const Hint&)> tell) override;

 private:
  template <class T>
  using Answer = postgres::Answer<T>;
  using Connection = postgres::Connection;

  Result<void> name_boot();

  // find.cc
  Result<Task> task_at(const postgres::Rows& rows, std::size_t at, std::string_view doing);

  // What a call has to read before the state machine can decide.
  struct Reading {
    std::vector<Uuid> ids = {};               // tasks
    std::vector<book::Key> keys = {};         // unique keys
    std::vector<std::uint16_t> limited = {};  // queues whose limits count
    std::set<std::uint16_t> targets = {};     // queues that tasks may move to
    std::size_t numbers = 0;                  // tasks that may be added
  };

  // A transaction whose `body(connection)` may use the book, which is empty before and after. When
  // queues have changed, they are read again, and the tables for tasks that end now are made.
  template <class Body>
  auto change(std::string_view doing, TimePoint now, Body body);
  // A transaction that only reads. `to_write`: for the sake of a change, and so it leaves a server
  // that takes none.
  template <class Body>
  auto look(std::string_view doing, Body body, bool to_write = false);
  // Whether the server may be one that took over, or crashed and lost changes: then everything
  // remembered of the last one is dropped.
  bool is_another_server();
  // Reads what the call needs into the book.
  Answer<void> read(Connection& connection, Reading reading);
  Answer<void> read_tasks(Connection& connection, const std::vector<Uuid>& ids);
  Answer<void> read_holders(Connection& connection);
  // Sends the changes, and commits.
  Answer<void> write(Connection& connection, Batch& batch, TimePoint now);
  void lower_cursors(const book::Changes& changes);
  // For verbs that touch known tasks: read, decide each, write. `what()` says what to read; it is
  // called again when queues have changed.
  template <class T, class Item, class What, class Verb>
  Result<std::vector<Result<T>>> each(std::string_view doing, std::span<const Item> items,
                                      const What& what, TimePoint now, const Verb& verb);

  // Lets `verb()` change a task, unless a part of it cannot be read: the verb would write over
  // that.
  template <class Verb>
  auto change_task(const TaskId& id, std::string_view doing, const Verb& verb) -> decltype(verb());

  // queues.cc
  Result<void> read_queues();
  void listen(const ServerFacts& facts);
  Answer<bool> read_queues(Connection& connection);
  Answer<void> check_version(const postgres::Rows& rows) const;
  // Makes the tables for tasks that end today, one for every class that a queue has.
  Result<void> make_partitions(TimePoint now);
  Answer<void> enter_queues(const postgres::Rows& rows);
  void write_queues(Batch& batch);
  Answer<void> lock_queues(Connection& connection);
  struct Erasable {
    bool closed;  // no session is putting into it with SQL
    bool empty;
  };
  // From now until this transaction ends, no session puts into any queue.
  static Answer<Erasable> may_erase(Connection& connection, std::uint16_t queue);
  // One process at a time changes queues, and decides by what the tables say then.
  template <class T, class Verb>
  Result<T> change_queues(std::string_view doing, const Verb& verb);
  Answer<std::size_t> remove_oldest(Connection& connection, std::uint16_t queue, bool waiting_only,
                                    std::size_t limit, TimePoint now);
  Result<std::vector<Queue>> one_queue(const QueueRef& queue);
  Answer<void> check_fresh(Connection& connection);
  embedded::State& state() { return book_.state(); }
  std::string queue_name(std::uint16_t index);

  // put.cc
  struct PlainAnswer {
    std::vector<Result<Put>> results = {};
    std::vector<std::size_t> left = {};  // places of tasks that may be in conflict with another
    std::vector<std::pair<std::size_t, std::size_t>> twins = {};  // places with the same id
  };
  Result<std::vector<Result<Put>>> put_plain(std::span<const NewTask> tasks, TimePoint now);
  Result<std::vector<Result<Put>>> put_by_book(std::span<const NewTask> tasks, TimePoint now);
  Result<std::optional<PlainAnswer>> add_plain(std::span<const NewTask> tasks, TimePoint now);
  void note_added(PlainPut& plain, const postgres::Rows& rows, const postgres::Rows& taken_back,
                  TimePoint now);
  // As add_plain(), or through the book where that is needed.
  Result<PlainAnswer> add_any(std::span<const NewTask> tasks, TimePoint now);
  std::vector<std::size_t> answer_left(std::span<const NewTask> tasks, PlainAnswer& answer,
                                       TimePoint now);
  bool is_plain(std::span<const NewTask> tasks);
  void add_reading(const NewTask& task, Reading& reading);
  static void add_key(const embedded::QueueEntry* queue, const std::optional<UniqueKey>& unique,
                      Reading& reading);
  // The same for a task that is exempt from limits.
  void add_follow_up(const NewTask& task, Reading& reading);
  // operate.cc
  static Reading reading_of(std::span<const TaskId> tasks);
  Result<TaskState> remove_one(const TaskId& id, TimePoint now);

  // upkeep.cc
  static Answer<std::size_t> count_of(Connection& connection, const Batch& one);
  Answer<std::vector<Overdue>> due(Connection& connection, TimePoint now,
                                   const DueRequest& request);
  Answer<Advanced> advance(Connection& connection, TimePoint now, std::size_t limit,
                           std::vector<std::uint16_t>& to_lift);
  Answer<void> release_parked(Connection& connection, TimePoint now, std::size_t& left,
                              std::size_t& promoted);
  Answer<void> prune(Connection& connection, TimePoint now, std::size_t& left, std::size_t& removed,
                     std::vector<std::uint16_t>& to_lift);
  Answer<void> empty_removed(Connection& connection, std::size_t& left, std::size_t& removed,
                             std::vector<std::uint16_t>& to_lift, TimePoint now);
  Result<std::size_t> lift(std::uint16_t queue, TimePoint now);
  Answer<std::optional<TimePoint>> next_moment(Connection& connection, TimePoint now);
  Result<std::size_t> drop_partitions(TimePoint now);

  // small.cc
  Answer<void> read_schedule(Connection& connection, std::string_view name);

  // list.cc
  struct Walk;  // a page, as far as it was read
  Answer<Result<TaskPage>> walk(Connection& connection, Walk walk);
  Answer<bool> step(Connection& connection, Walk& walk);

  // work.cc
  void add_reading(const Settlement& settlement, Reading& reading);
  void look_again(Connection& connection, std::span<const Settlement> settlements,
                  const std::vector<std::size_t>& places, WorkResult& result);
  Answer<std::vector<postgres::Rows>> take(Connection& connection, Taking& taking, Batch& batch);

  const PostgresOptions options_;
  Clock& clock_;
  Session session_;
  Session flushing_;
  std::optional<Uuid> boot_;                // as the last flush saw it
  std::atomic<std::uint64_t> crashes_ = 0;  // that flushes saw; they have a thread of their own
  std::pair<std::uint64_t, std::uint64_t> known_by_;  // connections and crashes, when last looked
  book::Book book_;
  UnreadableRates unreadable_rates_;  // as read() has found them
  TakeCursors cursors_;
  LeaseScan lease_scan_;
  std::map<std::string_view, Throttle> step_throttles_;  // of upkeep, by statement
  // For tables of days; several small ones are dropped in one step.
  Throttle drop_throttle_{std::chrono::nanoseconds::zero(), 20, std::chrono::milliseconds(500)};
  // For the next moment at which something falls due; while it is unknown, upkeep runs every
  // second.
  Throttle next_throttle_{std::chrono::nanoseconds::zero(), 100};
  std::map<std::pair<std::uint16_t, bool>, TimePoint> pruned_;  // until there, by queue and kind
  std::chrono::nanoseconds looked_back_{0};    // for tasks that a changed rule left behind
  std::int64_t version_ = 0;                   // of the settings in the book
  std::vector<std::int32_t> keeping_nothing_;  // queues, the first 100: a hint for done.sql
  // What every queue takes: done.sql does not know whose tasks it settles.
  std::size_t smallest_task_size_ = limits::usual_task_size;
  Promise promise_;  // what the server makes of a commit, as it was when the store was opened
  std::set<std::pair<std::int16_t, std::int64_t>> partitions_;  // class and day, known to be there
  std::unique_ptr<Listener> listener_;                          // none behind a pooler
  std::unique_ptr<Vacuum> vacuum_;
};

// The book is closed at the end, however the call ends.
class Closing {
 public:
  explicit Closing(book::Book& book) : book_(book) { book_.close(); }
  Closing(const Closing&) = delete;
  Closing& operator=(const Closing&) = delete;
  ~Closing() { book_.close(); }

 private:
  book::Book& book_;
};

template <class Body>
auto PostgresStore::change(std::string_view doing, TimePoint now, Body body) {
  const auto again = [&]() -> Result<void> {
    if (auto read = read_queues(); !read) return read;
    return make_partitions(now);
  };
  return session_.transact(doing, {.durable = false}, again,
                           [&](Connection& connection) -> std::invoke_result_t<Body, Connection&> {
                             if (is_another_server()) return std::unexpected(stale());
                             const Closing closing(book_);
                             return body(connection);
                           });
}

template <class Body>
auto PostgresStore::look(std::string_view doing, Body body, bool to_write) {
  return session_.transact(
      doing, {.durable = false, .snapshot = true, .read_only = !to_write || options_.read_only},
      [this] { return read_queues(); },
      [&](Connection& connection) -> std::invoke_result_t<Body, Connection&> {
        if (is_another_server()) return std::unexpected(stale());
        return body(connection);
      });
}

template <class T, class Item, class What, class Verb>
Result<std::vector<Result<T>>> PostgresStore::each(std::string_view doing,
                                                   std::span<const Item> items, const What& what,
                                                   TimePoint now, const Verb& verb) {
  if (auto good = check_batch(items.size()); !good) return std::unexpected(good.error());
  return change(doing, now, [&](Connection& connection) -> Answer<std::vector<Result<T>>> {
    if (auto got = read(connection, what()); !got) return std::unexpected(got.error());
    std::vector<Result<T>> results;
    results.reserve(items.size());
    for (const Item& item : items) results.push_back(verb(item));
    Batch batch;
    if (auto put = write(connection, batch, now); !put) return std::unexpected(put.error());
    return results;
  });
}

template <class Verb>
auto PostgresStore::change_task(const TaskId& id, std::string_view doing, const Verb& verb)
    -> decltype(verb()) {
  if (auto good = book_.check_readable(id); !good) {
    return std::unexpected(to_error(unreadable(good.error().message), doing));
  }
  return verb();
}

template <class T, class Verb>
Result<T> PostgresStore::change_queues(std::string_view doing, const Verb& verb) {
  auto result = session_.transact(
      doing, {.durable = false}, [] { return Result<void>(); },
      [&](Connection& connection) -> Answer<Result<T>> {
        const Closing closing(book_);
        if (auto locked = lock_queues(connection); !locked) {
          return std::unexpected(std::move(locked.error()));
        }
        Answer<Result<T>> done = verb(connection);
        if (!done || !*done) return done;
        Batch batch;
        write_queues(batch);
        if (batch.size() == 0) return done;  // rolled back, version and all
        auto committed = connection.commit(batch.statements());
        if (!committed) return std::unexpected(std::move(committed.error()));
        if (listener_) listener_->tell_queues();
        return done;
      });
  // What is remembered may be of a change that was not committed after all.
  if (auto read = read_queues(); !read) return std::unexpected(read.error());
  return flat(std::move(result));
}

}  // namespace millrace::store_postgres
