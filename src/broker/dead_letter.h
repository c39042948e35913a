// The task that tells a queue of dead letters what has become of a task that ended failed or dead.
#pragma once

#include <millrace/ids.h>
#include <millrace/queue.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <millrace/work.h>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "broker/ids.h"

namespace millrace {

// The task that has ended; it only refers to what the caller owns.
struct DeadTask {
  TaskId id = {};
  std::string_view queue = {};
  std::string_view type = {};
  std::string_view payload = {};
  bool left_out = false;  // the payload is there, but not here
  std::string_view content_type = {};
  std::uint8_t priority = default_priority;
  TimePoint created_at{};
  std::string_view client_id = {};
  std::string_view request_id = {};
  std::string_view group = {};
  std::string_view metadata = {};
  std::span<const std::string> tags = {};
};
template <class T>
DeadTask dead_task(const T& task) {
  return {.id = task.id,
          .queue = task.queue,
          .type = task.type,
          .payload = task.payload,
          .content_type = task.content_type,
          .priority = task.priority,
          .created_at = task.created_at,
          .client_id = task.client_id,
          .request_id = task.request_id,
          .group = task.group,
          .metadata = task.metadata,
          .tags = task.tags};
}

inline constexpr std::string_view dead_letter_type = "dead_letter";

// Whether a settlement makes a dead letter for another queue.
bool makes_dead_letter(Event event, const QueueSettings& queue);

// Adds the dead letter to the follow-ups. A payload that finds no room beside the others is left
// out; the task itself keeps it. REQUIRES: makes_dead_letter().
void add_dead_letter(Settlement& settlement, const DeadTask& task, const QueueSettings& queue,
                     Ids& ids, TimePoint now);

}  // namespace millrace
