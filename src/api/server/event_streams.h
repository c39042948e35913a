// Streams of events (server-sent events) over the ring of a broker.
//
// A stream is pulled: it reads the ring when its connection asks for more, on the connection's own
// thread, and keeps nothing but a place in the ring. So a slow reader costs nothing, and loses what
// the ring forgets. A reader that would get more than 500 events per second is told how many were
// passed over, and goes on with the newest.
//
// Time passes with tick(): every 15 s without news a stream says that it is alive, and a stream
// that has just read rests for a moment, so that busy queues are read in pieces and not event by
// event.
#pragma once

#include <millrace/time.h>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "api/server/http.h"
#include "broker/events.h"
#include "core/clock.h"
#include "core/mutex.h"

namespace millrace::api {

struct EventStreamsOptions {
  std::size_t most = 1000;                // streams at the same time
  std::uint32_t events_per_second = 500;  // per stream
  Duration beat = std::chrono::seconds(15);
  Duration rest = std::chrono::milliseconds(50);
  bool keep_time = true;  // calls tick() by itself
};

struct EventRequest {
  EventFilter filter = {};
  std::optional<std::uint64_t> after = std::nullopt;  // nothing: what happens from now on
  bool reset = false;                   // the reader's last event came from another broker
  std::uint32_t events_per_second = 0;  // a lower limit for this stream; 0: the usual one
  // Called before anything is sent; false ends the stream. Empty: always allowed.
  std::function<bool()> still_allowed = {};
};

class EventStream;

class EventStreams {
 public:
  // The clock must outlive this, and this must outlive all streams.
  explicit EventStreams(Clock& clock, const EventStreamsOptions& options = {});
  ~EventStreams();
  EventStreams(const EventStreams&) = delete;
  EventStreams& operator=(const EventStreams&) = delete;

  // nullptr: there are as many streams as allowed. The ring must outlive the stream.
  std::unique_ptr<PushStream> open(EventRing& ring, EventRequest request);

  // Wakes streams whose rest is over, and streams that have been silent for too long.
  void tick();

  std::size_t count() const { return count_; }
  std::uint64_t sent() const { return sent_; }
  std::uint64_t skipped() const { return skipped_; }

 private:
  friend class EventStream;
  void keep_time();

  Clock& clock_;
  const EventStreamsOptions options_;
  std::atomic<std::size_t> count_ = 0;
  std::atomic<std::uint64_t> sent_ = 0;
  std::atomic<std::uint64_t> skipped_ = 0;

  Mutex mutex_;
  std::vector<std::weak_ptr<EventStream>> streams_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  Condition changed_;
  std::thread thread_;  // from the first stream on
};

}  // namespace millrace::api
