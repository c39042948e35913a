#include "core/retry.h"

#include "core/limits.h"

#include <algorithm>
#include <cmath>

namespace millrace {
namespace {

// Writes over `policy` what `rules` state.
void overlay(RetryPolicy& policy, const RetryRules& rules) {
  if (rules.backoff) policy.backoff = *rules.backoff;
  if (rules.base) policy.base = *rules.base;
  if (rules.factor) policy.factor = *rules.factor;
  if (rules.cap) policy.cap = rules.cap;
  if (rules.jitter) policy.jitter = *rules.jitter;
  if (rules.jitter_share) policy.jitter_share = *rules.jitter_share;
  if (rules.cap_after_jitter) policy.cap_after_jitter = *rules.cap_after_jitter;
  if (rules.max_retries) policy.max_retries = *rules.max_retries;
  if (rules.retryable) policy.retryable = *rules.retryable;
}

// In [0, most]; what is not a number (0 · infinity) counts as 0.
double bounded(double value, double most) {
  return value > 0 ? std::min(value, most) : 0;
}

double jittered(const RetryPolicy& policy, double delay, double random) {
  const double share = bounded(policy.jitter_share, 1);
  const double point = bounded(random, 1);
  switch (policy.jitter) {
    case Jitter::none:
      return delay;
    case Jitter::symmetric:
      return delay * (1 - share + point * 2 * share);
    case Jitter::additive:
      return delay * (1 + point * share);
  }
  return delay;
}

}  // namespace

RetryPolicy resolve(const RetryPolicy& server, const RetryRules& queue, const RetryRules* type,
                    const RetryRules* task) {
  RetryPolicy policy = server;
  overlay(policy, queue);
  if (type != nullptr) overlay(policy, *type);
  if (task != nullptr) overlay(policy, *task);
  return policy;
}

Duration retry_delay(const RetryPolicy& policy, std::uint32_t retries, double random) {
  // In double, since factor^n runs to infinity, where an integer would wrap around.
  constexpr auto longest = static_cast<double>(limits::max_delay.count());
  const double cap =
      policy.cap ? bounded(static_cast<double>(policy.cap->count()), longest) : longest;
  double delay = static_cast<double>(policy.base.count());
  if (policy.backoff == Backoff::exponential) delay *= std::pow(policy.factor, retries);
  delay = jittered(policy, bounded(delay, cap), random);
  delay = bounded(delay, policy.cap_after_jitter ? cap : longest);
  return Duration(static_cast<Duration::rep>(delay));
}

}  // namespace millrace
