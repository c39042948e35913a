// Where randomness comes from: every process, and every source of ids in it, begins with another
// seed.
#pragma once

#include <cstdint>

namespace millrace {

// From the system's own source; no two are alike, and none can be guessed.
std::uint64_t random_seed();

}  // namespace millrace
