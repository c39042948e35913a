// How failures are retried: plain data. The arithmetic is in core/retry.
#pragma once

#include <millrace/time.h>
#include <cstdint>
#include <limits>
#include <optional>

namespace millrace {

// As a number of retries or losses: no limit at all.
inline constexpr std::uint32_t unlimited = std::numeric_limits<std::uint32_t>::max();

enum class Backoff : std::uint8_t { fixed = 0, exponential = 1 };

enum class Jitter : std::uint8_t {
  none = 0,
  symmetric = 1,  // × [1 − share, 1 + share)
  additive = 2,   // × [1, 1 + share)
};

enum class Retryable : std::uint8_t {
  all = 0,     // every error is retried unless the handler says otherwise
  listed = 1,  // only the transient codes and message fragments of core/classify
};

struct RetryPolicy {
  Backoff backoff = Backoff::exponential;
  Duration base = std::chrono::seconds(30);
  double factor = 2.0;
  std::optional<Duration> cap = std::chrono::hours(1);  // nullopt: ten years, the longest delay
  Jitter jitter = Jitter::symmetric;
  double jitter_share = 0.2;
  bool cap_after_jitter = false;  // true: the cap holds for delay and jitter together
  std::uint32_t max_retries = 3;  // 0 means none
  Retryable retryable = Retryable::all;

  friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};

// The retry rules of a task, a task type or a queue. What is not set comes from the next level:
// task, then type, then queue, then the server's default.
struct RetryRules {
  std::optional<Backoff> backoff = std::nullopt;
  std::optional<Duration> base = std::nullopt;
  std::optional<double> factor = std::nullopt;
  std::optional<Duration> cap = std::nullopt;
  std::optional<Jitter> jitter = std::nullopt;
  std::optional<double> jitter_share = std::nullopt;
  std::optional<bool> cap_after_jitter = std::nullopt;
  std::optional<std::uint32_t> max_retries = std::nullopt;
  std::optional<Retryable> retryable = std::nullopt;

  friend bool operator==(const RetryRules&, const RetryRules&) = default;
};

}  // namespace millrace
