// Brings the tables of a database up to date.
#pragma once

#include <millrace/result.h>
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

// Applies what is missing: one at a time, whoever else tries waits. Returns how many there were.
Result<std::size_t> migrate(postgres::Connection& connection);

}  // namespace millrace::store_postgres
