#include "store/embedded/state_machine.h"

#include <fmt/format.h>

#include "core/limits.h"
#include "core/uuid.h"
#include "store/embedded/verbs.h"

namespace millrace::embedded {
namespace {

Result<void> check_batch(std::size_t size) {
  if (size <= limits::max_batch) return {};
  return fail(ErrorCode::invalid, fmt::format("the batch has {} items; at most {} are allowed",
                                              size, limits::max_batch));
}

constexpr std::size_t look_ahead = 12;  // items

// Does one thing to each item of a batch.
template <class Item, class Verb>
auto each(const State& state, std::span<const Item> items, const Verb& verb)
    -> Result<std::vector<decltype(verb(items.front()))>> {
  if (auto good = check_batch(items.size()); !good) {
    return std::unexpected(std::move(good.error()));
  }
  std::vector<decltype(verb(items.front()))> results;
  results.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    if constexpr (requires { items[i].id; }) {
      if (i + look_ahead < items.size()) state.expect(items[i + look_ahead].id);
    }
    results.push_back(verb(items[i]));
  }
  return results;
}

QueueCounts counts_of(const QueueEntry& queue, TimePoint now) {
  return {.queue = queue.settings().name,
          .number = queue.settings().number,
          .by = queue.counts,
          .oldest = oldest_ready(queue, now)};
}

// What `read` makes of one queue, or of all in the order of their names.
template <class Read>
auto read_queues(const State& state, const std::optional<QueueRef>& only, const Read& read)
    -> Result<std::vector<decltype(read(std::declval<const QueueEntry&>()))>> {
  std::vector<decltype(read(std::declval<const QueueEntry&>()))> found;
  if (only) {
    const QueueEntry* queue = state.queue(*only);
    if (queue == nullptr) return unknown_queue(*only);
    found.push_back(read(*queue));
    return found;
  }
  for (const auto& [name, index] : state.queue_names()) {
    found.push_back(read(state.queue_at(index)));
  }
  return found;
}

}  // namespace

Result<std::vector<Result<Put>>> StateMachine::put(std::span<const NewTask> tasks, TimePoint now) {
  QueueFinder queues(state_);
  return each(state_, tasks,
              [&](const NewTask& task) { return embedded::put(state_, queues, task, now); });
}

Result<WorkResult> StateMachine::work(std::span<const Settlement> settlements,
                                      std::span<const Extension> extensions,
                                      std::span<const TakeRequest> takes, TimePoint now) {
  for (const auto size : {settlements.size(), extensions.size(), takes.size()}) {
    if (auto good = check_batch(size); !good) return std::unexpected(std::move(good.error()));
  }
  WorkResult done;
  done.settled =
      *each(state_, settlements, [&](const Settlement& s) { return settle(state_, s, now); });
  done.extended =
      *each(state_, extensions, [&](const Extension& e) { return extend(state_, e, now); });
  done.taken = *each(state_, takes, [&](const TakeRequest& t) { return take(state_, t, now); });
  return done;
}

Result<std::vector<Overdue>> StateMachine::due(TimePoint now, std::size_t limit) {
  return embedded::due(state_, now, limit);
}

Result<Advanced> StateMachine::advance(TimePoint now, std::size_t limit) {
  return embedded::advance(state_, now, limit);
}

Result<Task> StateMachine::find(const TaskRef& task) {
  const auto at = std::visit([&](const auto& ref) { return state_.find(ref); }, task);
  if (at != no_slot) return state_.task(state_.slot(at), true);
  if (const auto* id = std::get_if<TaskId>(&task)) return unknown_task(*id);
  return fail(ErrorCode::not_found,
              fmt::format("there is no task number {}", std::get<TaskNumber>(task).value));
}

Result<TaskPage> StateMachine::list(const ListRequest& request) {
  return embedded::list(state_, request);
}

