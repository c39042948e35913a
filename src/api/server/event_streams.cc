#include "api/server/event_streams.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "api/wire/events.h"
#include "core/mutex.h"
#include "core/rate_window.h"

namespace millrace::api {
namespace {

// Writers wait while the ring is read, so each read is short.
constexpr std::size_t looked_at_once = 1024;
// All streams together may look at looks_of_all events per second; each may look at least_looks in
// any case.
constexpr std::size_t looks_of_all = 400'000;
constexpr std::size_t least_looks = 2'000;
constexpr auto second = std::chrono::seconds(1);
constexpr std::string_view reconnect_after = "retry: 2000\n";

}  // namespace

// more() is called by the connection, one call after another; everything else from any thread.
class EventStream final : public std::enable_shared_from_this<EventStream> {
 public:
  EventStream(EventStreams& all, EventRing& ring, EventRequest request)
      : all_(all),
        ring_(ring),
        request_(std::move(request)),
        position_(request_.after.value_or(ring.last())),
        last_sent_(all.clock_.steady()) {
    if (request_.reset) position_ = ring.last();
  }

  void more(PushStream::Done done) {
    const auto now = all_.clock_.steady();
    if (request_.still_allowed && !request_.still_allowed()) return done({}, true);
    std::string text;
    if (!greeted_) {
      greeted_ = true;
      text = greeting();
    } else if (now >= resting_until_) {
      text = news(now);
      if (text.empty() && now - last_sent_ >= all_.options_.beat) {
        text = fmt::format(":\nid: {}\n\n", id());
      }
    }
    if (!text.empty()) last_sent_ = now;
    if (!text.empty() || (behind_ && now >= resting_until_)) return done(std::move(text), false);
    park(std::move(done), now);
  }

  // The ring has something new, or it is time.
  void wake() { resume(false, {}); }
  void tick(std::chrono::nanoseconds now) { resume(true, now); }

  // Its connection has ended.
  void close() {
    PushStream::Done done;
    std::uint64_t ticket = 0;
    {
      const Lock lock(mutex_);
      closed_ = true;
      done = std::move(parked_);
      parked_ = {};
      ticket = std::exchange(ticket_, 0);
    }
    if (ticket != 0) ring_.forget(ticket);
    --all_.count_;
  }

 private:
  std::string id() const { return wire::event_id(ring_.boot(), position_); }

  std::string greeting() {
    std::string text = fmt::format(": millrace\n{}id: {}\n\n", reconnect_after, id());
    if (request_.reset) append_reset(text);
    return text;
  }
  void append_reset(std::string& text) const {
    fmt::format_to(std::back_inserter(text), "id: {}\nevent: reset\ndata: {{}}\n\n", id());
  }

  // What can be sent now; may be nothing.
  std::string news(std::chrono::nanoseconds now) {
    if (now - second_began_ >= second) second_began_ = now, looked_ = 0;
    std::string text;
    const std::uint64_t before = position_;
    const std::size_t room = window_.room(rate(), moment(now));
    const std::uint64_t last = ring_.last();
    // If no event may be sent now, none is read.
    EventPage page{.next = std::max(position_, last)};
    if (room == 0) {
      pass_over(page.next - before);
    } else {
      page = ring_.read(request_.filter, position_, std::min(room, looked_at_once), looked_at_once);
    }
    if (page.reset && read_before_) {
      // The stream fell behind by more than the ring holds, and would do so again.
      pass_over(last > before ? last - before : 0);
      position_ = last;
      page.events.clear();
    } else {
      position_ = page.next;
      if (page.reset) append_reset(text);
    }
    read_before_ = true;
    append(text, page.events, now);
    append_skipped(text, now);
    const std::uint64_t looked = position_ - std::min(before, position_);
    if (room != 0) looked_ += looked;
    behind_ = position_ < last;
    const std::size_t budget =
        std::max(looks_of_all / std::max<std::size_t>(all_.count_, 1), least_looks);
    if (!behind_ && looked > 0) resting_until_ = now + all_.options_.rest;
    if (behind_ && looked_ > budget) resting_until_ = second_began_ + second;
    return text;
  }

  Rate rate() const {
    const std::uint32_t most = all_.options_.events_per_second;
    const std::uint32_t wanted = request_.events_per_second;
    return {.max = wanted == 0 ? most : std::min(wanted, most), .per = second};
  }
  static TimePoint moment(std::chrono::nanoseconds now) {
    return TimePoint(std::chrono::duration_cast<Duration>(now));
  }

  void append(std::string& text, const std::vector<EventRecord>& events,
              std::chrono::nanoseconds now) {
    if (events.empty()) return;
    for (const EventRecord& event : events) wire::append_event(text, ring_.boot(), event);
    window_.add(rate(), moment(now), static_cast<std::uint32_t>(events.size()));
    all_.sent_ += events.size();
  }

