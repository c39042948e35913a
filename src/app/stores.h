// The one place that names concrete stores.
#pragma once

#include <millrace/result.h>
#include <memory>
#include <optional>

#include "broker/watch.h"
#include "core/store_url.h"
#include "store/opening.h"
#include "store/store.h"

namespace millrace {

// A directory to be read must be there; one to be written is made.
Result<std::unique_ptr<Store>> open_store(const StoreUrl& url, Access access,
                                          const Progress& progress, const OpeningNotice& notice);

// How much room there is where a store writes; nullopt: it writes nowhere, or nobody knows.
std::optional<DiskSpace> space_of(const StoreUrl& url);

}  // namespace millrace
