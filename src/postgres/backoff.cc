#include "postgres/backoff.h"

#include <algorithm>

namespace millrace::postgres {

void Backoff::failed(std::chrono::nanoseconds now, double random) {
  Duration pause = options_.first;
  for (unsigned i = 0; i < failures_ && pause < options_.longest; ++i) pause *= 2;
  pause = std::min(pause, options_.longest);
  ++failures_;
  const std::chrono::duration<double, std::milli> jittered = pause * (0.5 + random / 2);
  due_ = now + std::chrono::duration_cast<std::chrono::nanoseconds>(jittered);
}

void Backoff::succeeded() {
  failures_ = 0;
  due_ = std::chrono::nanoseconds::min();
}

std::chrono::nanoseconds Backoff::wait(std::chrono::nanoseconds now) const {
  return may_try(now) ? std::chrono::nanoseconds::zero() : due_ - now;
}

}  // namespace millrace::postgres
