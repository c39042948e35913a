// An export turned into the `queue-state.json` that queue_state.h reads.
#pragma once

#include <millrace/result.h>
#include <istream>
#include <ostream>
#include <string>

#include "transfer/export.h"

namespace millrace::transfer {

// Reads the lines of an export and writes the tasks of one queue as {queues, tasks}: UTF-8,
// indented by two. An empty name means the only queue that has tasks; several are `invalid`,
// because the document knows one. All of it is in memory meanwhile.
//
// Priorities 7 to 9 are high, 4 to 6 medium, 0 to 3 low. A queued task stands in its line as it
// would be taken. A delayed task has the status `retrying` until `nextRetryAt`: the document has no
// other way to say that it waits. What is not JSON becomes a string. Schedules, memos and settings
// of queues find no place in it, and are left out.
Result<ExportReport> write_queue_state(std::istream& lines, std::ostream& out,
                                       const std::string& queue);

// JSON as JSON.stringify(value, null, 2) indents it; every other character stays as it is.
std::string indented(std::string_view json);

}  // namespace millrace::transfer
