// Calls a handler and turns what it returned, threw or left unsaid into the end of each run.
#pragma once

#include <span>

#include "core/log.h"
#include "worker/run.h"
#include "worker/worker_queue.h"

namespace millrace::worker {

// What came out of a call.
struct CallResult {
  bool threw = false;
  Failed failure = {};
};

// Runs the handler that this queue has for the type of these tasks; all have the same type. Runs
// whose lease was lost are left out. Never throws.
CallResult call_handler(const WorkerQueue& queue, std::span<const RunPtr> runs);

// Ends the runs that have no end yet. Not for an abandoned call, whose runs have ended.
void speak_for(const WorkerQueue& queue, std::span<const RunPtr> runs, const CallResult& result);

}  // namespace millrace::worker
