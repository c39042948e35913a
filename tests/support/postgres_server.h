// Real servers for tests and benches: Debian's PostgreSQL and PgBouncer, each with a temporary
// directory and a loopback port of its own, never as root. A failure throws std::runtime_error with
// what the program printed.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/child.h"
#include "tests/support/temporary_directory.h"

namespace millrace::test {

// A cluster that never runs. For programs with several servers: copying it takes a fraction of the
// second that making one takes.
class ClusterTemplate {
 public:
  ClusterTemplate();
  std::string data() const { return directory_ / "data"; }

 private:
  TemporaryDirectory directory_;
};

// fsync=off, and only what a test needs: starts and stops sooner, writes less.
std::vector<std::pair<std::string, std::string>> quick_settings();

class PostgresServer;

struct PostgresOptions {
  std::vector<std::pair<std::string, std::string>> settings = {};  // -c name=value
  // Lines of pg_hba.conf that go before `trust` for all users.
  std::vector<std::string> authentication = {};
  // Takes TLS, with a certificate of its own for 127.0.0.1, see certificate().
  bool tls = false;
  const ClusterTemplate* copy_of = nullptr;
  // Makes a hot standby of this server, which must be running.
  const PostgresServer* standby_of = nullptr;
};

// Runs when the constructor returns, and is stopped by the destructor. The superuser is `postgres`.
class PostgresServer {
 public:
  explicit PostgresServer(PostgresOptions options = {});
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;
  ~PostgresServer();

  // "postgres://postgres@127.0.0.1:PORT/DATABASE"
  std::string url(std::string_view database = "postgres") const;
  unsigned short port() const { return port_; }
  // Where its unix socket is, for host=.
  std::string socket_directory() const { return directory_.path(); }
  pid_t pid() const { return process_ ? process_->pid() : -1; }
  std::string log() const;
  // The file, for sslrootcert=.
  std::string certificate() const { return directory_ / "data/server.crt"; }

  // Ends sessions and leaves everything in order.
  void stop();
  void start();  // does nothing if it runs
  void restart() {
    stop();
    start();
  }
  // SIGKILL: the sessions end when they notice, nothing is written.
  void kill_postmaster();
  // A standby becomes a primary; its sessions stay.
  void promote() const;
  // Restarts as a standby that follows no primary.
  void demote();
  // For transactions that begin from now on; running ones are not disturbed.
  void set_read_only(bool read_only) const;

  // Runs commands with psql, each a transaction of its own, and returns what it prints: rows as
  // lines, columns with | in between.
  std::string run_sql(const std::string& text, std::string_view database = "postgres") const;

 private:
  void make_cluster();
  // Whether it got as far as accepting connections; `why` is what it printed.
  bool started(std::string& why);

  Account account_ = Account::for_postgres();
  PostgresOptions options_;
  std::string programs_;
  TemporaryDirectory directory_;
  unsigned short port_ = 0;
  std::unique_ptr<Child> process_;
};

// PgBouncer in front of a server, in transaction mode unless told otherwise.
class PgBouncer {
 public:
  // More settings of its ini file: {"default_pool_size", "2"}.
  explicit PgBouncer(const PostgresServer& server,
                     const std::vector<std::pair<std::string, std::string>>& settings = {});
  PgBouncer(const PgBouncer&) = delete;
  PgBouncer& operator=(const PgBouncer&) = delete;
  ~PgBouncer();

  std::string url(std::string_view database = "postgres") const;
  unsigned short port() const { return port_; }

 private:
  TemporaryDirectory directory_;
  unsigned short port_ = 0;
  std::unique_ptr<Child> process_;
};

}  // namespace millrace::test
