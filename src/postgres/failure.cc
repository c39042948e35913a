#include "postgres/failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace millrace::postgres {
namespace {

bool is_one_of(std::string_view state, std::span<const std::string_view> states) {
  return std::ranges::find(states, state) != states.end();
}

bool is_for_now(const Failure& failure) {
  static constexpr std::array<std::string_view, 9> states{
      "57P01",  // the server stops
      "57P02",  // it crashed
      "57P03",  // it starts
      "57P05",  // the session was idle for too long
      "25P03",  // the transaction was idle for too long
      "53300",  // too many connections
      "57014",  // a statement was cancelled, most often for its time limit
      "55P03",  // a lock could not be had in time
      "25006",  // the server is a standby
  };
  // A whole class, 08: connections.
  return failure.lost || failure.state.starts_with("08") || is_one_of(failure.state, states) ||
         may_repeat(failure);
}

}  // namespace

bool is_sign_of_pooler(const Failure& failure) {
  return failure.state == "26000" || failure.state == "42P05";
}

bool may_repeat(const Failure& failure) {
  if (failure.lost) return false;
  return failure.state == "40001" || failure.state == "40P01" || is_sign_of_pooler(failure);
}

Error error_of(const Failure& failure, std::string_view doing) {
  std::string message = failure.state.empty()
                            ? fmt::format("cannot {}: {}", doing, failure.message)
                            : fmt::format("cannot {}: PostgreSQL says: {} (SQLSTATE {})", doing,
                                          failure.message, failure.state);
  if (is_for_now(failure)) {
    return {.code = ErrorCode::unavailable, .message = std::move(message)};
  }
  if (failure.state == "53100" || failure.state == "53200") {
    return {.code = ErrorCode::limited,
            .message = std::move(message),
            .no_space = failure.state == "53100"};
  }
  const bool large = failure.state == "54000";
  return {.code = large ? ErrorCode::too_large : ErrorCode::internal,
          .message = std::move(message)};
}

}  // namespace millrace::postgres
