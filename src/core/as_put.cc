#include "core/as_put.h"

namespace millrace {

NewTask as_put(const Task& task) {
  return {.id = task.id,
          .queue = task.queue,
          .type = task.type,
          .payload = task.payload,
          .content_type = task.content_type,
          .priority = task.priority,
          .timeout = task.timeout,
          .max_lost = task.max_lost,
          .retry = task.retry,
          .unique = task.unique,
          .callback = task.callback,
          .keep_for = task.keep_for,
          .client_id = task.client_id,
          .request_id = task.request_id,
          .group = task.group,
          .metadata = task.metadata,
          .tags = task.tags,
          .parent = task.parent,
          .cost = task.cost,
          .after = task.after,
          .keep_completed = task.keep_completed,
          .keep_dead = task.keep_dead};
}

}  // namespace millrace
