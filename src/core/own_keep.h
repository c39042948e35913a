// How long a task itself says that it is kept, beside the rules of its queue.
#pragma once

#include <millrace/queue.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <optional>

namespace millrace {

// What a task that has ended in this state is kept by: its own rule for that end, or its keep_for.
// nullopt: by the rule of its queue.
template <class Given>
std::optional<Duration> own_keep(const Given& task, TaskState final_state) {
  const bool dead = final_state == TaskState::failed || final_state == TaskState::dead;
  const std::optional<Keep>& keep = dead ? task.keep_dead : task.keep_completed;
  return keep ? keep->for_time : task.keep_for;
}

// Whether it has any rule of its own.
template <class Given>
bool has_own_keep(const Given& task) {
  return task.keep_for || task.keep_completed || task.keep_dead;
}

// The task with the retention of its type in this queue, where it gives none itself. nullopt: there
// is nothing to add, which is the usual case.
std::optional<NewTask> with_keep_of_type(const NewTask& task, const QueueSettings& queue);

}  // namespace millrace
