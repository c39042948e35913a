// What an App is set up with before it starts: queues with their handlers, and schedules.
#pragma once

#include <millrace/app.h>
#include <millrace/handler.h>
#include <millrace/queue.h>
#include <millrace/schedule.h>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "worker/worker.h"

namespace millrace {

struct PlannedQueue {
  HandlerOptions options = {};
  bool batch = false;
  HandlerFunction any = {};
  std::map<std::string, HandlerFunction> by_type = {};
  std::map<std::string, TypeOptions> types = {};

  bool has_handler() const { return any || !by_type.empty(); }
};

struct Plan {
  std::map<std::string, PlannedQueue> queues = {};
  std::vector<Schedule> schedules = {};

  // A second handler for the same queue and type is a `conflict`.
  Result<void> add(const std::string& queue, const std::string& type, TypeOptions options,
                   HandlerFunction handler);

  // The handler of this queue gets batches; a `conflict` if types have handlers of their own.
  Result<void> set_batch(const std::string& queue);

  // Whether a task of this queue and type may be run in place of a put.
  bool is_critical(const std::string& queue, const std::string& type) const;
};

// Applies what the plan sets, and leaves the other settings alone.
void apply(const PlannedQueue& planned, QueueSettings& settings);

enum class Applied : std::uint8_t {
  all,      // and that changed something
  nothing,  // there is nothing to change
  none,     // the queue was configured otherwise, which holds
};
// The same, unless the queue was configured: its settings are then more than the defaults, with
// which a put creates a queue, perhaps our own. `overwrite`: whatever they are.
Applied apply_unless_configured(const PlannedQueue& planned, bool overwrite,
                                QueueSettings& settings);

// Applies what a program says of a schedule: everything but whether it is paused, which is the
// operator's.
void apply(const Schedule& planned, Schedule& stored);

// `settings` are those that the queue has by now.
worker::QueueHandlers handlers_of(const PlannedQueue& planned, const QueueSettings& settings);

}  // namespace millrace
