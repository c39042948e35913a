// Calls a handler and speaks for it: what it returned, threw or left unsaid becomes an end.
#pragma once

#include <span>

#include "core/log.h"
#include "worker/line.h"
#include "worker/run.h"

namespace millrace::worker {

// What came out of a call.
struct CallResult {
  bool threw = false;
  Failed failure = {};
};

// Runs the handler that this queue has for the type of these tasks, which all have the same; but
// not with those whose lease was lost before. Never throws.
CallResult call_handler(const Line& line, std::span<const RunPtr> runs);

// Speaks for the runs that have no end yet. Not for a call that was abandoned: its runs have one.
void speak_for(const Line& line, std::span<const RunPtr> runs, const CallResult& result);

}  // namespace millrace::worker
