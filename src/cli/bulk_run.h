// An operation on many tasks, from the question to the end.
#pragma once

#include <string_view>

#include "cli/session.h"
#include "core/bulk.h"

namespace millrace::cli {

struct BulkRun {
  BulkRequest request = {};
  bool dry_run = false;  // only say how many
  bool yes = false;      // do not ask
};

// Looks how many there are, asks whoever is there, and shows how far the server is. Ctrl-C leaves
// the operation running and says so.
Exit run_bulk(const BulkRun& run, Session& session);

// Shows how far it is until it is over, or the person leaves; the exit code tells how it went.
Exit watch_bulk(BulkOperation operation, Session& session);

// "cancel 12 tasks", and "cancelled".
std::string_view done_of(BulkAction action);

}  // namespace millrace::cli
