// The one place that names concrete stores.
#pragma once

#include <millrace/result.h>
#include <memory>
#include <optional>

#include "broker/alerter.h"
#include "core/clock.h"
#include "core/store_url.h"
#include "core/values.h"
#include "store/fwd.h"
#include "store/opening.h"
#include "store/postgres/postgres.h"

namespace millrace {

// A directory to be read must exist; one to be written is created. The same holds for the tables of
// a database. The clock must outlive the store.
Result<std::unique_ptr<Store>> open_store(Clock& clock, const StoreUrl& url, Access access,
                                          const Progress& progress, const OpeningWarning& warn);

// The options of a PostgreSQL store, with a name by which the server can tell this process from
// others.
PostgresOptions postgres_options(const StoreUrl& url);

// The free space where a store writes; nullopt: it writes to no disk, or the space is not known, as
// with a database.
std::optional<DiskSpace> space_of(const StoreUrl& url);

}  // namespace millrace
