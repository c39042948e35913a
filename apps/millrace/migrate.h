// What `millrace migrate` does: the tables of a database.
#pragma once

#include <millrace/result.h>

#include "cli/cli.h"
#include "core/store_url.h"

namespace millrace {

Result<cli::Migrated> migrate_store(const StoreUrl& url, bool apply);

}  // namespace millrace
