// Events as text/event-stream, both ways.
#pragma once

#include <millrace/result.h>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "broker/events.h"

namespace millrace::wire {

// The id of a streamed event: the boot of the broker and the number of the event.
std::string event_id(std::uint64_t boot, std::uint64_t number);
struct EventId {
  std::uint64_t boot = 0;
  std::uint64_t number = 0;
};
std::optional<EventId> event_id_from(std::string_view text);
void append_event(std::string& out, std::uint64_t boot, const EventRecord& event);
// The value of `data:`.
std::string text_of(const EventRecord& event);
// `what` is the value of `event:`.
Result<EventRecord> event_from(std::string_view id, std::string_view what, std::string_view data);
// The count in the data of the event `skipped`.
Result<std::uint64_t> skipped_from(std::string_view data);

// One item of a stream of events.
struct StreamedEvent {
  std::string id = {};                              // to continue after
  std::optional<EventRecord> event = std::nullopt;  // or one of these:
  bool reset = false;                               // events may have been missed
  std::uint64_t skipped = 0;                        // this many events were skipped
};

// Reads text/event-stream, however it is cut into pieces.
class EventReader {
 public:
  // The next item; nullopt: feed more first. Events with an unknown name are skipped, because a
  // newer server may send more kinds.
  void feed(std::string_view piece) { text_ += piece; }
  Result<std::optional<StreamedEvent>> next();
  // The id of the last item, comments included.
  const std::string& last_id() const { return last_id_; }

 private:
  std::optional<std::string> line();

  std::string text_;
  std::size_t at_ = 0;
  std::string last_id_;
  std::string event_;
  std::string data_;
};

}  // namespace millrace::wire
