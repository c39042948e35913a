#include "core/classify.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "core/ascii.h"

namespace millrace {
namespace {

constexpr std::array<std::string_view, 6> never_codes = {
    "authentication_error",  "claude_api_401",        "invalid_request",
    "invalid_request_error", "unsupported_task_type", "invalid_payload",
};

constexpr std::array<std::string_view, 15> transient_codes = {
    "rate_limit_exceeded",   "timeout",        "connection_error", "service_unavailable",
    "internal_server_error", "claude_api_429", "claude_api_500",   "claude_api_502",
    "claude_api_503",        "claude_api_504", "claude_api_529",   "rate_limit_error",
    "overloaded_error",      "api_error",      "timeout_error",
};

constexpr std::array<std::string_view, 10> transient_fragments = {
    "timeout",     "connection reset",        "too many requests",
    "rate limit",  "temporarily unavailable", "internal server error",
    "bad gateway", "service unavailable",     "gateway timeout",
    "overloaded",
};

bool is_transient(const TaskError& error) {
  if (std::ranges::find(transient_codes, error.code) != transient_codes.end()) return true;
  const std::string message = ascii::lower(error.message);
  return std::ranges::any_of(transient_fragments, [&message](std::string_view fragment) {
    return message.find(fragment) != std::string::npos;
  });
}

}  // namespace

bool is_retryable(const RetryPolicy& policy, const TaskError& error) {
  if (std::ranges::find(never_codes, error.code) != never_codes.end()) return false;
  return policy.retryable == Retryable::all || is_transient(error);
}

}  // namespace millrace
