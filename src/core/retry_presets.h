// Retry policies of the systems that Millrace replaces, for users who come from one of them:
// docs/coming-from-another-system.md.
#pragma once

#include <millrace/retry.h>
#include <array>
#include <chrono>
#include <optional>
#include <string_view>

namespace millrace::presets {

// The Claude proxy with its full error handling: 24-36 s, 48-72 s, 96-144 s. Jitter comes after
// the cap, so a delay may reach 72 minutes.
inline constexpr RetryPolicy claude_proxy{.backoff = Backoff::exponential,
                                          .base = std::chrono::seconds(30),
                                          .factor = 2.0,
                                          .cap = std::chrono::hours(1),
                                          .jitter = Jitter::symmetric,
                                          .jitter_share = 0.2,
                                          .cap_after_jitter = false,
                                          .max_retries = 3,
                                          .retryable = Retryable::listed};

// The same proxy's plain queue: 30, 60, 120 s.
inline constexpr RetryPolicy claude_proxy_plain{.backoff = Backoff::exponential,
                                                .base = std::chrono::seconds(30),
                                                .factor = 2.0,
                                                .cap = std::nullopt,
                                                .jitter = Jitter::none,
                                                .jitter_share = 0,
                                                .max_retries = 3,
                                                .retryable = Retryable::listed};

// Contract queues: 1, 2, 4 s … for ever. The original has no cap and overflows after 33 retries;
// an hour is ours.
inline constexpr RetryPolicy contract_queue{.backoff = Backoff::exponential,
                                            .base = std::chrono::seconds(1),
                                            .factor = 2.0,
                                            .cap = std::chrono::hours(1),
                                            .jitter = Jitter::none,
                                            .jitter_share = 0,
                                            .max_retries = unlimited};

// mTask: 2, 4, 8 s and up to a tenth more, at most a minute before that tenth.
inline constexpr RetryPolicy mtask{.backoff = Backoff::exponential,
                                   .base = std::chrono::seconds(2),
                                   .factor = 2.0,
                                   .cap = std::chrono::minutes(1),
                                   .jitter = Jitter::additive,
                                   .jitter_share = 0.1,
                                   .max_retries = 3};

// BullMQ jobs; its `attempts` counts the first run too, so max_retries is one less.
// send-sms, 3 attempts: 1, 2 s.
inline constexpr RetryPolicy bullmq_sms{.backoff = Backoff::exponential,
                                        .base = std::chrono::seconds(1),
                                        .factor = 2.0,
                                        .cap = std::nullopt,
                                        .jitter = Jitter::none,
                                        .jitter_share = 0,
                                        .max_retries = 2};

// send-email, 5 attempts: 2, 4, 8, 16 s.
inline constexpr RetryPolicy bullmq_email{.backoff = Backoff::exponential,
                                          .base = std::chrono::seconds(2),
                                          .factor = 2.0,
                                          .cap = std::nullopt,
                                          .jitter = Jitter::none,
                                          .jitter_share = 0,
                                          .max_retries = 4};

// process-image, 2 attempts: 5 s.
inline constexpr RetryPolicy bullmq_image{.backoff = Backoff::fixed,
                                          .base = std::chrono::seconds(5),
                                          .factor = 1.0,
                                          .cap = std::nullopt,
                                          .jitter = Jitter::none,
                                          .jitter_share = 0,
                                          .max_retries = 1};

// cleanup-sessions, 1 attempt: never again.
inline constexpr RetryPolicy bullmq_cleanup{.backoff = Backoff::fixed,
                                            .base = Duration::zero(),
                                            .factor = 1.0,
                                            .cap = std::nullopt,
                                            .jitter = Jitter::none,
                                            .jitter_share = 0,
                                            .max_retries = 0};

// The PostgreSQL task manager: 10, 20, 40 s, at most an hour.
inline constexpr RetryPolicy postgres_manager{.backoff = Backoff::exponential,
                                              .base = std::chrono::seconds(10),
                                              .factor = 2.0,
                                              .cap = std::chrono::hours(1),
                                              .jitter = Jitter::none,
                                              .jitter_share = 0,
                                              .max_retries = 3};

struct Named {
  std::string_view name;
  RetryPolicy policy;
};

// By the names that settings know them by.
inline constexpr std::array all{Named{"claude-proxy", claude_proxy},
                                Named{"claude-proxy-plain", claude_proxy_plain},
                                Named{"contract-queue", contract_queue},
                                Named{"mtask", mtask},
                                Named{"bullmq-sms", bullmq_sms},
                                Named{"bullmq-email", bullmq_email},
                                Named{"bullmq-image", bullmq_image},
                                Named{"bullmq-cleanup", bullmq_cleanup},
                                Named{"postgres-manager", postgres_manager}};

}  // namespace millrace::presets
