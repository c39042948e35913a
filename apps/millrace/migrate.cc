#include "apps/millrace/migrate.h"

#include <utility>

#include "app/stores.h"
#include "store/postgres/tables.h"

namespace millrace {

Result<cli::Migrated> migrate_store(const StoreUrl& url, bool apply) {
  const PostgresOptions options = postgres_options(url);
  auto update = apply ? migrate_postgres(options) : plan_postgres(options);
  if (!update) return std::unexpected(std::move(update.error()));
  return cli::Migrated{.migrations = std::move(update->migrations),
                       .sql = std::move(update->sql),
                       .schema = options.schema};
}

}  // namespace millrace
