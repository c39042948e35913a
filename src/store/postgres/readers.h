// The store as callers see it: one session that changes, and a few beside it that only read, so
// that reads wait neither for changes nor for each other.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

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
  // A reader for one call: one that is idle, or a new one while there are fewer than allowed.
  Result<std::unique_ptr<PostgresStore>> borrow();
  void give_back(std::unique_ptr<PostgresStore> reader);
  template <class Call>
  auto read(const Call& call) -> decltype(call(std::declval<PostgresStore&>()));

  std::unique_ptr<PostgresStore> writer_;
  const PostgresOptions options_;
  Clock& clock_;
  std::mutex mutex_;
  std::condition_variable idle_;
  std::vector<std::unique_ptr<PostgresStore>> readers_;  // that are idle
  std::size_t borrowed_ = 0;
};

}  // namespace millrace::store_postgres
