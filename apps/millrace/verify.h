// What `millrace verify` looks at: every group of a journal, every row of a database.
#pragma once

#include <millrace/result.h>
#include <string>

#include "cli/cli.h"

namespace millrace {

Result<cli::Verified> verify_store(const StoreUrl& url, const cli::Progress& progress);

}  // namespace millrace
