// Where time comes from. Nothing else in Millrace asks the system for it: moments are read once a
// unit of work and passed down.
#pragma once

#include <millrace/time.h>
#include <atomic>
#include <chrono>

namespace millrace {

class Clock {
 public:
  virtual ~Clock() = default;

  // Wall time. May jump, also back, when somebody sets the machine's clock.
  virtual TimePoint now() = 0;

  // Time since this clock was made; never jumps and never goes back.
  virtual std::chrono::nanoseconds steady() = 0;
};

// The machine's own. Safe to use from several threads.
class SystemClock final : public Clock {
 public:
  SystemClock();
  TimePoint now() override;
  std::chrono::nanoseconds steady() override;

 private:
  std::chrono::steady_clock::time_point started_;
};

// Stands still until told otherwise. Safe to use from several threads.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(TimePoint start = TimePoint{});
  TimePoint now() override;
  std::chrono::nanoseconds steady() override;

  // Time passes: wall and steady time go on together. Not negative.
  void advance(Duration by);

  // Somebody sets the wall clock, forward or back; steady time does not notice.
  void set(TimePoint now);

 private:
  std::atomic<Duration::rep> wall_ms_;
  std::atomic<std::chrono::nanoseconds::rep> steady_ns_ = 0;
};

}  // namespace millrace
