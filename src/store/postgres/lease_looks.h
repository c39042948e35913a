// Where a look for leases that have ended begins: what ended before was looked at already.
//
// A call that leases may take long to commit, and its leases may have ended by then. So it is
// looked back far enough for the longest call; but where that has become dear, because an old
// snapshot keeps every lease of the last minute from being forgotten, only now and then.
#pragma once

#include <millrace/time.h>
#include <chrono>

#include "core/time_text.h"
#include "store/postgres/pace.h"

namespace millrace::store_postgres {

class LeaseLooks {
 public:
  // Leases that end after this are to be looked for.
  TimePoint begin(TimePoint now, std::chrono::nanoseconds steady) {
    began_ = steady;
    long_look_ = now < none_due_ || pace_.may_begin(steady);
    if (now < none_due_) return first_time;  // the clock was put back
    if (long_look_) return later(none_at_all_, -longest_call);
    // Where none was ever finished, those that end from now on must not wait for it.
    return none_due_ == first_time ? later(now, -longest_call) : later(none_due_, -usual_call);
  }
  // The look is over, and there was none.
  void none(TimePoint now, std::chrono::nanoseconds steady) {
    none_due_ = now;
    if (!long_look_) return;
    none_at_all_ = now;
    pace_.ended(began_, steady);
  }
  // It could not be finished, and would take as long again.
  void failed(std::chrono::nanoseconds steady) {
    if (long_look_) pace_.ended(began_, steady);
  }

 private:
  static constexpr Duration longest_call = std::chrono::minutes(1);
  static constexpr Duration usual_call = std::chrono::seconds(1);

  Pace pace_{std::chrono::nanoseconds::zero(), 100};
  bool long_look_ = false;
  std::chrono::nanoseconds began_ = {};
  TimePoint none_due_ = first_time;     // by the last look
  TimePoint none_at_all_ = first_time;  // by the last long one
};

}  // namespace millrace::store_postgres
