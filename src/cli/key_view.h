// API keys on a terminal.
#pragma once

#include <vector>

#include "access/key.h"
#include "api/wire/keys.h"
#include "cli/console.h"

namespace millrace::cli {

wire::KeyInfo info_of(const access::Key& key);

// The key alone on standard output, so that KEY=$(millrace keys create ...) works.
void print_new_key(const wire::KeyInfo& key, Surroundings& with, Console& console);

void print_keys(const std::vector<wire::KeyInfo>& keys, Surroundings& with, Console& console);

}  // namespace millrace::cli
