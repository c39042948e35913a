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

// All that there are, in order.
std::vector<Migration> migrations();

// Those that the database does not have yet, in order. `invalid` if it has newer ones than these.
Result<std::vector<Migration>> missing_migrations(postgres::Connection& connection);

// Applies what is missing, all of it or nothing: one at a time, whoever else tries waits. Returns
// what it applied. What the role may not do is told with how to let it.
Result<std::vector<Migration>> migrate(postgres::Connection& connection);

// `conflict`, with what to do, unless the tables are those of this program; `not_found` if there
// are none.
Result<void> check_tables(postgres::Connection& connection);

// The same by hand, with psql: one transaction.
std::string script_of(std::span<const Migration> migrations, std::string_view schema);

}  // namespace millrace::store_postgres
