// Fresh stores on the PostgreSQL of shared_postgres.h, in its database `postgres`.
#pragma once

#include <memory>

#include "store/store.h"

namespace millrace::test {

// Empty; what another store of this program had is gone.
std::unique_ptr<Store> open_fresh_postgres();
// On what is there.
std::unique_ptr<Store> open_postgres_again();

}  // namespace millrace::test
