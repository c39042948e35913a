// Where the scan for ended leases begins: the leases that ended before were already found.
//
// A call that takes leases may be slow to commit, and its leases may have ended by then. So the
// scan looks back far enough for the longest call. Where that has become expensive, because an old
// snapshot keeps the server from removing the leases of the last minute, it does so only at
// intervals.
#pragma once

#include <millrace/time.h>
#include <chrono>

#include "core/time_text.h"
#include "store/postgres/throttle.h"

namespace millrace::store_postgres {

class LeaseScan {
 public:
  // Leases that end after the result are to be looked for.
  TimePoint begin(TimePoint now, std::chrono::nanoseconds steady) {
    began_ = steady;
    long_scan_ = now < none_due_ || throttle_.may_begin(steady);
    if (now < none_due_) return first_time;  // the clock was set back
    if (long_scan_) return later(none_at_all_, -longest_call);
    // If no long scan was ever finished, leases that end from now on must not wait for one.
    return none_due_ == first_time ? later(now, -longest_call) : later(none_due_, -usual_call);
  }
  // The scan is over, and found no lease.
  void none(TimePoint now, std::chrono::nanoseconds steady) {
    none_due_ = now;
    if (!long_scan_) return;
    none_at_all_ = now;
    throttle_.ended(began_, steady);
  }
  // The scan could not be finished, and would take as long again.
  void failed(std::chrono::nanoseconds steady) {
    if (long_scan_) throttle_.ended(began_, steady);
  }

 private:
  static constexpr Duration longest_call = std::chrono::minutes(1);
  static constexpr Duration usual_call = std::chrono::seconds(1);

  Throttle throttle_{std::chrono::nanoseconds::zero(), 100};
  bool long_scan_ = false;
  std::chrono::nanoseconds began_ = {};
  TimePoint none_due_ = first_time;     // by the last scan
  TimePoint none_at_all_ = first_time;  // by the last long scan
};

}  // namespace millrace::store_postgres
