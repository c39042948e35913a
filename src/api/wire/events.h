// Events and history, both ways.
#pragma once

#include <millrace/result.h>
#include <optional>
#include <string>
#include <string_view>

#include "broker/events.h"
#include "broker/history.h"
#include "broker/types_past.h"

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

// What a stream of events tells, one after another.
struct EventNews {
  std::string id = {};                                // to go on after
  std::optional<TaskHappening> event = std::nullopt;  // or one of these:
  bool reset = false;                                 // something may have been missed
  std::uint64_t skipped = 0;                          // so many were passed over
};

// text/event-stream to news, however it is cut into pieces.
class EventReader {
 public:
  // The next news, as long as there are any; nullopt: more has to be fed. Events whose name is
  // not known are passed over: a newer server tells more.
  void feed(std::string_view piece) { text_ += piece; }
  Result<std::optional<EventNews>> next();
  // Of the last news, comments too.
  const std::string& last_id() const { return last_id_; }

 private:
  std::optional<std::string> line();

  std::string text_;
  std::size_t at_ = 0;
  std::string last_id_;
  std::string event_;
  std::string data_;
};

// `depths`: what waited and ran; left out of an answer about one type, which nobody counts them
// for.
std::string text_of(const History& history, bool depths = true);
Result<History> history_from(std::string_view text);

// What happened to the types of a queue since then; rates are a second.
std::string text_of(const TypesPast& past, TimePoint since, TimePoint now);

}  // namespace millrace::wire
