// What enumerators are called on the wire, in the order of their numbers.
#pragma once

#include <millrace/queue.h>
#include <millrace/retry.h>
#include <millrace/schedule.h>
#include <millrace/task.h>
#include <millrace/work.h>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "broker/broker.h"
#include "broker/events.h"
#include "core/bulk.h"
#include "core/priority.h"
#include "core/transition.h"
#include "core/values.h"

namespace millrace::wire {

template <class Enum, std::size_t... index>
constexpr std::array<std::string_view, sizeof...(index)> names_by_number(
    std::index_sequence<index...>) {
  return {name_of(static_cast<Enum>(index))...};
}

constexpr auto names(TaskState) {
  return names_by_number<TaskState>(std::make_index_sequence<state_count>());
}
constexpr auto names(Event) {
  return names_by_number<Event>(std::make_index_sequence<event_count>());
}
constexpr auto names(Backoff) {
  return std::to_array<std::string_view>({"fixed", "exponential"});
}
constexpr auto names(Jitter) {
  return std::to_array<std::string_view>({"none", "symmetric", "additive"});
}
constexpr auto names(Retryable) {
  return std::to_array<std::string_view>({"all", "listed"});
}
constexpr auto names(UniqueScope) {
  return std::to_array<std::string_view>({"until_started", "until_finished", "window"});
}
constexpr auto names(OnConflict) {
  return std::to_array<std::string_view>({"keep", "replace", "postpone"});
}
constexpr auto names(AfterWhen) {
  return std::to_array<std::string_view>({"completed", "ended"});
}
constexpr auto names(Otherwise) {
  return std::to_array<std::string_view>({"cancel", "hold", "run"});
}
constexpr auto names(RateOf) {
  return std::to_array<std::string_view>({"tasks", "cost"});
}
constexpr auto names(GroupOrder) {
  return std::to_array<std::string_view>({"arrival", "fair", "serial"});
}
constexpr auto names(Overlap) {
  return std::to_array<std::string_view>({"skip", "queue", "allow"});
}
constexpr auto names(Missed) {
  return std::to_array<std::string_view>({"skip", "one", "all"});
}
constexpr auto names(DstPolicy) {
  return std::to_array<std::string_view>({"skip", "once", "both"});
}

constexpr auto names(EventKind) {
  return std::to_array<std::string_view>({"put", "taken", "completed", "failed", "dead", "retrying",
                                          "snoozed", "given_back", "lost", "cancelled", "expired",
                                          "cancel_requested", "retried", "released", "changed",
                                          "moved", "removed", "progress", "parked"});
}
constexpr auto names(PriorityScale) {
  return std::to_array<std::string_view>({"named", "zero_to_nine", "mtask", "bullmq", "none"});
}
constexpr auto names(SettleStatus) {
  return std::to_array<std::string_view>({"applied", "already", "cancel_requested"});
}
constexpr auto names(Gate) {
  return std::to_array<std::string_view>({"final", "running", "held", "not_due", "inactive",
                                          "paused", "concurrency", "rate", "no_worker", "behind",
                                          "next", "parked", "waits_for", "group_paused",
                                          "group_concurrency", "group_rate", "group_serial"});
}
constexpr auto names(BulkAction) {
  return names_by_number<BulkAction>(std::make_index_sequence<bulk_action_count>());
}
constexpr auto names(Durability) {
  return std::to_array<std::string_view>({"none", "interval", "synced"});
}

// The events of a callback, each a bit.
inline constexpr auto callback_events =
    std::to_array<std::pair<std::string_view, CallbackOn>>({{"completed", CallbackOn::completed},
                                                            {"failed", CallbackOn::failed},
                                                            {"retrying", CallbackOn::retrying},
                                                            {"dead", CallbackOn::dead},
                                                            {"cancelled", CallbackOn::cancelled}});

}  // namespace millrace::wire
