// The one place that names concrete stores.
#pragma once

#include <memory>
#include <string>

#include "cli/cli.h"
#include "core/store_url.h"
#include "store/store.h"

namespace millrace {

// A directory to be read must be there; one to be written is made.
Result<std::unique_ptr<Store>> open_store(const StoreUrl& url, cli::Access access,
                                          const cli::Progress& progress, const cli::Notice& notice);

Result<cli::Verified> verify_store(const std::string& directory, const cli::Progress& progress);

}  // namespace millrace
