// Where time comes from. No other part of Millrace asks the system for it: moments are read once
// per unit of work and passed down.
#pragma once

#include <millrace/time.h>
#include <atomic>
#include <chrono>

namespace millrace {

class Clock {
 public:
  virtual ~Clock() = default;

  // Wall time. May jump, also backwards, when an operator or NTP sets the machine's clock.
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

// Stands still until told otherwise. Thread-safe.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(TimePoint start = TimePoint{});
  TimePoint now() override;
  std::chrono::nanoseconds steady() override;

  // Time passes: wall and steady time advance together. Not negative.
  void advance(Duration by);

  // Sets the wall clock, forwards or backwards; steady time does not change.
  void set(TimePoint now);

 private:
  std::atomic<Duration::rep> wall_ms_;
  std::atomic<std::chrono::nanoseconds::rep> steady_ns_ = 0;
};

}  // namespace millrace
