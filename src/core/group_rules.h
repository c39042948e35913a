// What queues and overrides say of one group, put together.
#pragma once

#include <millrace/queue.h>
#include <millrace/time.h>
#include <cstdint>
#include <optional>

namespace millrace {

// By how much a task moves the turn of a group of weight 1.
inline constexpr std::uint64_t turn_length = 1'000'000'000;

constexpr std::uint64_t turn_of_weight(std::uint32_t weight) {
  return turn_length / weight;
}

// An override that has ended, or says nothing, is as good as none.
constexpr bool counts(const GroupOverride& override, TimePoint now) {
  if (override.until && *override.until <= now) return false;
  GroupOverride said = override;
  said.until.reset();
  return said != GroupOverride{};
}

// What holds for one group.
struct GroupLimits {
  std::optional<std::uint32_t> max_concurrent = std::nullopt;
  std::optional<Rate> process_rate = std::nullopt;
  std::optional<std::uint64_t> max_depth = std::nullopt;
  std::uint32_t weight = 1;
  std::optional<TimePoint> paused_until = std::nullopt;

  bool is_paused(TimePoint now) const { return paused_until && *paused_until > now; }
};

// Those of the queue, and what the override says instead. A serial group never runs more than one.
inline GroupLimits limits_of(const GroupRules& rules, const GroupOverride* override) {
  GroupLimits limits{.max_concurrent = rules.max_concurrent,
                     .process_rate = rules.process_rate,
                     .max_depth = rules.max_depth,
                     .weight = rules.weight};
  if (override != nullptr) {
    if (override->max_concurrent) limits.max_concurrent = override->max_concurrent;
    if (override->process_rate) limits.process_rate = override->process_rate;
    if (override->max_depth) limits.max_depth = override->max_depth;
    if (override->weight) limits.weight = *override->weight;
    limits.paused_until = override->paused_until;
  }
  if (rules.order == GroupOrder::serial) limits.max_concurrent = 1;
  return limits;
}

// Of the group "", the tasks without a group: no limits, and the weight of the queue's rules.
inline GroupLimits limits_of_ungrouped(const GroupRules& rules) {
  return {.weight = rules.weight};
}

}  // namespace millrace
