// Fresh stores on the PostgreSQL of shared_postgres.h, in its database `postgres`.
#pragma once

#include <memory>

#include "core/values.h"
#include "store/fwd.h"

namespace millrace::test {

// Empty; the data of any other store of this program is gone.
std::unique_ptr<Store> open_fresh_postgres();
// On the existing data.
std::unique_ptr<Store> open_postgres_again();

}  // namespace millrace::test
