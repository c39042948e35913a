// Which errors are worth another try.
#pragma once

#include <millrace/retry.h>
#include <millrace/task.h>

namespace millrace {

// Whether the policy retries this error. The handler's own choice, if it made one, overrides this.
//
// Never, whatever the policy, because the next try would end the same way:
//   authentication_error, claude_api_401, invalid_request, invalid_request_error,
//   unsupported_task_type, invalid_payload
//
// Retryable::all      everything else.
// Retryable::listed   only what is known to pass:
//   codes      rate_limit_exceeded, timeout, connection_error, service_unavailable,
//              internal_server_error, claude_api_429, claude_api_500, claude_api_502,
//              claude_api_503, claude_api_504, claude_api_529, and the API's own types
//              rate_limit_error, overloaded_error, api_error, timeout_error
//   messages   in any case, containing one of: timeout, connection reset, too many requests,
//              rate limit, temporarily unavailable, internal server error, bad gateway,
//              service unavailable, gateway timeout, overloaded
bool is_retryable(const RetryPolicy& policy, const TaskError& error);

}  // namespace millrace
