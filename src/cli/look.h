// How standard output looks to whoever is there.
#pragma once

#include <string>
#include <string_view>

#include "cli/cli.h"
#include "cli/table.h"

namespace millrace::cli {

// Of the environment; empty: it is not set.
std::string variable(const Surroundings& with, std::string_view name);

// As it is now: a terminal may change its width.
Look look_of(const Surroundings& with);

}  // namespace millrace::cli