  void pass_over(std::uint64_t count) {
    skipped_ += count;
    all_.skipped_ += count;
  }

  // Once a second is enough.
  void append_skipped(std::string& text, std::chrono::nanoseconds now) {
    if (skipped_ == 0 || now - skipped_sent_ < second) return;
    fmt::format_to(std::back_inserter(text), "id: {}\nevent: skipped\ndata: {{\"count\":{}}}\n\n",
                   id(), std::exchange(skipped_, 0));
    skipped_sent_ = now;
  }

  void park(PushStream::Done done, std::chrono::nanoseconds now) {
    const bool resting = now < resting_until_ || skipped_ != 0;
    {
      const Lock lock(mutex_);
      if (closed_) return;
      parked_ = std::move(done);
      wake_at_ = last_sent_ + all_.options_.beat;
      if (now < resting_until_)
        wake_at_ = std::min<std::chrono::nanoseconds>(wake_at_, resting_until_);
      if (skipped_ != 0)
        wake_at_ = std::min<std::chrono::nanoseconds>(wake_at_, skipped_sent_ + second);
    }
    if (resting) return;
    // Not under the lock: it may be called before this returns.
    const std::uint64_t ticket = ring_.wait(position_, [weak = weak_from_this()] {
      if (const auto stream = weak.lock()) stream->wake();
    });
    const Lock lock(mutex_);
    if (parked_) ticket_ = ticket;
  }

  void resume(bool by_time, std::chrono::nanoseconds now) {
    PushStream::Done done;
    std::uint64_t ticket = 0;
    {
      const Lock lock(mutex_);
      if (!parked_ || (by_time && now < wake_at_)) return;
      done = std::move(parked_);
      parked_ = {};
      ticket = std::exchange(ticket_, 0);
      // Under the lock, so that close() waits for it: the ring may be gone afterwards.
      if (by_time && ticket != 0) ring_.forget(ticket);
    }
    done({}, false);  // the connection will ask again, on its own thread
  }

  EventStreams& all_;
  EventRing& ring_;
  const EventRequest request_;

  // Used by more() only.
  std::uint64_t position_;
  bool greeted_ = false;
  bool read_before_ = false;
  bool behind_ = false;  // there is more to look at
  std::chrono::nanoseconds resting_until_{0};
  std::chrono::nanoseconds last_sent_;  // when something was last sent
  std::chrono::nanoseconds second_began_{0};
  std::uint64_t looked_ = 0;  // events in that second
  RateWindow window_;
  std::uint64_t skipped_ = 0;  // events that were passed over and not yet reported
  std::chrono::nanoseconds skipped_sent_{-std::chrono::nanoseconds(second)};

  Mutex mutex_;
  PushStream::Done parked_ GUARDED_BY(mutex_);
  std::chrono::nanoseconds wake_at_ GUARDED_BY(mutex_){0};
  std::uint64_t ticket_ GUARDED_BY(mutex_) = 0;
  bool closed_ GUARDED_BY(mutex_) = false;
};

EventStreams::EventStreams(Clock& clock, const EventStreamsOptions& options)
    : clock_(clock), options_(options) {}

EventStreams::~EventStreams() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::unique_ptr<PushStream> EventStreams::open(EventRing& ring, EventRequest request) {
  if (++count_ > options_.most) {
    --count_;
    return nullptr;
  }
  auto stream = std::make_shared<EventStream>(*this, ring, std::move(request));
  {
    const Lock lock(mutex_);
    std::erase_if(streams_, [](const auto& one) { return one.expired(); });
    streams_.push_back(stream);
    if (options_.keep_time && !thread_.joinable()) thread_ = std::thread([this] { keep_time(); });
  }
  changed_.notify_all();
  // Destroying `more` ends the stream, even while another thread still holds it.
  std::shared_ptr<void> end(nullptr, [stream](void*) { stream->close(); });
  return std::make_unique<PushStream>(
      [stream, end = std::move(end)](PushStream::Done done) { stream->more(std::move(done)); },
      true);
}

void EventStreams::tick() {
  std::vector<std::shared_ptr<EventStream>> all;
  {
    const Lock lock(mutex_);
    for (const auto& one : streams_) {
      if (auto stream = one.lock()) all.push_back(std::move(stream));
    }
  }
  const auto now = clock_.steady();
  for (const auto& stream : all) stream->tick(now);
}

void EventStreams::keep_time() {
  Lock lock(mutex_);
  while (!stopping_) {
    // Without streams there is nothing to do until one is opened.
    if (count_ == 0) {
      changed_.wait(mutex_, [this]() REQUIRES(mutex_) { return stopping_ || count_ != 0; });
      continue;
    }
    changed_.wait_for(mutex_, options_.rest, [this]() REQUIRES(mutex_) { return stopping_; });
    if (stopping_) return;
    lock.unlock();
    tick();
    lock.lock();
  }
}

}  // namespace millrace::api
