// A Store that counts what goes through it and how long it takes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/metrics.h"
#include "store/forwarding.h"

namespace millrace {

// The methods of Store that can fail, in the order of store.h.
enum class StoreMethod : std::uint8_t {
  put,
  work,
  flush,
  due,
  advance,
  find,
  list,
  counts,
  cancel,
  retry,
  remove,
  update,
  restore,
  put_queue,
  queues,
  remove_queue,
  clear,
  put_schedule,
  remove_schedule,
  schedules,
  fire,
  remember,
  recall,
  time,
  ready,
};
inline constexpr std::size_t store_method_count = 25;

std::string_view name_of(StoreMethod method);

// What one method did until a moment.
struct StoreFigures {
  StoreMethod method = StoreMethod::put;
  std::uint64_t calls = 0;
  std::uint64_t items = 0;  // what the answers were about: tasks, leases, queues ...
  std::array<std::uint64_t, 10> errors = {};  // by code; of whole calls and of single items
  HistogramSnapshot seconds;

  std::uint64_t errors_of(ErrorCode code) const { return errors[static_cast<std::size_t>(code)]; }
};

// As thread-safe as the store behind it: flush() may run beside another call, and figures() at any
// time.
class MeteredStore : public ForwardingStore {
 public:
  // Both must outlive this store.
  MeteredStore(Store& inner, Clock& clock) : ForwardingStore(inner), clock_(clock) {}

  StoreFigures figures(StoreMethod method) const;
  std::vector<StoreFigures> figures() const;  // of every method, in their order

  Result<std::vector<Result<Put>>> put(std::span<const NewTask> tasks, TimePoint now) override;
  Result<WorkResult> work(std::span<const Settlement> settlements,
                          std::span<const Extension> extensions, std::span<const TakeRequest> takes,
                          TimePoint now) override;
  Result<void> flush() override;
  Result<std::vector<Overdue>> due(TimePoint now, std::size_t limit) override;
  Result<Advanced> advance(TimePoint now, std::size_t limit) override;
  Result<Task> find(const TaskRef& task) override;
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
  Result<Schedule> put_schedule(const Schedule& schedule, PutSchedule mode, TimePoint now) override;
  Result<void> remove_schedule(std::string_view name, TimePoint now) override;
  Result<std::vector<Schedule>> schedules(const std::optional<std::string>& name) override;
  Result<Fired> fire(const Fire& tick, TimePoint now) override;
  Result<Memo> remember(const Remember& request, TimePoint now) override;
  Result<std::vector<Memo>> recall(const Recall& request, TimePoint now) override;
  Result<std::optional<TimePoint>> time() override;
  Result<std::vector<std::string>> ready(TimePoint now) override;

 private:
  struct Meter {
    Counter calls;
    Counter items;
    std::array<Counter, 10> errors;
    Histogram seconds;
  };

  // Makes the call and notes it under `method`.
  template <class Call>
  auto measured(StoreMethod method, Call call) -> decltype(call());

  Clock& clock_;
  std::array<Meter, store_method_count> meters_;
};

}  // namespace millrace
