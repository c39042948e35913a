// What operators do to tasks: cancel, change, retry or remove dead letters.
#pragma once

#include <millrace/time.h>
#include <string>
#include <string_view>
#include <vector>

#include "api/wire/input.h"
#include "broker/broker.h"
#include "core/bulk.h"
#include "core/values.h"

namespace millrace::wire {

// {"reason":…}
Read<std::string> read_cancel(std::string_view text);
// {"priority":…,"start":… | "delay_ms":…,"queue":…}: at least one of them. The id is in the path.
Read<TaskUpdate> read_update(std::string_view text, TimePoint now);
// {"ids":[…]} or {"queue":…,"type":…} or {"all":true}
Read<DeadLetters> read_dead_letters(std::string_view text);
// {"action":"cancel" | "retry" | "remove","ids":[…],"reason":…}
struct TaskActions {
  BulkAction action = BulkAction::cancel;
  std::vector<TaskId> ids = {};
  std::string reason = {};  // of a cancel
};
Read<TaskActions> read_actions(std::string_view text);
// {"for_ms":…} or {"until":…}; neither: without end.
Read<TimePoint> read_pause(std::string_view text, TimePoint now);

}  // namespace millrace::wire
