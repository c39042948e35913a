// A whole store as lines of JSON.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "core/values.h"
#include "store/fwd.h"
#include "transfer/format.h"

namespace millrace::transfer {

struct ExportReport {
  Counts written = {};
  // What cannot be moved: queues that are being removed, schedules without a queue.
  std::vector<std::string> left_out = {};
};

// Called now and then: tasks written so far, and the approximate total.
using ExportProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

// Writes queues, schedules, memos and tasks in all states, tasks in the order of their arrival.
// Needs memory for 64 tasks at a time and eight bytes per 64 tasks. Changes nothing. Tasks put
// after the start are not part of the export.
Result<ExportReport> export_store(Reader& reader, std::ostream& out, TimePoint now,
                                  const ExportProgress& progress = nullptr);

}  // namespace millrace::transfer
