// From a stored task back to what was put.
#pragma once

#include <millrace/task.h>

namespace millrace {

// What a put gives and what never changes afterwards, with the priority. The moments (held, start,
// delay, start_by) are left out, because they mean something else by now.
NewTask as_put(const Task& task);

}  // namespace millrace
