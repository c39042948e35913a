// The store as callers see it: one session that writes, and a few that only read, so that reads
// wait neither for changes nor for each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/mutex.h"
#include "store/forwarding.h"
#include "store/postgres/postgres_store.h"

namespace millrace::store_postgres {

class StoreWithReaders final : public ForwardingStore {
 public:
  StoreWithReaders(std::unique_ptr<PostgresStore> writer, PostgresOptions options, Clock& clock);

  Result<std::vector<Result<Task>>> find(std::span<const TaskRef> tasks, Parts parts) override;
  Result<TaskPage> list(const ListRequest& request) override;
  Result<std::vector<QueueCounts>> counts(const std::optional<QueueRef>& queue,
                                          TimePoint now) override;
  Result<std::vector<Queue>> queues(const std::optional<QueueRef>& queue) override;
  Result<std::vector<Schedule>> schedules(const std::optional<std::string>& name) override;
  Result<std::vector<Memo>> recall(const Recall& request, TimePoint now) override;
  Result<std::vector<std::string>> ready(TimePoint now) override;
  Result<std::optional<TimePoint>> time() override;
  Traits traits() const override;

 private:
  struct Session {
    std::unique_ptr<PostgresStore> store;
    std::uint64_t epoch;  // of the writer when it was opened
  };

  // A session for one call: one that is idle, or a new one while there are fewer than allowed.
  Result<Session> borrow();
  void give_back(Session session);
  // Closes idle sessions on a server that the writer may have left: they would read old data.
  std::vector<Session> take_outdated() REQUIRES(mutex_);
  template <class Call>
  auto read(const Call& call) -> decltype(call(std::declval<PostgresStore&>()));

  std::unique_ptr<PostgresStore> writer_;
  const PostgresOptions options_;
  Clock& clock_;
  Mutex mutex_;
  Condition given_back_;
  std::vector<Session> idle_ GUARDED_BY(mutex_);
  std::size_t borrowed_ GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace::store_postgres
