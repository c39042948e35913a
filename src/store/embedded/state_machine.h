// The Store contract over the State: the `memory:` store, and the oracle that other stores are
// compared with. Everything is lost with the process.
#pragma once

#include <string>
#include <utility>

#include "store/embedded/state.h"
#include "store/embedded/task_copy.h"
#include "store/embedded/turns.h"
#include "store/store.h"

namespace millrace::embedded {

class StateMachine final : public Store {
 public:
  explicit StateMachine(State::Options options = {}) : state_(std::move(options)) {}

  Result<std::vector<Result<Put>>> put(std::span<const NewTask> tasks, TimePoint now) override;
  Result<std::vector<Put>> put_all(std::span<const NewTask> tasks, TimePoint now) override;
  Result<WorkResult> work(std::span<const Settlement> settlements,
                          std::span<const Extension> extensions, std::span<const TakeRequest> takes,
                          TimePoint now) override;
  Result<void> flush() override { return {}; }

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
  Result<millrace::Group> put_group(const PutGroup& change, TimePoint now) override;
  Result<GroupPage> groups(const GroupsRequest& request, TimePoint now) override;

  Result<Schedule> put_schedule(const Schedule& schedule, PutSchedule mode, TimePoint now) override;
  Result<void> remove_schedule(std::string_view name, TimePoint now) override;
  Result<std::vector<Schedule>> schedules(const std::optional<std::string>& name) override;
  Result<Fired> fire(const Fire& tick, TimePoint now) override;

  Result<Memo> remember(const Remember& request, TimePoint now) override;
  Result<std::vector<Memo>> recall(const Recall& request, TimePoint now) override;
  Result<std::optional<TimePoint>> time() override { return std::nullopt; }
  Traits traits() const override;
  Result<std::vector<std::string>> ready(TimePoint now) override;

  State& state() { return state_; }
  // Code that touches the state from outside, while other threads read, takes a turn.
  Turns& turns() { return turns_; }

 private:
  // tasks_of() calls `load` with the copies of one step, between two turns.
  LoadFromLog open_log();
  std::vector<TaskRef> by_ids(std::span<const TaskRef> tasks);
  std::vector<Result<Task>> tasks_of(std::vector<TaskCopy> copies, LoadFromLog load);

  State state_;
  Turns turns_;
};

}  // namespace millrace::embedded
