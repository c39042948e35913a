// Drives a Store in a test: one call per line, at a time that the test moves by hand.
//
// The plain verbs must succeed: if they do not, they end the test with the reason. Verbs that start
// with try_ return what the store answered.
#pragma once

#include <millrace/ids.h>
#include <millrace/queue.h>
#include <millrace/result.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <millrace/work.h>
#include <map>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/values.h"
#include "store/fwd.h"
#include "tests/support/builders.h"
#include "tests/support/print.h"

namespace millrace::test {

using Where = std::source_location;

// Ends the running test.
[[noreturn]] void give_up(const std::string& why, Where where);

// The value, or the end of the test.
template <class T>
T must(Result<T> result, Where where = Where::current()) {
  if (!result) give_up(::testing::PrintToString(result), where);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// The answer to a batch of one.
template <class T>
Result<T> only(Result<std::vector<Result<T>>> batch) {
  if (!batch) return std::unexpected(batch.error());
  if (batch->size() != 1) give_up("a batch of one needs one answer", Where::current());
  return std::move(batch->front());
}

class StoreDriver {
 public:
  explicit StoreDriver(Store& store) : store_(&store) {}

  Store& store() { return *store_; }
  void use(Store& store) { store_ = &store; }

  TimePoint now = t0;
  void pass(Duration by) { now += by; }

  // ---- Queues ----------------------------------------------------------------------------------

  // Creates the queue, or replaces its settings.
  Queue make_queue(const QueueSettings& settings, Where where = Where::current());
  Queue make_queue(const std::string& name, Where where = Where::current());
  Queue find_queue(const QueueRef& queue, Where where = Where::current());
  QueueCounts counts(const QueueRef& queue, Where where = Where::current());

  // ---- Put, take, settle, extend ---------------------------------------------------------------

  Result<Put> try_put(const NewTask& task);
  Put put(const NewTask& task, Where where = Where::current());
  std::vector<Put> put_all(const std::vector<NewTask>& tasks, Where where = Where::current());

  Result<std::vector<Lease>> try_take(const TakeRequest& request);
  std::vector<Lease> take(const QueueRef& queue, std::uint32_t most = 1000,
                          Where where = Where::current());
  Lease take_one(const QueueRef& queue, Where where = Where::current());

  Result<Settled> try_settle(const Settlement& settlement);
  // The state the task is in afterwards; the settlement must have been applied.
  TaskState settle(const Settlement& settlement, Where where = Where::current());

  Result<Extended> try_extend(const Extension& extension);
  Extended extend(const Lease& lease, std::optional<Duration> by = std::nullopt,
                  Where where = Where::current());

  // ---- Upkeep ----------------------------------------------------------------------------------

  std::vector<Overdue> due(std::size_t limit = 1000, Where where = Where::current());
  Overdue due_one(Where where = Where::current());
  Advanced advance(std::size_t limit = 10'000, Where where = Where::current());

  // ---- Operate ---------------------------------------------------------------------------------

  Result<Task> try_find(const TaskRef& task);
  Task find(const TaskRef& task, Where where = Where::current());
  TaskState state_of(const TaskRef& task, Where where = Where::current());
  bool exists(const TaskRef& task);

  Result<TaskState> try_cancel(const CancelRequest& request);
  TaskState cancel(TaskId id, Where where = Where::current());
  Result<TaskState> try_revive(TaskId id);
  TaskState revive(TaskId id, Where where = Where::current());
  Result<TaskState> try_remove(TaskId id);
  TaskState remove(TaskId id, Where where = Where::current());
  Result<TaskState> try_update(const TaskUpdate& update);
  TaskState update(const TaskUpdate& update, Where where = Where::current());

  Result<Put> try_restore(const Task& task);
  Put restore(const Task& task, Where where = Where::current());

  // Every page of the groups of a queue, by name.
  std::vector<Group> groups(const QueueRef& queue, std::uint32_t page = 1000,
                            Where where = Where::current());

  // Every page of a list.
  std::vector<Task> list(ListRequest request = {}, Where where = Where::current());

  // ---- Ways to a state -------------------------------------------------------------------------

  // Puts a task and brings it into `state`. Nothing else may be ready in its queue. Waiting states
  // that end by themselves end an hour from now.
  TaskId task_in(TaskState state, const QueueRef& queue, NewTask fields = {},
                 Where where = Where::current());

  // One task in each state, in a queue where nothing is ready.
  std::map<TaskState, TaskId> one_in_each_state(const QueueRef& queue,
                                                Where where = Where::current());

 private:
  Store* store_;
};

inline constexpr auto waiting_states = {TaskState::created, TaskState::queued, TaskState::delayed,
                                        TaskState::retrying};
inline constexpr auto final_states = {TaskState::completed, TaskState::failed, TaskState::dead,
                                      TaskState::cancelled};

std::vector<TaskId> ids_of(const std::vector<Lease>& leases);
std::vector<TaskId> ids_of(const std::vector<Task>& tasks);
std::vector<TaskId> ids_of(const std::vector<Put>& puts);
std::vector<TaskId> ids_of(const std::vector<Overdue>& overdue);

// Everything the contract shows of a store, as text: equal dumps, equal stores.
std::string dump(Store& store, TimePoint now);

// The lines of two dumps that only one of them has, with - and + in front.
std::string difference(const std::string& before, const std::string& after);

}  // namespace millrace::test
