// API keys on a terminal.
#pragma once

#include <vector>

#include "access/key.h"
#include "cli/console.h"

namespace millrace::cli {

// The key alone on standard output, so that KEY=$(millrace keys create ...) works.
void print_new_key(const access::MadeKey& made, Surroundings& with, Console& console);

void print_keys(const std::vector<access::Key>& keys, Surroundings& with, Console& console);

}  // namespace millrace::cli
