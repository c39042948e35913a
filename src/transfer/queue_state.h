// The `queue-state.json` of the in-memory queue of the Claude proxy
// (docs/coming-from-another-system.md):
//
//   {"queues": {"high": [id...], "medium": [id...], "low": [id...]}, "tasks": [task...]}
#pragma once

#include <millrace/result.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <string>
#include <vector>

#include "transfer/line_reader.h"

namespace millrace::transfer {

struct PlacedTask {
  Task task = {};
  std::string place = {};  // "tasks[3], task-..."
};

// Its tasks for the queue of the given name, in the order in which they are to be restored. high,
// medium and low become priorities 8, 5 and 2; the order within each array is kept. A task in an
// array is queued, unless it is completed, cancelled or dead. A task in no array keeps its state,
// but one that was queued or processing is queued, because it would not run otherwise. Unknown
// fields are an error that names the task. `now` replaces a missing createdAt.
Result<std::vector<PlacedTask>> read_queue_state(LineReader& in, const std::string& queue,
                                                 TimePoint now);

}  // namespace millrace::transfer
