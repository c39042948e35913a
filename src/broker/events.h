// What happened to tasks, newest last, for clients that watch: the newest 65,536 events, numbered.
//
// An event is added once what it reports is stored. Numbers grow by one and start again with every
// broker; `boot` tells brokers apart. What a store does on its own to many tasks at once makes no
// events: delayed tasks that become due, retention, a cleared queue, a queue that is removed with
// its tasks, tasks that are imported.
#pragma once

#include <millrace/ids.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/mutex.h"

namespace millrace {

// The names are sent; the numbers are not.
enum class EventKind : std::uint8_t {
  put = 0,
  taken = 1,
  completed = 2,
  failed = 3,
  dead = 4,
  retrying = 5,
  snoozed = 6,
  given_back = 7,
  lost = 8,  // the lease; a task that was lost too often becomes `dead` next
  cancelled = 9,
  expired = 10,
  cancel_requested = 11,
  retried = 12,  // by an operator
  released = 13,
  changed = 14,  // priority or start; or all of it, by a put that replaced it
  moved = 15,    // to another queue, which the event names
  removed = 16,
  progress = 17,
  parked = 18,  // by its handler, until it is released
};
inline constexpr std::size_t event_kind_count = 19;
std::string_view name_of(EventKind what);
// The event of exactly this name; nullopt for any other text.
std::optional<EventKind> event_kind_from_name(std::string_view name);

struct EventRecord {
  std::uint64_t number = 0;  // from 1
  TimePoint at{};
  EventKind what = EventKind::put;
  TaskId id = {};
  std::string queue = {};
  std::string type = {};
  std::string client_id = {};
  TaskState state = TaskState::queued;  // after it; of a removed task: before it
  std::string worker = {};              // taken
  std::string error_code = {};          // failed, dead, retrying
  std::optional<double> progress = std::nullopt;

  friend bool operator==(const EventRecord&, const EventRecord&) = default;
};

// Kinds of events as bits: that of `what` is 1 << what.
using EventKinds = std::uint32_t;
static_assert(event_kind_count <= 32);
constexpr EventKinds bit_of(EventKind what) {
  return EventKinds{1} << static_cast<unsigned>(what);
}
inline constexpr EventKinds all_event_kinds = (EventKinds{1} << event_kind_count) - 1;

// With nothing set: everything except what happens in internal queues (`$...`), which must be
// named.
struct EventFilter {
  std::optional<std::string> queue = std::nullopt;
  std::optional<std::string> type = std::nullopt;
  std::optional<std::string> client_id = std::nullopt;
  std::optional<TaskId> id = std::nullopt;
  EventKinds kinds = all_event_kinds;
  // Whether the caller may see events of this queue; empty: of every queue. Called under the lock
  // of the ring, so it must be quick.
  std::function<bool(std::string_view queue)> allowed = {};
};

struct EventPage {
  std::vector<EventRecord> events = {};  // oldest first
  std::uint64_t next = 0;                // continue after this one
  bool reset = false;  // some are gone, or never existed: the page begins after the gap
};

struct EventRingOptions {
  std::size_t events = 65'536;
  // Includes the names; if these are long, the ring holds fewer events.
  std::size_t bytes = 12'582'912;
};

// Any thread.
class EventRing {
 public:
  explicit EventRing(std::uint64_t boot, const EventRingOptions& options = {});
  EventRing(const EventRing&) = delete;
  EventRing& operator=(const EventRing&) = delete;

  // An event to be added: like EventRecord, but it only refers to names that the writer owns.
  struct NewEvent {
    TimePoint at{};
    EventKind what = EventKind::put;
    TaskState state = TaskState::queued;
    TaskId id = {};
    std::string_view queue = {};
    std::string_view type = {};
    std::string_view client_id = {};
    std::string_view worker = {};
    std::string_view error_code = {};
    std::optional<double> progress = std::nullopt;
  };

  // One lock for all events of a request; wakes the waiting readers when it ends.
  class SCOPED_CAPABILITY Writing {
   public:
    explicit Writing(EventRing& ring) ACQUIRE(ring.mutex_)
        : ring_(ring), lock_(ring.mutex_), next_(ring.next_) {}
    Writing(const Writing&) = delete;
    Writing& operator=(const Writing&) = delete;
    ~Writing() RELEASE();
    void add(const NewEvent& event) {
      ring_.mutex_.assert_held();
      ring_.add(event);
    }

   private:
    EventRing& ring_;
    Lock<Mutex> lock_;
    const std::uint64_t next_;
  };

  std::uint64_t boot() const { return boot_; }
  // The newest number; 0: nothing has happened yet.
  std::uint64_t last() const;

  // The events after `after` that match, oldest first. A reader that starts now passes last().
  // Writers wait meanwhile, so read a few thousand at a time.
  EventPage read(const EventFilter& filter, std::uint64_t after, std::size_t most_events,
                 std::size_t most_looked_at) const;

  // Calls `wake` once, from any thread, when there is something newer than `after`; if there
  // already is, before this returns. `wake` may only post. Returns a ticket for forget(); a call of
  // `wake` that was already on its way may still come after forget().
  std::uint64_t wait(std::uint64_t after, std::move_only_function<void()> wake);
  void forget(std::uint64_t ticket);
  std::size_t waiting() const;

 private:
  struct Head;
  struct Record;

  void add(const NewEvent& event) REQUIRES(mutex_);
  char* make_room(std::size_t size) REQUIRES(mutex_);
  std::size_t position(std::uint64_t number) const REQUIRES(mutex_) {
    return starts_[number % events_];
  }

  const std::uint64_t boot_;
  const std::size_t events_;
  const std::size_t size_;
  mutable Mutex mutex_{LockRank::events};
  // Records lie one after another in `bytes_`; at the end they start again, over the oldest ones.
  std::unique_ptr<char[]> bytes_ GUARDED_BY(mutex_);
  std::unique_ptr<std::size_t[]> starts_ GUARDED_BY(mutex_);  // of event n at n mod events_
  std::size_t end_ GUARDED_BY(mutex_) = 0;                    // of the newest record
  std::uint64_t first_ GUARDED_BY(mutex_) = 1;                // the oldest that is there
  std::uint64_t next_ GUARDED_BY(mutex_) = 1;                 // the number to be given next
  std::uint64_t last_ticket_ GUARDED_BY(mutex_) = 0;
  std::vector<std::pair<std::uint64_t, std::move_only_function<void()>>> waiting_
      GUARDED_BY(mutex_);
};

}  // namespace millrace
