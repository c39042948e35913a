// The verbs of the contract, one task or one request at a time, over the State. The promises are
// those of store/store.h; state_machine.cc puts them together.
#pragma once

#include <millrace/result.h>
#include <millrace/work.h>
#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/check.h"
#include "core/values.h"
#include "store/embedded/state.h"

namespace millrace::embedded {

// Finds queues for the items of a batch; most of them name the same one.
class QueueFinder {
 public:
  explicit QueueFinder(const State& state) : state_(state) {}

  // nullptr: unknown.
  QueueEntry* find(const QueueRef& ref);

 private:
  const State& state_;
  QueueEntry* last_ = nullptr;
};

std::unexpected<Error> unknown_queue(const QueueRef& ref);
std::unexpected<Error> unknown_task(const TaskId& id);
std::unexpected<Error> unknown_parent(const After& after, std::size_t place);
std::unexpected<Error> lease_lost(const TaskId& id);

// put.cc
// When a task that is put now may be taken.
TimePoint ready_moment(const NewTask& task, TimePoint now);
// An error if the queue takes no tasks now.
Result<void> check_open(const QueueEntry& queue);
// Whether the queue takes a payload or result (`what`) of so many bytes.
Result<void> check_size(const QueueSettings& queue, const What& what, std::size_t bytes);
// How many tasks of the same put come before one.
struct Ahead {
  std::uint32_t in_queue = 0;
  std::uint32_t in_group = 0;
};
// `limited`: the queue or the group is full, or the queue has had as many puts as its rate allows.
Result<void> check_room(const State& state, const QueueEntry& queue, const std::string& group,
                        TimePoint now, const Ahead& ahead = {});
// Adds a task for which everything has been checked.
Put add_task(State& state, QueueEntry& queue, const NewTask& task, TimePoint now);
Result<Put> put(State& state, QueueFinder& queues, const NewTask& task, TimePoint now);
// Tasks that come with another change and skip depth, rate and `active`. Check all, then add all.
Result<void> check_follow_up(const State& state, const NewTask& task, TimePoint now);
Result<void> check_follow_ups(const State& state, const std::vector<NewTask>& tasks, TimePoint now);
Put add_follow_up(State& state, const NewTask& task, TimePoint now);

// The task that stands in the way of a put: the one with its id, or the holder of its key.
std::optional<Put> find_id(const State& state, const TaskId& id);
std::optional<Put> find_holder(const State& state, const QueueEntry& queue,
                               const std::optional<UniqueKey>& unique, TimePoint now);

// restore.cc
Result<Put> restore(State& state, QueueFinder& queues, const Task& task, TimePoint now);

// settle.cc
Result<Settled> settle(State& state, const Settlement& settlement, TimePoint now);
Result<Extended> extend(State& state, const Extension& extension, TimePoint now);
// Adds a line with the error in short; the oldest one makes room.
void add_to_history(Notes& notes, Attempt attempt, const std::optional<TaskError>& error);
// Gives a waiting task its end. REQUIRES: `at` is waiting.
TaskState end_waiting(State& state, std::uint32_t at, Event event,
                      const std::optional<TaskError>& error, TimePoint now);

// Gives a task that is in no index its final state.
void finish(State& state, std::uint32_t at, TaskState final_state, TimePoint now);

// put_all.cc
Result<std::vector<Put>> put_all(State& state, std::span<const NewTask> tasks, TimePoint now);

// graph.cc
// What a task that comes now waits for, as far as `counts` says that a parent counts at all.
Waits waits_of(const State& state, const After& after,
               const std::function<bool(const TaskId& parent)>& counts);
// `not_found`: a task that this one waits for is not there.
Result<void> check_parents(const State& state, const NewTask& task);
// A waiting task no longer waits for others. REQUIRES: it is in no index.
void stop_waiting(State& state, std::uint32_t at);
void release_child(State& state, Slot& slot, TimePoint now);
// Tells the tasks that wait for those that have just ended, as many as one call may; the others are
// told by tell_untold(), which returns how many it told.
void tell_just_ended(State& state, TimePoint now);
std::size_t tell_untold(State& state, TimePoint now, std::size_t limit);
// Removes a task for good, and tells those that wait for it; while some have not been told, it
// stays as a cancelled one: false.
bool drop(State& state, std::uint32_t at, TimePoint now);

// take.cc
Result<std::vector<Lease>> take(State& state, const TakeRequest& request, TimePoint now);
// The effective priority now: one more for each `ageing` waited, up to 9.
std::size_t effective_priority(std::size_t priority, TimePoint ready, Duration ageing,
                               TimePoint now);
// Whether take() would look at this queue at all.
bool gives_tasks(const QueueEntry& queue, TimePoint now);
// How many tasks the limits allow now, if so many are there.
std::uint32_t room_in(const QueueEntry& queue, std::uint32_t most, TimePoint now);
// What a rate is charged for the task.
std::uint32_t cost_of(const State& state, const Slot& slot, RateOf rate_of);
// Whether a take may find something; true at least where it does.
bool may_have_ready(const QueueEntry& queue, TimePoint now);
// The ready moment of the task that has been ready for longest.
std::optional<TimePoint> oldest_ready(const QueueEntry& queue, TimePoint now);

// upkeep.cc
Result<std::vector<Overdue>> due(const State& state, TimePoint now, const DueRequest& request);
Result<Advanced> advance(State& state, TimePoint now, std::size_t limit);
// After a restart: workers inside this process died with the process before it, so their leases are
// over. The broker decides how to settle them.
void end_local_leases(State& state);
// After a restart that no lease survives: tasks that were running are queued again at their old
// places.
void queue_running_again(State& state);

// operate.cc
Result<TaskState> cancel(State& state, const CancelRequest& request, TimePoint now);
Result<TaskState> revive(State& state, const TaskId& id, TimePoint now);
Result<TaskState> remove(State& state, const TaskId& id, TimePoint now);
Result<TaskState> update(State& state, const TaskUpdate& update, TimePoint now);

// `updated_at` of a queue or schedule that is written now. It is their version, so it moves on
// even if the clock stands still or goes back.
inline TimePoint written_after(TimePoint last, TimePoint now) {
  return std::max(now, later(last, Duration(1)));
}

// queues.cc
Result<Queue> put_queue(State& state, const QueueSettings& settings, PutQueue mode, TimePoint now);
// An error if another queue sends its dead letters here. They need it: a task could not end
// otherwise.
Result<void> check_gets_none(const State& state, const QueueEntry& queue);
Result<void> remove_queue(State& state, const QueueRef& ref, bool force, TimePoint now);
Result<std::size_t> clear(State& state, const QueueRef& ref, std::size_t limit, TimePoint now);
// Removes up to `limit` tasks of a queue in the given states, oldest first.
std::size_t remove_tasks(State& state, QueueEntry& queue, bool waiting_only, std::size_t limit,
                         TimePoint now);

// group_verbs.cc
Result<millrace::Group> put_group(State& state, const PutGroup& change, TimePoint now);
Result<GroupPage> groups(State& state, const GroupsRequest& request, TimePoint now);

// schedules.cc
Result<Schedule> put_schedule(State& state, const Schedule& schedule, PutSchedule mode,
                              TimePoint now);
Result<void> remove_schedule(State& state, std::string_view name);
Result<Fired> fire(State& state, const Fire& tick, TimePoint now);

}  // namespace millrace::embedded
