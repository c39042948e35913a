#include "tests/support/shared_server.h"
#include "store/store.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace millrace::test {

class SharedServer::Connection final : public Store {
 public:
  explicit Connection(SharedServer& server) : server_(server) {
    const std::scoped_lock lock(server_.tell_mutex_);
    server_.connections_.insert(this);
  }
  ~Connection() override {
    const std::scoped_lock lock(server_.tell_mutex_);
    server_.connections_.erase(this);
  }

  Result<std::vector<Put>> put_all(std::span<const NewTask> tasks, TimePoint now) override {
    return call([&](Store& s) { return s.put_all(tasks, now); });
  }
  Result<std::vector<Result<Put>>> put(std::span<const NewTask> tasks, TimePoint now) override {
    auto result = call([&](Store& s) { return s.put(tasks, now); });
    Hint hint;
    for (std::size_t i = 0; result && i < tasks.size(); ++i) {
      const auto* name = std::get_if<std::string>(&tasks[i].queue);
      if ((*result)[i] && name != nullptr) hint.work.push_back(*name);
    }
    if (!hint.work.empty()) server_.tell(hint, this);
    return result;
  }
  Result<WorkResult> work(std::span<const Settlement> settlements,
                          std::span<const Extension> extensions, std::span<const TakeRequest> takes,
                          TimePoint now) override {
    return call([&](Store& s) { return s.work(settlements, extensions, takes, now); });
  }

  Result<void> flush() override {
    const std::scoped_lock lock(server_.mutex_);
    ++server_.calls_;
    if (server_.away_) return away();
    const bool lost = dirty_ && crashes_seen_ != server_.crashes_;
    dirty_ = false;
    if (lost) return fail(ErrorCode::unavailable, "the server crashed before this was flushed");
    server_.durable_ = server_.state_;
    return answer(Result<void>{});
  }

  Result<std::vector<Overdue>> due(TimePoint now, const DueRequest& request) override {
    return call([&](Store& s) { return s.due(now, request); });
  }
  Result<Advanced> advance(TimePoint now, std::size_t limit) override {
    return call([&](Store& s) { return s.advance(now, limit); });
  }
  Result<std::vector<Result<Task>>> find(std::span<const TaskRef> tasks, Parts parts) override {
    return call([&](Store& s) { return s.find(tasks, parts); });
  }
  Result<TaskPage> list(const ListRequest& request) override {
    return call([&](Store& s) { return s.list(request); });
  }
  Result<std::vector<QueueCounts>> counts(const std::optional<QueueRef>& queue,
                                          TimePoint now) override {
    return call([&](Store& s) { return s.counts(queue, now); });
  }
  Result<std::vector<Result<TaskState>>> cancel(std::span<const CancelRequest> requests,
                                                TimePoint now) override {
    return call([&](Store& s) { return s.cancel(requests, now); });
  }
  Result<std::vector<Result<TaskState>>> retry(std::span<const TaskId> tasks,
                                               TimePoint now) override {
    return call([&](Store& s) { return s.retry(tasks, now); });
  }
  Result<std::vector<Result<TaskState>>> remove(std::span<const TaskId> tasks,
                                                TimePoint now) override {
    return call([&](Store& s) { return s.remove(tasks, now); });
  }
  Result<std::vector<Result<TaskState>>> update(std::span<const TaskUpdate> updates,
                                                TimePoint now) override {
    return call([&](Store& s) { return s.update(updates, now); });
  }
  Result<std::vector<Result<Put>>> restore(std::span<const Task> tasks, TimePoint now) override {
    return call([&](Store& s) { return s.restore(tasks, now); });
  }

  Result<Queue> put_queue(const QueueSettings& settings, PutQueue mode, TimePoint now) override {
    return told(call([&](Store& s) { return s.put_queue(settings, mode, now); }), {.queues = true});
  }
  Result<std::vector<Queue>> queues(const std::optional<QueueRef>& queue) override {
    return call([&](Store& s) { return s.queues(queue); });
  }
  Result<void> remove_queue(const QueueRef& queue, bool force, TimePoint now) override {
    return told(call([&](Store& s) { return s.remove_queue(queue, force, now); }),
                {.queues = true});
  }
  Result<std::size_t> clear(const QueueRef& queue, std::size_t limit, TimePoint now) override {
    return call([&](Store& s) { return s.clear(queue, limit, now); });
  }

