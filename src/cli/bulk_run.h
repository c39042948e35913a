// Runs an operation on many tasks, from the confirmation to the end.
#pragma once

#include <string_view>

#include "cli/session.h"
#include "core/bulk.h"

namespace millrace::cli {

struct BulkRun {
  BulkRequest request = {};
  bool dry_run = false;  // only print how many
  bool yes = false;      // do not ask
};

// Counts the tasks, asks the user, and shows the progress of the server. Ctrl-C leaves the
// operation running and says so.
Exit run_bulk(const BulkRun& run, Session& session);

// Shows the progress until the operation ends or the user leaves; the exit code is its result.
Exit watch_bulk(BulkOperation operation, Session& session);

// "cancel 12 tasks", and "cancelled".
std::string_view done_of(BulkAction action);

}  // namespace millrace::cli
