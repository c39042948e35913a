// One PostgreSQL server for all tests of a program, started when the first one asks for it.
#pragma once

#include "tests/support/postgres_server.h"

namespace millrace::test {

inline PostgresServer& shared_postgres() {
  static PostgresServer server({.settings = quick_settings()});
  return server;
}

}  // namespace millrace::test
