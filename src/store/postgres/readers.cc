#include "store/postgres/readers.h"
#include "store/store.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace millrace::store_postgres {
namespace {

// A statement ends after 20 s at the latest.
constexpr std::chrono::seconds longest_queueing{25};

template <class T>
bool is_unavailable(const Result<T>& answer) {
  return !answer && answer.error().code == ErrorCode::unavailable;
}

}  // namespace

StoreWithReaders::StoreWithReaders(std::unique_ptr<PostgresStore> writer, PostgresOptions options,
                                   Clock& clock)
    : writer_(std::move(writer)), options_(std::move(options)), clock_(clock) {}

// ---- Sessions that read
// ---------------------------------------------------------------------------

std::vector<StoreWithReaders::Session> StoreWithReaders::take_outdated() {
  const auto is_current = [epoch = writer_->server_epoch()](const Session& session) {
    return session.epoch == epoch;
  };
  const auto outdated = std::ranges::partition(idle_, is_current);
  std::vector<Session> taken(std::make_move_iterator(outdated.begin()),
                             std::make_move_iterator(outdated.end()));
  idle_.erase(outdated.begin(), outdated.end());
  return taken;
}

Result<StoreWithReaders::Session> StoreWithReaders::borrow() {
  std::vector<Session> outdated;  // closed without the lock
  Lock lock(mutex_);
  const auto may_have_one = [this]() REQUIRES(mutex_) {
    return !idle_.empty() || borrowed_ < std::max<std::size_t>(options_.readers, 1);
  };
  if (!given_back_.wait_for(mutex_, longest_queueing, may_have_one)) {
    return fail(ErrorCode::unavailable, "all sessions that read are busy; ask again");
  }
  ++borrowed_;
  outdated = take_outdated();
  if (!idle_.empty()) {
    Session session = std::move(idle_.back());
    idle_.pop_back();
    return session;
  }
  lock.unlock();
  Session session{.store = std::make_unique<PostgresStore>(options_, clock_, "read"),
                  .epoch = writer_->server_epoch()};
  auto opened = session.store->open_reader();
  if (opened) return session;
  give_back(std::move(session));  // the session knows how long to wait before it tries again
  return std::unexpected(std::move(opened.error()));
}

void StoreWithReaders::give_back(Session session) {
  {
    const Lock lock(mutex_);
    --borrowed_;
    idle_.push_back(std::move(session));
  }
  given_back_.notify_one();
}

// ---- Who reads with which
// -------------------------------------------------------------------------

template <class Call>
auto StoreWithReaders::apply(const Call& call) -> decltype(call(std::declval<PostgresStore&>())) {
  applier_ = std::this_thread::get_id();
  const Lock lock(applying_);
  return call(*writer_);
}

template <class Call>
auto StoreWithReaders::read(const Call& call) -> decltype(call(std::declval<PostgresStore&>())) {
  if (applier_.load() == std::this_thread::get_id()) return apply(call);
  auto session = borrow();
  if (!session) return std::unexpected(std::move(session.error()));
  PostgresStore& reader = *session->store;
  const bool was_connected = reader.is_connected();
  auto answer = call(reader);
  // The connection may have been lost long ago: the server restarted, or a firewall forgot it.
  if (was_connected && is_unavailable(answer) && !reader.is_connected()) answer = call(reader);
  give_back(std::move(*session));
  return answer;
}

// ---- The calls
// ------------------------------------------------------------------------------------

Result<std::vector<Result<Put>>> StoreWithReaders::put(std::span<const NewTask> tasks,
                                                       TimePoint now) {
  return apply([&](PostgresStore& writer) { return writer.put(tasks, now); });
}

Result<std::vector<Put>> StoreWithReaders::put_all(std::span<const NewTask> tasks, TimePoint now) {
  return apply([&](PostgresStore& writer) { return writer.put_all(tasks, now); });
}

Result<WorkResult> StoreWithReaders::work(std::span<const Settlement> settlements,
                                          std::span<const Extension> extensions,
                                          std::span<const TakeRequest> takes, TimePoint now) {
  return apply(
      [&](PostgresStore& writer) { return writer.work(settlements, extensions, takes, now); });
}

// Has a session of its own, and often a thread of its own.
Result<void> StoreWithReaders::flush() {
  return writer_->flush();
}

Result<std::vector<Overdue>> StoreWithReaders::due(TimePoint now, const DueRequest& request) {
  return apply([&](PostgresStore& writer) { return writer.due(now, request); });
}

Result<Advanced> StoreWithReaders::advance(TimePoint now, std::size_t limit) {
  return apply([&](PostgresStore& writer) { return writer.advance(now, limit); });
}

