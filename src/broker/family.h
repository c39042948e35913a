// Where a task came from and what came of it. There is no index of parents; but children are put
// after their parent, and most of them when one of its runs begins or ends. So this looks at the
// newest tasks and, if these are not all, at those that were put at those moments.
#pragma once

#include <millrace/ids.h>
#include <millrace/result.h>
#include <millrace/task.h>
#include <cstdint>
#include <optional>
#include <vector>

#include "broker/broker.h"
#include "core/values.h"
#include "store/fwd.h"

namespace millrace {

struct Family {
  Task task = {};
  std::optional<Task> parent = std::nullopt;
  std::vector<Task> children = {};    // heads, by number
  std::vector<Task> deliveries = {};  // of its webhook, newest first, with their histories
  std::uint64_t looked_at = 0;
  bool complete = false;  // false: there may be more children than were found
};

// Of those tasks only that the caller may see; `task` itself must be one of them.
Result<Family> find_family(Reader& reader, const TaskRef& task, const Ask& ask);

}  // namespace millrace
