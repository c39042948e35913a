// How standard output looks to its reader.
#pragma once

#include <string>
#include <string_view>

#include "cli/cli.h"
#include "cli/table.h"

namespace millrace::cli {

// Of the environment; empty: it is not set.
std::string variable(const Surroundings& with, std::string_view name);

// As it is now: the width of a terminal may change.
Look look_of(const Surroundings& with);

}  // namespace millrace::cli
