// The rules that need no table: bans, limits, and files that no target builds.
#pragma once

#include "tests/tidy/tree.h"

namespace millrace::tidy {

// The clock read outside core/clock.cc, sleeping tests, leftover notes, folders for everything, and
// temporaries in a co_await expression, which g++ 12 destroys twice.
void check_bans(const Tree& tree, Complaints& complaints);

// Columns of a line, lines of a function and of a file, number of public headers.
void check_limits(const Tree& tree, Complaints& complaints);

// Sources that no CMakeLists.txt names; compiled and generated files beside the sources.
void check_listing(const Tree& tree, Complaints& complaints);

}  // namespace millrace::tidy
