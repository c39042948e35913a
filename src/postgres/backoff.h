// When to retry what failed because a server was not there.
#pragma once

#include <millrace/time.h>
#include <chrono>

namespace millrace::postgres {

// Has no clock and no source of random numbers; the caller passes both. Moments are those of
// Clock::steady().
class Backoff {
 public:
  struct Options {
    Duration first = std::chrono::milliseconds(100);
    Duration longest = std::chrono::seconds(5);
  };

  Backoff() : Backoff(Options()) {}
  explicit Backoff(Options options) : options_(options) {}

  // The pause doubles with each failure, up to the longest; `random` in [0, 1) picks a point in its
  // second half, so that many clients that lost the same server do not come back at once.
  void failed(std::chrono::nanoseconds now, double random);
  void succeeded();

  bool may_try(std::chrono::nanoseconds now) const { return now >= due_; }
  // How long until the next try is allowed; zero: now.
  std::chrono::nanoseconds wait(std::chrono::nanoseconds now) const;
  unsigned failures() const { return failures_; }  // in a row

 private:
  Options options_;
  unsigned failures_ = 0;
  std::chrono::nanoseconds due_ = std::chrono::nanoseconds::min();
};

}  // namespace millrace::postgres
