// The peers: BullMQ on Redis, Graphile Worker on PostgreSQL, each with the settings its own
// performance page recommends, driven by the scripts in bench/peers.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "bench/server_load.h"
#include "tests/support/postgres_server.h"

namespace millrace::bench {

class Peers {
 public:
  // Installs the packages beside the bench's program if they are not there yet.
  Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;
  ~Peers();

  // Each begins with an empty Redis: append-only file, synced every second.
  double bullmq_adds(std::size_t in_flight, double seconds);        // tasks a second
  double bullmq_works(std::size_t tasks, std::size_t concurrency);  // tasks a second
  Latency bullmq_latency(double rate, double seconds, std::size_t concurrency);

  double graphile_works(std::size_t tasks, std::size_t processes);  // tasks a second

 private:
  // The figures of the one line that the script prints, in the order of their names.
  std::vector<double> figures(const std::vector<std::string>& script,
                              const std::vector<std::string>& names) const;
  std::vector<double> with_redis(std::vector<std::string> script,
                                 const std::vector<std::string>& names) const;

  std::string directory_;
  std::unique_ptr<test::PostgresServer> postgres_;  // made when it is needed
};

}  // namespace millrace::bench
