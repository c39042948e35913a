// What happened in each queue since the broker started: counters, means, rates of the last minute.
#pragma once

#include <millrace/ids.h>
#include <millrace/queue.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "broker/broker.h"
#include "core/rate_window.h"

namespace millrace {

// How many a second, over the last minute.
class MinuteRate {
 public:
  void add(TimePoint now, std::uint32_t n);
  // `since` is when counting began: a young counter has less than a minute to divide by.
  double a_second(TimePoint now, TimePoint since) const;

 private:
  static constexpr std::int64_t seconds = 60;
  std::array<std::uint32_t, seconds> counts_ = {};  // second s is at s mod 60
  std::int64_t newest_ = 0;
};

// Sums of seconds.
struct Mean {
  double sum = 0;
  std::uint64_t count = 0;

  // A negative one (clocks!) counts as nothing.
  void add(Duration duration) {
    sum += duration > Duration::zero() ? std::chrono::duration<double>(duration).count() : 0;
    ++count;
  }
  double value() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
};

// Of one queue.
class Tally {
 public:
  explicit Tally(TimePoint since) { figures_.since = since; }

  void put(std::uint32_t n, TimePoint now);
  void asked(TimePoint now) { figures_.last_asked = now; }
  // `waited` from ready to taken.
  void taken(Duration waited, TimePoint now);
  // Where the queue has a rate, the window of the store is mirrored here.
  void used(const Rate& rate, std::uint32_t n, TimePoint now) { window_.add(rate, now, n); }
  // A run ended with this event, after so long; a wait that ended has no run.
  void ended(Event event, std::optional<Duration> run, TimePoint now);

  QueueFigures figures(TimePoint now) const;
  const RateWindow& window() const { return window_; }

 private:
  QueueFigures figures_;
  Mean run_;
  Mean wait_;
  MinuteRate puts_;
  MinuteRate takes_;
  MinuteRate finishes_;
  RateWindow window_;
};

class Figures {
 public:
  explicit Figures(TimePoint started) : started_(started) {}
  TimePoint started() const { return started_; }

  // One lock for all that a request brings.
  class Writing {
   public:
    explicit Writing(Figures& figures) : figures_(figures), lock_(figures.mutex_) {}
    Tally& of(std::string_view queue);

   private:
    Figures& figures_;
    std::scoped_lock<std::mutex> lock_;
    std::string_view last_name_ = {};
    Tally* last_ = nullptr;
  };

  QueueFigures of(std::string_view queue, TimePoint now);
  RateWindow window(std::string_view queue);
  void forget(std::string_view queue);

 private:
  const TimePoint started_;
  std::mutex mutex_;
  std::map<std::string, Tally, std::less<>> tallies_;
  Tally others_{started_};
};

}  // namespace millrace
