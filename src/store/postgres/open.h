// From the options of a store to a connection.
#pragma once

#include <millrace/result.h>
#include <string_view>

#include "postgres/connect.h"
#include "store/postgres/postgres.h"

namespace millrace::store_postgres {

// `invalid` for a URL or a schema that cannot be connected with.
Result<void> check_options(const PostgresOptions& options);

// `purpose` is shown in the server's list of sessions; empty for ordinary ones.
postgres::ConnectOptions connect_options(const PostgresOptions& options,
                                         std::string_view purpose = {});

// Waits for a server that starts later than this process. True: it did not answer at first, and
// does now. The operator is told `why` it waits.
bool wait_for_server(const PostgresOptions& options, const Error& why);

}  // namespace millrace::store_postgres
