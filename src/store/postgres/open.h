// From the options of a store to a connection.
#pragma once

#include <millrace/result.h>
#include <string_view>

#include "postgres/connect.h"
#include "store/postgres/postgres.h"

namespace millrace::store_postgres {

// `invalid` for a URL or a schema that nobody could connect with.
Result<void> check_options(const PostgresOptions& options);

// `purpose`: for whoever looks at the server's list of sessions; empty: what most do.
postgres::ConnectOptions connect_options(const PostgresOptions& options,
                                         std::string_view purpose = {});

// Where everything starts at once the database may be the last. True: nobody answered there, and
// now somebody does. `why` is told while it waits.
bool wait_for_server(const PostgresOptions& options, const Error& why);

}  // namespace millrace::store_postgres
