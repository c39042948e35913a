// The timer of tasks: promotes what is due, prunes what is old, and settles leases whose holder was
// lost and waits that lasted too long.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "broker/books.h"
#include "broker/recorder.h"
#include "broker/service.h"
#include "core/clock.h"
#include "core/values.h"
#include "store/fwd.h"

namespace millrace {

// Whether an overdue lease may be called lost. Not in the first 30 s, because workers that ran
// through a restart could not extend their leases; and not for 30 s after the clock was set, the
// machine slept, this process stood still or its store was away.
class LossGuard {
 public:
  explicit LossGuard(Clock& clock);
  // To be called about once per second, as long as the store is there.
  bool may_lose();
  // By how much the clock was set back before the last call of may_lose(); zero: it was not.
  Duration set_back() const { return set_back_; }
  // What the clock showed in that call.
  TimePoint shown() const { return wall_; }

 private:
  Clock& clock_;
  TimePoint wall_;
  std::chrono::nanoseconds steady_;
  std::chrono::nanoseconds calm_from_;
  Duration set_back_{};
};

class Sweeper final : public Service {
 public:
  // `jumps`: time is moved by hand from one due moment to the next. Then no process stands still,
  // and there is nothing to look at in between.
  Sweeper(Clock& clock, Books& books, bool jumps) : books_(books), guard_(clock), jumps_(jumps) {}

  Result<TimePoint> run_once(Store& store, TimePoint now) override;
  void stored() override { pending_records_.record(books_); }
  void unsure(const Error& /*why*/) override { pending_records_.drop(); }

  // Before the first run: the clock may have been set back while no server ran. Then the newest
  // task was stored in the future.
  void look_at_newest(Reader& reader, TimePoint now) const;

  // Called when a sweep has ended a task that a caller waits for.
  std::function<void()> on_awaited = {};
  // Called once for each time that the clock was set back, with a sentence about it.
  std::function<void(const std::string& what, TimePoint now)> on_set_back = {};

 private:
  // Settles what is overdue; true if more may be.
  Result<bool> settle_overdue(Store& store, TimePoint now);
  void refused(const Overdue& overdue, const Error& error);
  void tell_set_back(Duration by, TimePoint to) const;
  void note(const Overdue& overdue, const Settlement& settlement, const Settled& settled,
            TimePoint now);
  Result<Settlement> decide(Store& store, const Overdue& overdue, TimePoint now);

  Books& books_;
  PendingRecords pending_records_;
  LossGuard guard_;
  const bool jumps_;
};

}  // namespace millrace
