// The settings of a queue as flags.
#pragma once

#include <millrace/queue.h>
#include <millrace/result.h>
#include <optional>
#include <string>

#include "cli/command.h"

namespace millrace::cli {

struct QueueFlags {
  using Text = std::optional<std::string>;
  Text description = std::nullopt, number = std::nullopt, active = std::nullopt;
  Text max_concurrent = std::nullopt, max_depth = std::nullopt, max_task_size = std::nullopt;
  Text rate = std::nullopt, rate_of = std::nullopt, put_rate = std::nullopt;
  Text group_order = std::nullopt, group_max_concurrent = std::nullopt, group_rate = std::nullopt;
  Text group_rate_of = std::nullopt, group_max_depth = std::nullopt, group_weight = std::nullopt;
  Text group_retry_holds = std::nullopt;
  Text priority = std::nullopt, weight = std::nullopt, ageing = std::nullopt;
  Text lease = std::nullopt, timeout = std::nullopt, batch_size = std::nullopt;
  Text retries = std::nullopt, backoff = std::nullopt, retry_base = std::nullopt;
  Text retry_factor = std::nullopt, retry_cap = std::nullopt, retryable = std::nullopt;
  Text jitter = std::nullopt, jitter_share = std::nullopt, cap_after_jitter = std::nullopt;
  Text max_lost = std::nullopt, dead_letters = std::nullopt;
  Text dead_letter_queue = std::nullopt;
  Text keep_completed = std::nullopt, keep_dead = std::nullopt;

  bool any() const;
  bool any_of_groups() const;
};

void takes_queue_settings(Command& command, QueueFlags& flags);

// Applies the flags that were given; "none" removes a limit.
Result<void> apply(const QueueFlags& flags, QueueSettings& settings);

}  // namespace millrace::cli
