// Three real servers on a real PostgreSQL that keeps its promises, for all tests of a program.
#pragma once

#include <fmt/format.h>

#include <deque>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/e2e/server.h"
#include "tests/support/postgres_server.h"

namespace millrace::test {

class FaultCluster {
 public:
  static constexpr int max_connections = 48;

  // Started by the first who asks. From a start on no lease is called lost for half a minute, so
  // servers that live through all tests save each of them that wait.
  static FaultCluster& get() {
    static FaultCluster cluster;
    return cluster;
  }

  PostgresServer& postgres() { return postgres_; }
  std::string url() const { return postgres_.url(); }
  std::deque<ServerProcess>& servers() { return servers_; }

 private:
  FaultCluster() {
    for (int i = 0; i < 3; ++i) {
      if (!servers_.emplace_back(std::vector<std::string>{"--store", url()}).ready()) {
        throw std::runtime_error("a server does not start: " + servers_.back().said());
      }
    }
  }

  static PostgresOptions options() {
    auto settings = quick_settings();
    settings.emplace_back("fsync", "on");
    settings.emplace_back("max_connections", std::to_string(max_connections));
    // A commit that does not wait for the disk is not on it: a crash loses as much as it ever may.
    settings.emplace_back("wal_writer_delay", "10s");
    return {.settings = std::move(settings)};
  }

  PostgresServer postgres_{options()};
  std::deque<ServerProcess> servers_;
};

}  // namespace millrace::test
