#include "core/own_keep.h"

#include "core/decide.h"

namespace millrace {

std::optional<NewTask> with_keep_of_type(const NewTask& task, const QueueSettings& queue) {
  if (queue.types.empty() || task.keep_for) return std::nullopt;
  const TypePolicy* policy = type_policy(queue, task.type);
  if (policy == nullptr) return std::nullopt;
  const bool completed = policy->keep_completed && !task.keep_completed;
  const bool dead = policy->keep_dead && !task.keep_dead;
  if (!completed && !dead) return std::nullopt;
  NewTask with = task;
  if (completed) with.keep_completed = policy->keep_completed;
  if (dead) with.keep_dead = policy->keep_dead;
  return with;
}

}  // namespace millrace
