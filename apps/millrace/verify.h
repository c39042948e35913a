// What `millrace verify` looks at: every group of a journal.
#pragma once

#include <millrace/result.h>
#include <string>

#include "cli/cli.h"

namespace millrace {

Result<cli::Verified> verify_store(const std::string& directory, const cli::Progress& progress);

}  // namespace millrace