  Result<Group> put_group(const PutGroup& change, TimePoint now) override {
    return call([&](Store& s) { return s.put_group(change, now); });
  }
  Result<GroupPage> groups(const GroupsRequest& request, TimePoint now) override {
    return call([&](Store& s) { return s.groups(request, now); });
  }

  Result<Schedule> put_schedule(const Schedule& schedule, PutSchedule mode,
                                TimePoint now) override {
    return told(call([&](Store& s) { return s.put_schedule(schedule, mode, now); }),
                {.schedules = true});
  }
  Result<void> remove_schedule(std::string_view name, TimePoint now) override {
    return told(call([&](Store& s) { return s.remove_schedule(name, now); }), {.schedules = true});
  }
  Result<std::vector<Schedule>> schedules(const std::optional<std::string>& name) override {
    return call([&](Store& s) { return s.schedules(name); });
  }
  Result<Fired> fire(const Fire& tick, TimePoint now) override {
    return call([&](Store& s) { return s.fire(tick, now); });
  }

  Result<Memo> remember(const Remember& request, TimePoint now) override {
    return call([&](Store& s) { return s.remember(request, now); });
  }
  Result<std::vector<Memo>> recall(const Recall& request, TimePoint now) override {
    return call([&](Store& s) { return s.recall(request, now); });
  }
  Result<std::optional<TimePoint>> time() override {
    const auto& shown = server_.options_.time;
    return call([&](Store&) -> Result<std::optional<TimePoint>> {
      return shown == TimePoint{} ? std::nullopt : std::optional(shown);
    });
  }
  Traits traits() const override {
    return {.name = "shared",
            .durability = Durability::synced,
            .leases_survive = true,
            .several_processes = true,
            .push_wakeups = server_.options_.pushes,
            .recovers = true};
  }
  Result<std::vector<std::string>> ready(TimePoint now) override {
    return call([&](Store& s) { return s.ready(now); });
  }
  void on_hint(std::function<void(const Hint&)> tell) override {
    const std::scoped_lock lock(server_.tell_mutex_);
    tell_ = std::move(tell);
  }

 private:
  friend class SharedServer;

  static std::unexpected<Error> away() {
    return fail(ErrorCode::unavailable, "the connection is lost");
  }

  // The answer, or the loss of it.
  template <class T>
  Result<T> answer(Result<T> result) {
    if (server_.lost_answers_ == 0) return result;
    if (server_.good_answers_ != 0) {
      --server_.good_answers_;
      return result;
    }
    --server_.lost_answers_;
    return away();
  }

  template <class Call>
  auto call(Call make) -> decltype(make(std::declval<Store&>())) {
    const std::scoped_lock lock(server_.mutex_);
    ++server_.calls_;
    if (server_.away_) return away();
    if (!std::exchange(dirty_, true)) crashes_seen_ = server_.crashes_;
    return answer(make(server_.state_));
  }

  template <class T>
  T told(T result, const Hint& hint) {
    if (result) server_.tell(hint, this);
    return result;
  }

  SharedServer& server_;
  // Guarded by the server's mutex: something was called since the last flush.
  bool dirty_ = false;
  std::uint64_t crashes_seen_ = 0;  // before the first of these calls
  // Guarded by its tell_mutex.
  std::function<void(const Hint&)> tell_;
};

std::unique_ptr<Store> SharedServer::connect() {
  return std::make_unique<Connection>(*this);
}

bool SharedServer::tell(const Hint& hint, const Connection* by) {
  if (!options_.pushes) return false;
  const std::scoped_lock lock(tell_mutex_);
  for (Connection* each : connections_) {
    if (each != by && each->tell_) each->tell_(hint);
  }
  return true;
}

void SharedServer::go_away() {
  const std::scoped_lock lock(mutex_);
  away_ = true;
}

void SharedServer::crash() {
  const std::scoped_lock lock(mutex_);
  away_ = true;
  ++crashes_;
  durable_.count_on_from(state_);
  state_ = durable_;
}

void SharedServer::come_back() {
  {
    const std::scoped_lock lock(mutex_);
    away_ = false;
    lost_answers_ = 0;
  }
  tell({.everything = true}, nullptr);
}

void SharedServer::lose_answers(std::uint64_t count, std::uint64_t after) {
  const std::scoped_lock lock(mutex_);
  lost_answers_ = count;
  good_answers_ = after;
}

void SharedServer::set_time(TimePoint time) {
  const std::scoped_lock lock(mutex_);
  options_.time = time;
}

std::uint64_t SharedServer::calls() {
  const std::scoped_lock lock(mutex_);
  return calls_;
}

}  // namespace millrace::test
