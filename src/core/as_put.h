// From a stored task back to what was put.
#pragma once

#include <millrace/task.h>

namespace millrace {

// What a put gives and nothing changes afterwards, with the priority and without the moments (held,
// start, delay, start_by), which mean something else by now.
NewTask as_put(const Task& task);

}  // namespace millrace
