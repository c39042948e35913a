// The one place that names concrete stores.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "broker/watch.h"
#include "cli/cli.h"
#include "core/store_url.h"
#include "store/store.h"

namespace millrace {

// A directory to be read must be there; one to be written is made.
Result<std::unique_ptr<Store>> open_store(const StoreUrl& url, cli::Access access,
                                          const cli::Progress& progress, const cli::Notice& notice);

// How much room there is where a store writes; nullopt: it writes nowhere, or nobody knows.
std::optional<DiskSpace> space_of(const StoreUrl& url);

Result<cli::Verified> verify_store(const std::string& directory, const cli::Progress& progress);

}  // namespace millrace
