// What operators do to tasks: cancel, change, retry or remove dead letters.
#pragma once

#include <millrace/time.h>
#include <cstdint>
#include <optional>
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
// {"data":…,"expect_version":…}, or nothing. The id is in the path.
Read<TaskUpdate> read_release(std::string_view text);
// {"priority":…,"start":… | "delay_ms":…,"queue":…}: at least one of them. The id is in the path.
Read<TaskUpdate> read_update(std::string_view text, TimePoint now);
// {"ids":[…]} or {"queue":…,"type":…} or {"all":true}
Read<DeadLetters> read_dead_letters(std::string_view text);
// {"action":"cancel" | "retry" | "remove" | "priority" | "move","ids":[…],"reason":…,"priority":…,
// "to":…}
struct TaskActions {
  BulkAction action = BulkAction::cancel;
  std::vector<TaskId> ids = {};
  std::string reason = {};                              // of a cancel
  std::optional<std::uint8_t> priority = std::nullopt;  // of `priority`
  std::optional<QueueRef> to = std::nullopt;            // of a move
};
Read<TaskActions> read_actions(std::string_view text);
// now + delay; beyond ten years `in` has the error.
TimePoint moment_after(TimePoint now, Duration delay, std::string_view key, Input& in);
// {"for_ms":…} or {"until":…}; neither: without end.
Read<TimePoint> read_pause(std::string_view text, TimePoint now);

}  // namespace millrace::wire
