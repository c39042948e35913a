// Counts everything again, task by task, and holds it against counters and indexes.
#pragma once

#include <string>
#include <vector>

#include "store/embedded/state.h"

namespace millrace::embedded {

// What differs, a sentence each; empty if nothing does.
std::vector<std::string> recount(const State& state);

}  // namespace millrace::embedded
