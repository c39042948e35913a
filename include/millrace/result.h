// Expected failures are values: every operation that can fail returns Result<T>.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace millrace {

// The numbers are part of the wire format; do not renumber.
enum class ErrorCode : std::uint8_t {
  invalid = 1,      // the request is wrong; sending it again cannot help
  too_large = 2,    // a size limit was exceeded; the message names the limit
  not_found = 3,    // no such task, queue, schedule or memo
  conflict = 4,     // the thing is in a state that forbids the operation
  lease_lost = 5,   // the token is not the one in the task's record
  limited = 6,      // a rate, depth or space limit; see retry_after
  unavailable = 7,  // the store cannot answer now; it is not known whether the change was made
  corrupt = 8,      // stored data failed a check; it is never skipped
  internal = 9,     // a defect in Millrace
};

struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message = {};
  // With `limited`, and sometimes `unavailable`: when the same request may succeed.
  std::optional<std::chrono::milliseconds> retry_after = std::nullopt;
  // Only with `limited`: the disk has no space left.
  bool no_space = false;
  // Only with `limited`: waiting does not help; something has to be removed, or a setting raised.
  bool lasting = false;
  // Only with `unavailable`: the server was reached, and its certificate is not trusted, so that
  // waiting does not help.
  bool untrusted = false;
  // Mostly with `invalid` and `too_large`: the value that was wrong, by the names of the HTTP API,
  // as in `retry.base_ms` or `types[2].timeout_ms`. Empty: it was not one value.
  std::string field = {};

  friend bool operator==(const Error&, const Error&) = default;
};

template <class T>
using Result = std::expected<T, Error>;

// `return fail(ErrorCode::invalid, "priority must be 0 to 9");`
inline std::unexpected<Error> fail(ErrorCode code, std::string message, std::string field = {}) {
  return std::unexpected(
      Error{.code = code, .message = std::move(message), .field = std::move(field)});
}

constexpr std::string_view name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid:
      return "invalid";
    case ErrorCode::too_large:
      return "too_large";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::conflict:
      return "conflict";
    case ErrorCode::lease_lost:
      return "lease_lost";
    case ErrorCode::limited:
      return "limited";
    case ErrorCode::unavailable:
      return "unavailable";
    case ErrorCode::corrupt:
      return "corrupt";
    case ErrorCode::internal:
      return "internal";
  }
  return "internal";
}

}  // namespace millrace
