#include <fmt/format.h>

#include "core/limits.h"
#include "core/transition.h"
#include "core/uuid.h"
#include "store/embedded/verbs.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/sql.h"

namespace millrace::store_postgres {

Result<std::vector<Result<TaskState>>> PostgresStore::cancel(
    std::span<const CancelRequest> requests, TimePoint now) {
  if (auto there = make_partitions(now); !there) return std::unexpected(there.error());
  const auto what = [&] {
    Reading reading;
    for (const CancelRequest& request : requests) {
      reading.ids.push_back(request.id.value);
      reading.ends.push_back(request.id.value);
      for (const NewTask& task : request.follow_ups) add_follow_up(task, reading);
    }
    return reading;
  };
  return each<TaskState>("cancel tasks", requests, what, now, [&](const CancelRequest& request) {
    return change_task(request.id, "cancel a task",
                       [&] { return embedded::cancel(state(), request, now); });
  });
}

Result<std::vector<Result<TaskState>>> PostgresStore::retry(std::span<const TaskId> tasks,
                                                            TimePoint now) {
  return each<TaskState>(
      "retry tasks", tasks, [&] { return reading_of(tasks); }, now,
      [&](const TaskId& id) {
        return change_task(id, "retry a task", [&] { return embedded::revive(state(), id, now); });
      });
}

Result<std::vector<Result<TaskState>>> PostgresStore::remove(std::span<const TaskId> tasks,
                                                             TimePoint now) {
  // One that others wait for may end as cancelled first.
  if (auto there = make_partitions(now); !there) return std::unexpected(there.error());
  const auto what = [&] {
    Reading reading = reading_of(tasks);
    reading.ends = reading.ids;
    return reading;
  };
  return each<TaskState>("remove tasks", tasks, what, now,
                         [&](const TaskId& id) { return remove_one(id, now); });
}

// A task that cannot be read cannot be settled either: when its lease has ended, only a removal
// ends it.
Result<TaskState> PostgresStore::remove_one(const TaskId& id, TimePoint now) {
  if (auto good = book_.check_removable(id); !good) {
    return std::unexpected(to_error(unreadable(good.error().message), "remove a task"));
  }
  const auto at = state().find(id);
  const bool stuck = at != embedded::no_slot && !book_.check_readable(id) &&
                     state().slot(at).state == TaskState::processing &&
                     state().slot(at).moment <= now;
  if (!stuck) return embedded::remove(state(), id, now);
  state().unindex(at);
  state().erase(at);
  return TaskState::processing;
}

Result<std::vector<Result<TaskState>>> PostgresStore::update(std::span<const TaskUpdate> updates,
                                                             TimePoint now) {
  const auto what = [&] {
    Reading reading;
    for (const TaskUpdate& update : updates) {
      reading.ids.push_back(update.id.value);
      if (!update.queue) continue;
      if (const auto* queue = state().queue(*update.queue)) reading.targets.insert(queue->index);
    }
    return reading;
  };
  return each<TaskState>("change tasks", updates, what, now, [&](const TaskUpdate& update) {
    return change_task(update.id, "change a task",
                       [&] { return embedded::update(state(), update, now); });
  });
}

Result<std::vector<Result<Put>>> PostgresStore::restore(std::span<const Task> tasks,
                                                        TimePoint now) {
  const auto what = [&] {
    Reading reading{.restores = true};
    for (const Task& task : tasks) {
      reading.ids.push_back(task.id.value);
      ++reading.numbers;
      add_key(state().queue(task.queue), task.unique, reading);
      if (is_final(task.state)) reading.restored_ends.push_back(task.id.value);
      if (task.waits_for.size() > limits::max_parents) continue;  // refused
      for (const TaskId& parent : task.waits_for) reading.parents.push_back(parent.value);
    }
    return reading;
  };
  return each<Put>("restore tasks", tasks, what, now, [&](const Task& task) {
    // When the call begins again, the queues are others.
    embedded::QueueFinder queues(state());
    return embedded::restore(state(), queues, task, now);
  });
}

PostgresStore::Reading PostgresStore::reading_of(std::span<const TaskId> tasks) {
  Reading reading;
  for (const TaskId& id : tasks) reading.ids.push_back(id.value);
  return reading;
}

}  // namespace millrace::store_postgres
