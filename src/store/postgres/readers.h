// The store as callers see it: one session that writes, and a few that only read, so that reads
// wait neither for changes nor for each other.
//
// The applier, the thread that calls the Writer, also reads with the session that writes. So it
// waits for no other read, and what becomes of the sessions that read does not matter to it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "core/mutex.h"
#include "store/postgres/postgres_store.h"

namespace millrace::store_postgres {

class StoreWithReaders final : public Store {
 public:
  StoreWithReaders(std::unique_ptr<PostgresStore> writer, PostgresOptions options, Clock& clock);

  Result<std::vector<Result<Put>>> put(std::span<const NewTask> tasks, TimePoint now) override;
  Result<std::vector<Put>> put_all(std::span<const NewTask> tasks, TimePoint now) override;
  Result<WorkResult> work(std::span<const Settlement> settlements,
                          std::span<const Extension> extensions, std::span<const TakeRequest> takes,
                          TimePoint now) override;
  Result<void> flush() override;
  Result<std::vector<Overdue>> due(TimePoint now, const DueRequest& request) override;
  Result<Advanced> advance(TimePoint now, std::size_t limit) override;
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
  Result<void> remove_queue(const QueueRef& queue, bool force, TimePoint now) override;
  Result<std::size_t> clear(const QueueRef& queue, std::size_t limit, TimePoint now) override;
  Result<Group> put_group(const PutGroup& change, TimePoint now) override;
  Result<GroupPage> groups(const GroupsRequest& request, TimePoint now) override;
  Result<Schedule> put_schedule(const Schedule& schedule, PutSchedule mode, TimePoint now) override;
  Result<void> remove_schedule(std::string_view name, TimePoint now) override;
  Result<Fired> fire(const Fire& tick, TimePoint now) override;
  Result<Memo> remember(const Remember& request, TimePoint now) override;

  Result<std::vector<Result<Task>>> find(std::span<const TaskRef> tasks, Parts parts) override;
  Result<TaskPage> list(const ListRequest& request) override;
  Result<std::vector<QueueCounts>> counts(const std::optional<QueueRef>& queue,
                                          TimePoint now) override;
  Result<std::vector<Queue>> queues(const std::optional<QueueRef>& queue) override;
  Result<std::vector<Schedule>> schedules(const std::optional<std::string>& name) override;
  Result<std::vector<Memo>> recall(const Recall& request, TimePoint now) override;
  // A thread that asks for work is about to take it, so this makes it the applier, too. It may be
  // the first call of a server, or the only one while it asks whether the store is back.
  Result<std::vector<std::string>> ready(TimePoint now) override;
  Result<std::optional<TimePoint>> time() override;
  Traits traits() const override;
  void on_hint(std::function<void(const Hint&)> tell) override;

 private:
  struct Session {
    std::unique_ptr<PostgresStore> store;
    std::uint64_t epoch;  // of the writer when it was opened
  };

  // A call on the applier, which this thread is from now on.
  template <class Call>
  auto apply(const Call& call) -> decltype(call(std::declval<PostgresStore&>()));
  template <class Call>
  auto read(const Call& call) -> decltype(call(std::declval<PostgresStore&>()));

  // A session for one call: one that is idle, or a new one while there are fewer than allowed.
  Result<Session> borrow();
  void give_back(Session session);
  // Closes idle sessions on a server that the writer may have left: they would read old data.
  std::vector<Session> take_outdated() REQUIRES(mutex_);

  // Its calls for the applier are made under `applying_`: while one thread hands over to another,
  // as after the opening, both may believe that they are the applier.
  const std::unique_ptr<PostgresStore> writer_;
  Mutex applying_;
  std::atomic<std::thread::id> applier_;

  const PostgresOptions options_;
  Clock& clock_;
  Mutex mutex_;
  Condition given_back_;
  std::vector<Session> idle_ GUARDED_BY(mutex_);
  std::size_t borrowed_ GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace::store_postgres
