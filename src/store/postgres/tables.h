// What an administrator does with the tables of a store on PostgreSQL.
#pragma once

#include <millrace/result.h>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "store/postgres/postgres.h"

namespace millrace {

struct TablesUpdate {
  std::vector<std::string> migrations = {};  // names, in order
  std::string sql = {};                      // what applies them, for psql
};

// The migrations that the tables lack; `options.migrate` plays no part.
Result<TablesUpdate> plan_postgres(const PostgresOptions& options);
// Applies them, and returns which they were. A process that comes at the same time waits, and finds
// nothing to do.
Result<TablesUpdate> migrate_postgres(const PostgresOptions& options);

struct TablesReport {
  std::vector<std::pair<std::string, std::uint64_t>> counts = {};
  std::vector<std::string> remarks = {};
  std::vector<std::string> damage = {};
};

// Reads all rows at one moment while others work, and compares them with the counters.
Result<TablesReport> verify_postgres(const PostgresOptions& options);

}  // namespace millrace
