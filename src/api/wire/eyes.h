// Events and history, both ways.
#pragma once

#include <millrace/result.h>
#include <optional>
#include <string>
#include <string_view>

#include "broker/events.h"
#include "broker/history.h"

namespace millrace::wire {

// An event as it is streamed: lines of text/event-stream. Its id is the boot of the broker and the
// number of the event.
std::string event_id(std::uint64_t boot, std::uint64_t number);
struct EventId {
  std::uint64_t boot = 0;
  std::uint64_t number = 0;
};
std::optional<EventId> event_id_from(std::string_view text);
void append_event(std::string& out, std::uint64_t boot, const TaskHappening& event);
// The value of `data:`.
std::string text_of(const TaskHappening& event);
// `what` is the value of `event:`.
Result<TaskHappening> event_from(std::string_view id, std::string_view what, std::string_view data);
// Of the event `skipped`.
Result<std::uint64_t> skipped_from(std::string_view data);

std::string text_of(const History& history);
Result<History> history_from(std::string_view text);

}  // namespace millrace::wire
