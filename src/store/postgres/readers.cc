#include "store/postgres/readers.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace millrace::store_postgres {
namespace {

// A statement ends after 20 s at the latest.
constexpr std::chrono::seconds longest_wait{25};

}  // namespace

StoreWithReaders::StoreWithReaders(std::unique_ptr<PostgresStore> writer, PostgresOptions options,
                                   Clock& clock)
    : ForwardingStore(*writer),
      writer_(std::move(writer)),
      options_(std::move(options)),
      clock_(clock) {}

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
  if (!given_back_.wait_for(mutex_, longest_wait, may_have_one)) {
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

template <class Call>
auto StoreWithReaders::read(const Call& call) -> decltype(call(std::declval<PostgresStore&>())) {
  auto session = borrow();
  if (!session) return std::unexpected(std::move(session.error()));
  auto answer = call(*session->store);
  give_back(std::move(*session));
  return answer;
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
  return read([&](PostgresStore& reader) { return reader.ready(now); });
}

Result<std::optional<TimePoint>> StoreWithReaders::time() {
  return read([](PostgresStore& reader) { return reader.time(); });
}

Traits StoreWithReaders::traits() const {
  Traits traits = writer_->traits();
  traits.readers = std::max<std::size_t>(options_.readers, 1);
  return traits;
}

}  // namespace millrace::store_postgres
