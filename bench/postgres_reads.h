// A server on PostgreSQL with many readers: clients that read old tasks, and clients that wait for
// tasks to end.
#pragma once

#include <cstddef>
#include <string>

#include "bench/reads.h"
#include "tests/support/postgres_server.h"

namespace millrace::bench {

// Prints postgres/reads and postgres/flood.
void measure_postgres_reads(test::PostgresServer& database, const std::string& program,
                            ReadsSettings settings, bool warm);

struct WaitersSettings {
  int rounds = 3;
  double seconds = 20;  // of each figure
  std::size_t waiters = 10'000;
};

// Prints postgres/waiters: what `GET /v1/tasks/{id}?wait=` costs in cores while nothing happens.
void measure_postgres_waiters(test::PostgresServer& database, const std::string& program,
                              const WaitersSettings& settings);

}  // namespace millrace::bench
