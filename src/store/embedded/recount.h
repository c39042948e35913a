// Counts everything again, task by task, and compares it with counters and indexes.
#pragma once

#include <string>
#include <vector>

#include "store/embedded/state.h"

namespace millrace::embedded {

// What differs, one sentence per difference; empty if nothing does.
std::vector<std::string> recount(const State& state);

}  // namespace millrace::embedded
