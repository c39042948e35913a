#include "store/postgres/session.h"

#include <fmt/format.h>

#include "store/postgres/format.h"

namespace millrace::store_postgres {
namespace {

constexpr std::string_view stale_state = "MR001";
constexpr std::string_view parent_state = "MR003";
constexpr std::string_view read_only_state = "25006";
constexpr std::string_view key_is_taken = "23505";  // a unique index says so
// A table of a day, which another process has made since the transaction began.
constexpr std::string_view table_is_there = "42P07";
constexpr int most_attempts = 10;

}  // namespace

postgres::Failure stale() {
  return {.state = std::string(stale_state), .message = "other processes keep changing queues"};
}

bool is_stale(const postgres::Failure& failure) {
  return failure.state == stale_state;
}

postgres::Failure demoted() {
  return {.state = std::string(read_only_state), .message = "the server takes no writes"};
}

bool is_demoted(const postgres::Failure& failure) {
  return failure.state == read_only_state;
}

bool is_parent_settled(const postgres::Failure& failure) {
  return failure.state == parent_state;
}

Error to_error(const postgres::Failure& failure, std::string_view doing) {
  if (!is_unreadable(failure)) return postgres::error_of(failure, doing);
  return {ErrorCode::corrupt, fmt::format("cannot {}: {}", doing, failure.message)};
}

Result<postgres::Connection*> Session::connection() {
  if (has_connection()) return connection_.get();
  connection_.reset();
  if (!backoff_.may_try(clock_.steady())) {
    return std::unexpected(Error{ErrorCode::unavailable,
                                 fmt::format("PostgreSQL cannot be reached: {}", last_failure_),
                                 std::chrono::seconds(1)});
  }
  auto opened = postgres::Connection::open(options_);
  if (!opened) {
    failed(opened.error().message);
    auto error = postgres::error_of(opened.error(), "connect to PostgreSQL");
    error.code = ErrorCode::unavailable;
    return std::unexpected(std::move(error));
  }
  backoff_.succeeded();
  ++connections_;
  connection_ = std::move(*opened);
  return connection_.get();
}

void Session::failed(const std::string& why) {
  std::uniform_real_distribution<double> any(0, 1);
  backoff_.failed(clock_.steady(), any(random_));
  last_failure_ = why;
}

Error Session::give_up(std::string_view doing) {
  failed(fmt::format("the server at {} takes no writes: it is a standby, or was made read-only",
                     connection_->where()));
  connection_.reset();
  return {ErrorCode::unavailable, fmt::format("cannot {}: {}", doing, last_failure_),
          std::chrono::seconds(1)};
}

bool Session::repeats(const postgres::Failure& failure, int attempt) const {
  if (failure.lost || attempt >= most_attempts) return false;
  return postgres::may_repeat(failure) || is_stale(failure) || is_parent_settled(failure) ||
         failure.state == key_is_taken || failure.state == table_is_there;
}

}  // namespace millrace::store_postgres
