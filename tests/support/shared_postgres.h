// One PostgreSQL server for all tests of a program, started when the first one asks for it. It is
// set up to be durable: a store on a server that is not warns about it.
#pragma once

#include <utility>

#include "tests/support/postgres_server.h"

namespace millrace::test {

inline PostgresServer& shared_postgres() {
  static PostgresServer server([] {
    auto settings = quick_settings();
    settings.emplace_back("fsync", "on");
    return PostgresOptions{.settings = std::move(settings)};
  }());
  return server;
}

}  // namespace millrace::test
