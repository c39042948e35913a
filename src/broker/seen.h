// Tasks as a caller may see them. One that it may not see is answered in the words for a task that
// is not there.
#pragma once

#include <millrace/result.h>
#include <millrace/task.h>

#include "broker/broker.h"
#include "core/values.h"

namespace millrace {

// These words are the stores'.
Error no_such_task(const TaskRef& task);

// The id of a put is that of a task that the caller may not see.
Error taken_id();

// What was found, if the caller may see it.
Result<Task> seen_by(const Ask& ask, const TaskRef& task, Result<Task> found);

}  // namespace millrace
