// The body of a put that is all or none, whose tasks name each other.
#pragma once

#include <millrace/ids.h>
#include <functional>
#include <string_view>

#include "api/wire/put.h"

namespace millrace::wire {

// Whether a body is {"atomic":…,"tasks":…} rather than a task or a list of them.
bool is_atomic(std::string_view text);
Read<PutBody> read_put_all(std::string_view text, const QueueRef* queue,
                           const std::function<TaskId()>& new_id);

}  // namespace millrace::wire
