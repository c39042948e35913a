// The peers: BullMQ on Redis, Graphile Worker and pg-boss on PostgreSQL, each with the settings its
// own documentation recommends, driven by the scripts in bench/peers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/server_load.h"
#include "tests/support/postgres_server.h"

namespace millrace::bench {

// A PostgreSQL that is already running, with a user `postgres` that needs no password.
struct PostgresAddress {
  std::string socket_directory;
  std::uint16_t port = 5432;
};

// How a peer puts: so many tasks, so many calls at a time, shared by so many processes of Node.
struct PeerPuts {
  std::size_t tasks = 0;
  std::size_t in_flight = 32;
  std::size_t processes = 1;
};
struct PeerBatches {
  std::size_t tasks = 0;
  std::size_t batch = 1000;
  std::size_t in_flight = 8;  // batches
  std::size_t processes = 1;
};

class Peers {
 public:
  // Installs the packages beside the bench's program if they are not there yet.
  Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;
  ~Peers();

  // Each call begins with an empty Redis: append-only file, synced every second.
  double bullmq_adds(std::size_t in_flight, double seconds);        // tasks per second
  double bullmq_works(std::size_t tasks, std::size_t concurrency);  // tasks per second
  Latency bullmq_latency(double rate, double seconds, std::size_t concurrency);

  double graphile_works(std::size_t tasks, std::size_t processes);  // tasks per second

  // On a server that ours may use as well: each begins with an empty schema of its own and leaves
  // none. Tasks per second, after a fifth as many that are not timed. Work is of preloaded tasks.
  double graphile_put_single(const PostgresAddress& server, const PeerPuts& puts);
  double graphile_put_batch(const PostgresAddress& server, const PeerBatches& puts);
  double graphile_work(const PostgresAddress& server, std::size_t tasks, std::size_t processes);
  double pg_boss_put_single(const PostgresAddress& server, const PeerPuts& puts);
  double pg_boss_put_batch(const PostgresAddress& server, const PeerBatches& puts);
  double pg_boss_work(const PostgresAddress& server, std::size_t tasks, std::size_t processes);

 private:
  // The figures of the one line that the script prints, in the order of their names.
  std::vector<double> figures(const std::vector<std::string>& script,
                              const std::vector<std::string>& names) const;
  std::vector<double> with_redis(std::vector<std::string> script,
                                 const std::vector<std::string>& names) const;
  double on_postgres(const char* script, const char* mode, const PostgresAddress& server,
                     const std::vector<std::pair<const char*, std::size_t>>& flags) const;

  std::string directory_;
  std::unique_ptr<test::PostgresServer> postgres_;  // made when it is needed
};

}  // namespace millrace::bench
