// What an operator of the server is alerted to.
#pragma once

#include <millrace/time.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/log.h"

namespace millrace {

enum class AlertKind : std::uint8_t {
  task_dead = 0,    // every retry used up
  task_failed = 1,  // a retry cannot help
  key_refused = 2,  // a service that a task called refused our key
  queue_deep = 3,   // more tasks wait than should
  no_take = 4,      // tasks are ready and no worker takes them
  leases_lost = 5,  // workers vanished with their tasks
  disk_low = 6,     // the disk is nearly full
  // Shown to clients that ask (current_alerts.h), but never sent:
  dead_growing = 7,  // a queue has more dead letters than some minutes ago
  store_failed = 8,  // nothing can be stored
  // Sent once, and never shown, since it does not last:
  clock_set_back = 9,
};
constexpr std::string_view name_of(AlertKind kind) {
  constexpr std::array<std::string_view, 10> names = {
      "task_dead",   "task_failed", "key_refused",  "queue_deep",   "no_take",
      "leases_lost", "disk_low",    "dead_growing", "store_failed", "clock_set_back",
  };
  return names[static_cast<std::size_t>(kind)];
}

struct AlertFacts {
  AlertKind kind = AlertKind::task_dead;
  LogLevel level = LogLevel::error;
  std::string title = {};                         // a headline: "Queue over its depth: emails"
  bool resolved = false;                          // what was alerted about is over
  std::uint64_t held_back = 0;                    // alerts like this one that were not sent
  std::optional<TimePoint> since = std::nullopt;  // when it began
};

}  // namespace millrace
