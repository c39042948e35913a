// The broker's clock: the machine's own or, over a store that several processes share, one that
// follows the store's. So all of them agree on when a lease ends, whatever their machines' clocks
// say.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <atomic>
#include <chrono>

#include "core/clock.h"
#include "core/values.h"
#include "store/fwd.h"

namespace millrace {

// Safe to use from several threads.
class StoreClock final : public Clock {
 public:
  // The clock must outlive this.
  explicit StoreClock(Clock& machine) : machine_(machine) {}

  TimePoint now() override { return machine_.now() + offset(); }
  std::chrono::nanoseconds steady() override { return machine_.steady(); }

  // Asks the store for the time. A store without a clock changes nothing.
  Result<void> follow(Store& store);

  // By how much the store is ahead of the machine.
  Duration offset() const { return Duration(offset_.load(std::memory_order_relaxed)); }

 private:
  Clock& machine_;
  std::atomic<Duration::rep> offset_ = 0;
};

}  // namespace millrace
