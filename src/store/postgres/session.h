// A connection that is opened again when it was lost or its server no longer takes writes, and
// transactions that are repeated when they collided with others.
#pragma once

#include <millrace/result.h>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "core/clock.h"
#include "postgres/backoff.h"
#include "postgres/connection.h"
#include "postgres/failure.h"
#include "store/postgres/format.h"

namespace millrace::store_postgres {

// The caller decided by old settings of queues: it must read them, and begin again.
postgres::Failure stale();
bool is_stale(const postgres::Failure& failure);

// The server is a standby, or was made read-only.
postgres::Failure demoted();
bool is_demoted(const postgres::Failure& failure);

// A task that others wait for was to be settled in SQL alone: the caller must let the state machine
// do it, and begin again.
bool is_parent_settled(const postgres::Failure& failure);

// As postgres::error_of, and `corrupt` for what is unreadable (format.h).
Error to_error(const postgres::Failure& failure, std::string_view doing);

class Session {
 public:
  Session(postgres::ConnectOptions options, Clock& clock)
      : options_(std::move(options)), clock_(clock) {}

  // `unavailable` while there is no connection; tries the server again no sooner than the back-off
  // allows.
  Result<postgres::Connection*> connection();

  // Runs `body(connection)`, which ends with a commit, until it succeeds or fails for good. After a
  // collision it begins anew; after stale() too, once `again()` has been called. `doing`: for the
  // message, as in "put tasks".
  template <class Body, class Again>
  auto transact(std::string_view doing, const postgres::TransactOptions& how, Again again,
                Body body)
      -> Result<typename std::invoke_result_t<Body, postgres::Connection&>::value_type>;

  // How often a connection was opened: the one before may have led to another server. Any thread
  // may ask.
  std::uint64_t connections() const { return connections_; }
  bool has_connection() const { return connection_ != nullptr && connection_->is_open(); }

 private:
  // The next connection may lead to another server.
  Error give_up(std::string_view doing);
  void failed(const std::string& why);
  // Whether to begin again; otherwise the error to answer with.
  bool repeats(const postgres::Failure& failure, int attempt) const;

  postgres::ConnectOptions options_;
  Clock& clock_;
  std::unique_ptr<postgres::Connection> connection_;
  postgres::Backoff backoff_;
  std::minstd_rand random_{std::random_device{}()};
  std::string last_failure_;
  std::atomic<std::uint64_t> connections_ = 0;
};

template <class Body, class Again>
auto Session::transact(std::string_view doing, const postgres::TransactOptions& how, Again again,
                       Body body)
    -> Result<typename std::invoke_result_t<Body, postgres::Connection&>::value_type> {
  for (int attempt = 1;; ++attempt) {
    auto connected = connection();
    if (!connected) return std::unexpected(std::move(connected.error()));
    postgres::Connection& connection = **connected;
    if (!how.read_only && connection.is_read_only()) return std::unexpected(give_up(doing));
    connection.begin(how);
    auto answer = body(connection);
    if (const char* what = postgres::take_misread()) answer = std::unexpected(unreadable(what));
    if (connection.is_open() && connection.in_transaction()) connection.rollback();
    if (answer) return std::move(*answer);
    if (!how.read_only && is_demoted(answer.error())) return std::unexpected(give_up(doing));
    if (!repeats(answer.error(), attempt)) {
      return std::unexpected(to_error(answer.error(), doing));
    }
    if (auto read = again(); !read) return std::unexpected(std::move(read.error()));
  }
}

}  // namespace millrace::store_postgres
