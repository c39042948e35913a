#include "broker/events.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "broker/queue_book.h"
#include "core/mutex.h"

namespace millrace {
namespace {

constexpr std::array<std::string_view, event_kind_count> names = {
    "put",     "taken",      "completed", "failed",    "dead",    "retrying",
    "snoozed", "given_back", "lost",      "cancelled", "expired", "cancel_requested",
    "retried", "released",   "changed",   "moved",     "removed", "progress",
    "parked"};

// Names have at most 255 bytes: core/limits.h. A longer one is cut.
std::uint8_t length_of(std::string_view name) {
  return static_cast<std::uint8_t>(
      std::min<std::size_t>(name.size(), std::numeric_limits<std::uint8_t>::max()));
}

}  // namespace

std::string_view name_of(EventKind what) {
  const auto place = static_cast<std::size_t>(what);
  return place < names.size() ? names[place] : "unknown";
}

std::optional<EventKind> event_kind_from_name(std::string_view name) {
  const auto* const found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<EventKind>(found - names.begin());
}

// What a record begins with. Its names follow, in this order.
struct EventRing::Head {
  TimePoint at;
  double progress;
  TaskId id;
  EventKind what;
  TaskState state;
  bool has_progress;
  std::uint8_t queue;
  std::uint8_t type;
  std::uint8_t client_id;
  std::uint8_t worker;
  std::uint8_t error_code;

  std::size_t size() const {
    const std::size_t bytes = sizeof(Head) + queue + type + client_id + worker + error_code;
    return (bytes + alignof(Head) - 1) / alignof(Head) * alignof(Head);
  }
};

EventRing::EventRing(std::uint64_t boot, const EventRingOptions& options)
    : boot_(boot),
      events_(std::max<std::size_t>(options.events, 1)),
      // Room for any event.
      size_(std::max<std::size_t>(options.bytes, 4096) / alignof(Head) * alignof(Head)),
      // Not touched before it is used.
      bytes_(std::make_unique_for_overwrite<char[]>(size_)),
      starts_(std::make_unique_for_overwrite<std::size_t[]>(events_)) {}

// Makes room for a record of this size; the records that were there are forgotten.
char* EventRing::make_room(std::size_t size) {
  if (next_ - first_ == events_) ++first_;
  std::size_t start = end_;
  if (start + size > size_) {
    // The records between here and the end of the bytes are the oldest.
    while (first_ != next_ && position(first_) >= start) ++first_;
    start = 0;
  }
  while (first_ != next_ && position(first_) >= start && position(first_) < start + size) ++first_;
  starts_[next_ % events_] = start;
  end_ = start + size;
  ++next_;
  return bytes_.get() + start;
}

void EventRing::add(const NewEvent& event) {
  const Head head{.at = event.at,
                  .progress = event.progress.value_or(0),
                  .id = event.id,
                  .what = event.what,
                  .state = event.state,
                  .has_progress = event.progress.has_value(),
                  .queue = length_of(event.queue),
                  .type = length_of(event.type),
                  .client_id = length_of(event.client_id),
                  .worker = length_of(event.worker),
                  .error_code = length_of(event.error_code)};
  char* to = make_room(head.size());
  const auto write = [&](const void* from, std::size_t size) {
    if (size != 0) std::memcpy(to, from, size);
    to += size;
  };
  write(&head, sizeof(head));
  write(event.queue.data(), head.queue);
  write(event.type.data(), head.type);
  write(event.client_id.data(), head.client_id);
  write(event.worker.data(), head.worker);
  write(event.error_code.data(), head.error_code);
}

// Wakes readers outside the lock, and only if something was added.
EventRing::Writing::~Writing() {
  if (ring_.waiting_.empty() || ring_.next_ == next_) return;
  auto wakes = std::exchange(ring_.waiting_, {});
  lock_.unlock();
  for (auto& [ticket, wake] : wakes) wake();
}

std::uint64_t EventRing::last() const {
  const Lock lock(mutex_);
  return next_ - 1;
}

// The record of an event, read in place.
struct EventRing::Record {
  Head head;
  std::string_view queue;
  std::string_view type;
  std::string_view client_id;
  std::string_view worker;
  std::string_view error_code;

  explicit Record(const char* from) {
    std::memcpy(&head, from, sizeof(head));
    from += sizeof(head);
    const auto name = [&](std::uint8_t length) {
      return std::string_view(std::exchange(from, from + length), length);
    };
    queue = name(head.queue);
    type = name(head.type);
    client_id = name(head.client_id);
    worker = name(head.worker);
    error_code = name(head.error_code);
  }

  bool fits(const EventFilter& filter) const {
    if ((filter.kinds & bit_of(head.what)) == 0) return false;
    if (filter.id && head.id != *filter.id) return false;
    if (filter.queue) {
      if (queue != *filter.queue) return false;
    } else if (is_internal(queue)) {
      return false;
    }
    if (filter.type && type != *filter.type) return false;
    if (filter.client_id && client_id != *filter.client_id) return false;
    return !filter.allowed || filter.allowed(queue);
  }

  EventRecord event(std::uint64_t number) const {
    return {.number = number,
            .at = head.at,
            .what = head.what,
            .id = head.id,
            .queue = std::string(queue),
            .type = std::string(type),
            .client_id = std::string(client_id),
            .state = head.state,
            .worker = std::string(worker),
            .error_code = std::string(error_code),
            .progress = head.has_progress ? std::optional(head.progress) : std::nullopt};
  }
};

EventPage EventRing::read(const EventFilter& filter, std::uint64_t after, std::size_t most_events,
                          std::size_t most_looked_at) const {
  const Lock lock(mutex_);
  EventPage page{.next = after};
  if (after >= next_) {  // never given out: of another broker, or made up
    page.reset = true;
    page.next = next_ - 1;
    return page;
  }
  if (after + 1 < first_) {
    page.reset = true;
    page.next = first_ - 1;
  }
  for (std::size_t i = 0; i < most_looked_at && page.next + 1 < next_; ++i) {
    if (page.events.size() >= most_events) break;
    const std::uint64_t number = ++page.next;
    const Record record(bytes_.get() + position(number));
    if (record.fits(filter)) page.events.push_back(record.event(number));
  }
  return page;
}

std::uint64_t EventRing::wait(std::uint64_t after, std::move_only_function<void()> wake) {
  {
    const Lock lock(mutex_);
    if (after + 1 == next_) {
      waiting_.emplace_back(++last_ticket_, std::move(wake));
      return last_ticket_;
    }
  }
  wake();
  return 0;
}

void EventRing::forget(std::uint64_t ticket) {
  std::move_only_function<void()> gone;  // destroyed without the lock
  const Lock lock(mutex_);
  const auto found = std::ranges::find(waiting_, ticket, &decltype(waiting_)::value_type::first);
  if (found == waiting_.end()) return;
  gone = std::move(found->second);
  waiting_.erase(found);
}

std::size_t EventRing::waiting() const {
  const Lock lock(mutex_);
  return waiting_.size();
}

}  // namespace millrace