Result<std::vector<Result<TaskState>>> StoreWithReaders::cancel(
    std::span<const CancelRequest> requests, TimePoint now) {
  return apply([&](PostgresStore& writer) { return writer.cancel(requests, now); });
}

Result<std::vector<Result<TaskState>>> StoreWithReaders::retry(std::span<const TaskId> tasks,
                                                               TimePoint now) {
  return apply([&](PostgresStore& writer) { return writer.retry(tasks, now); });
}

Result<std::vector<Result<TaskState>>> StoreWithReaders::remove(std::span<const TaskId> tasks,
                                                                TimePoint now) {
  return apply([&](PostgresStore& writer) { return writer.remove(tasks, now); });
}

Result<std::vector<Result<TaskState>>> StoreWithReaders::update(std::span<const TaskUpdate> updates,
                                                                TimePoint now) {
  return apply([&](PostgresStore& writer) { return writer.update(updates, now); });
}

Result<std::vector<Result<Put>>> StoreWithReaders::restore(std::span<const Task> tasks,
                                                           TimePoint now) {
  return apply([&](PostgresStore& writer) { return writer.restore(tasks, now); });
}

Result<Queue> StoreWithReaders::put_queue(const QueueSettings& settings, PutQueue mode,
                                          TimePoint now) {
  return apply([&](PostgresStore& writer) { return writer.put_queue(settings, mode, now); });
}

Result<void> StoreWithReaders::remove_queue(const QueueRef& queue, bool force, TimePoint now) {
  return apply([&](PostgresStore& writer) { return writer.remove_queue(queue, force, now); });
}

Result<std::size_t> StoreWithReaders::clear(const QueueRef& queue, std::size_t limit,
                                            TimePoint now) {
  return apply([&](PostgresStore& writer) { return writer.clear(queue, limit, now); });
}

Result<Group> StoreWithReaders::put_group(const PutGroup& change, TimePoint now) {
  return apply([&](PostgresStore& writer) { return writer.put_group(change, now); });
}

Result<GroupPage> StoreWithReaders::groups(const GroupsRequest& request, TimePoint now) {
  return read([&](PostgresStore& reader) { return reader.groups(request, now); });
}

Result<Schedule> StoreWithReaders::put_schedule(const Schedule& schedule, PutSchedule mode,
                                                TimePoint now) {
  return apply([&](PostgresStore& writer) { return writer.put_schedule(schedule, mode, now); });
}

Result<void> StoreWithReaders::remove_schedule(std::string_view name, TimePoint now) {
  return apply([&](PostgresStore& writer) { return writer.remove_schedule(name, now); });
}

Result<Fired> StoreWithReaders::fire(const Fire& tick, TimePoint now) {
  return apply([&](PostgresStore& writer) { return writer.fire(tick, now); });
}

Result<Memo> StoreWithReaders::remember(const Remember& request, TimePoint now) {
  return apply([&](PostgresStore& writer) { return writer.remember(request, now); });
}

Result<std::vector<Result<Task>>> StoreWithReaders::find(std::span<const TaskRef> tasks,
                                                         Parts parts) {
  return read([&](PostgresStore& reader) { return reader.find(tasks, parts); });
}

Result<TaskPage> StoreWithReaders::list(const ListRequest& request) {
  return read([&](PostgresStore& reader) { return reader.list(request); });
}

Result<std::vector<QueueCounts>> StoreWithReaders::counts(const std::optional<QueueRef>& queue,
                                                          TimePoint now) {
  return read([&](PostgresStore& reader) { return reader.counts(queue, now); });
}

Result<std::vector<Queue>> StoreWithReaders::queues(const std::optional<QueueRef>& queue) {
  return read([&](PostgresStore& reader) { return reader.queues(queue); });
}

Result<std::vector<Schedule>> StoreWithReaders::schedules(const std::optional<std::string>& name) {
  return read([&](PostgresStore& reader) { return reader.schedules(name); });
}

Result<std::vector<Memo>> StoreWithReaders::recall(const Recall& request, TimePoint now) {
  return read([&](PostgresStore& reader) { return reader.recall(request, now); });
}

Result<std::vector<std::string>> StoreWithReaders::ready(TimePoint now) {
  return apply([&](PostgresStore& writer) { return writer.ready(now); });
}

Result<std::optional<TimePoint>> StoreWithReaders::time() {
  return read([](PostgresStore& reader) { return reader.time(); });
}

Traits StoreWithReaders::traits() const {
  Traits traits = writer_->traits();
  traits.readers = std::max<std::size_t>(options_.readers, 1);
  return traits;
}

void StoreWithReaders::on_hint(std::function<void(const Hint&)> tell) {
  writer_->on_hint(std::move(tell));
}

}  // namespace millrace::store_postgres
