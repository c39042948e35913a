// The one place that names concrete stores.
#pragma once

#include <millrace/result.h>
#include <memory>
#include <optional>

#include "broker/watch.h"
#include "core/clock.h"
#include "core/store_url.h"
#include "store/opening.h"
#include "store/postgres/postgres.h"
#include "store/store.h"

namespace millrace {

// A directory to be read must be there; one to be written is made. So it is with the tables of a
// database. The clock must outlive the store.
Result<std::unique_ptr<Store>> open_store(Clock& clock, const StoreUrl& url, Access access,
                                          const Progress& progress, const OpeningNotice& notice);

// The options of a store on PostgreSQL, of which there may be many: this process says who it is.
PostgresOptions postgres_options(const StoreUrl& url);

// How much room there is where a store writes; nullopt: it writes nowhere, or nobody knows, as of
// the disk of a database.
std::optional<DiskSpace> space_of(const StoreUrl& url);

}  // namespace millrace
