#include "core/clock.h"

namespace millrace {

SystemClock::SystemClock() : started_(std::chrono::steady_clock::now()) {}

TimePoint SystemClock::now() {
  return std::chrono::floor<Duration>(std::chrono::system_clock::now());
}

std::chrono::nanoseconds SystemClock::steady() {
  return std::chrono::steady_clock::now() - started_;
}

ManualClock::ManualClock(TimePoint start) : wall_ms_(start.time_since_epoch().count()) {}

TimePoint ManualClock::now() {
  return TimePoint(Duration(wall_ms_.load()));
}

std::chrono::nanoseconds ManualClock::steady() {
  return std::chrono::nanoseconds(steady_ns_.load());
}

void ManualClock::advance(Duration by) {
  wall_ms_ += by.count();
  steady_ns_ += std::chrono::nanoseconds(by).count();
}

void ManualClock::set(TimePoint now) {
  wall_ms_ = now.time_since_epoch().count();
}

}  // namespace millrace