Result<std::vector<QueueCounts>> StateMachine::counts(const std::optional<QueueRef>& queue,
                                                      TimePoint now) {
  return read_queues(state_, queue, [&](const QueueEntry& q) { return counts_of(q, now); });
}

Result<std::vector<Result<TaskState>>> StateMachine::cancel(std::span<const CancelRequest> requests,
                                                            TimePoint now) {
  return each(state_, requests,
              [&](const CancelRequest& r) { return embedded::cancel(state_, r, now); });
}

Result<std::vector<Result<TaskState>>> StateMachine::retry(std::span<const TaskId> tasks,
                                                           TimePoint now) {
  return each(state_, tasks, [&](const TaskId& id) { return revive(state_, id, now); });
}

Result<std::vector<Result<TaskState>>> StateMachine::remove(std::span<const TaskId> tasks,
                                                            TimePoint) {
  return each(state_, tasks, [&](const TaskId& id) { return embedded::remove(state_, id); });
}

Result<std::vector<Result<TaskState>>> StateMachine::update(std::span<const TaskUpdate> updates,
                                                            TimePoint now) {
  return each(state_, updates,
              [&](const TaskUpdate& u) { return embedded::update(state_, u, now); });
}

Result<std::vector<Result<Put>>> StateMachine::restore(std::span<const Task> tasks, TimePoint now) {
  QueueFinder queues(state_);
  return each(state_, tasks,
              [&](const Task& task) { return embedded::restore(state_, queues, task, now); });
}

Result<Queue> StateMachine::put_queue(const QueueSettings& settings, PutQueue mode, TimePoint now) {
  return embedded::put_queue(state_, settings, mode, now);
}

Result<std::vector<Queue>> StateMachine::queues(const std::optional<QueueRef>& queue) {
  return read_queues(state_, queue, [](const QueueEntry& q) { return q.queue; });
}

Result<void> StateMachine::remove_queue(const QueueRef& queue, bool force, TimePoint now) {
  return embedded::remove_queue(state_, queue, force, now);
}

Result<std::size_t> StateMachine::clear(const QueueRef& queue, std::size_t limit, TimePoint) {
  return embedded::clear(state_, queue, limit);
}

Result<Schedule> StateMachine::put_schedule(const Schedule& schedule, PutSchedule mode,
                                            TimePoint now) {
  return embedded::put_schedule(state_, schedule, mode, now);
}

Result<void> StateMachine::remove_schedule(std::string_view name, TimePoint) {
  return embedded::remove_schedule(state_, name);
}

Result<std::vector<Schedule>> StateMachine::schedules(const std::optional<std::string>& name) {
  std::vector<Schedule> found;
  for (const auto& [key, schedule] : state_.schedules) {
    if (!name || key == *name) found.push_back(schedule);
  }
  if (name && found.empty()) {
    return fail(ErrorCode::not_found, fmt::format("there is no schedule \"{}\"", *name));
  }
  return found;
}

Result<Fired> StateMachine::fire(const Fire& tick, TimePoint now) {
  return embedded::fire(state_, tick, now);
}

Result<Memo> StateMachine::remember(const Remember& request, TimePoint now) {
  auto memo = state_.memos.remember(request, now);
  if (memo) state_.changes.note({Thing::memo, 0, request.key});
  return memo;
}

Result<std::vector<Memo>> StateMachine::recall(const Recall& request, TimePoint now) {
  return state_.memos.recall(request, now);
}

Traits StateMachine::traits() const {
  return {.name = "memory",
          .durability = Durability::none,
          .loss_window = Duration::max(),
          .batch = limits::max_batch,
          .task_size = limits::max_payload,
          .follow_ups = limits::max_follow_ups};
}

Result<std::vector<std::string>> StateMachine::ready(TimePoint now) {
  std::vector<std::string> found;
  state_.each_with_waiting([&](const QueueEntry& queue) {
    if (gives_tasks(queue, now) && oldest_ready(queue, now)) found.push_back(queue.settings().name);
  });
  return found;
}

}  // namespace millrace::embedded
