// When a failed task is tried again.
#pragma once

#include <millrace/retry.h>
#include <millrace/time.h>
#include <cstdint>

namespace millrace {

// The policy that applies, field by field: the value of the task, else of its type, else of the
// queue, else the server's default. A null pointer sets nothing. An explicit 0 is a value, not a
// gap.
RetryPolicy resolve(const RetryPolicy& server, const RetryRules& queue, const RetryRules* type,
                    const RetryRules* task);

// How long to wait after a failure that `retries` charged failures came before:
//
//   fixed        min(cap, base)             then jitter, whole milliseconds, rounded down
//   exponential  min(cap, base · factorⁿ)   with n = retries
//
// `random` in [0, 1) picks the point inside the jitter. With cap_after_jitter the jittered delay
// is cut to the cap once more. The result is never negative and never above limits::max_delay,
// whatever the policy and however many retries there were.
Duration retry_delay(const RetryPolicy& policy, std::uint32_t retries, double random);

}  // namespace millrace
