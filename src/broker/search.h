// Lists of tasks by what stores do not filter by: a text, an error or a group of errors, a parent,
// whether they are parked.
#pragma once

#include <millrace/ids.h>
#include <millrace/result.h>
#include <optional>
#include <string>

#include "core/values.h"
#include "store/fwd.h"

namespace millrace {

struct TaskSearch {
  std::optional<std::string> text = std::nullopt;
  std::optional<std::string> error_code = std::nullopt;
  std::optional<std::string> error_group = std::nullopt;  // a name of core/error_group.h
  std::optional<TaskId> parent = std::nullopt;
  bool parked = false;  // only tasks that have run and wait for an answer

  bool any() const { return text || error_code || error_group || parent || parked; }
};

// Looks at a bounded number of tasks, so the page may be short or empty; `next` says where to
// continue.
Result<TaskPage> search_tasks(Reader& reader, ListRequest request, const TaskSearch& search);

}  // namespace millrace
