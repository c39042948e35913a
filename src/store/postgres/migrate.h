// Brings the tables of a database up to date. Forward only.
#pragma once

#include <millrace/result.h>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "postgres/connection.h"

namespace millrace::store_postgres {

struct Migration {
  int version = 0;
  std::string_view name = {};
  std::string_view text = {};
};

// All migrations, in order.
std::vector<Migration> migrations();

// The migrations that the database does not have yet, in order. `invalid` if it has newer ones than
// these.
Result<std::vector<Migration>> missing_migrations(postgres::Connection& connection);

// Applies the missing migrations, all of them or none; another process that tries at the same time
// waits. Returns those it applied. If the role lacks a right, the error says how to grant it.
Result<std::vector<Migration>> migrate(postgres::Connection& connection);

// `conflict`, with what to do, unless the tables are those of this program; `not_found` if there
// are none.
Result<void> check_tables(postgres::Connection& connection);

// The same as a script for psql: one transaction.
std::string script_of(std::span<const Migration> migrations, std::string_view schema);

}  // namespace millrace::store_postgres
