// What a broker must look at now and then because other processes share its store, or because the
// store may have been away: the clock, the internal queues, the settings of all queues.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>

#include "broker/books.h"
#include "broker/service.h"
#include "broker/store_clock.h"
#include "core/values.h"
#include "store/fwd.h"

namespace millrace {

class SharedRefresh final : public Service {
 public:
  SharedRefresh(Books& books, StoreClock& clock) : books_(books), clock_(clock) {}

  // Runs first when the broker opens the store, then every few seconds and at every hint.
  Result<TimePoint> run_once(Store& store, TimePoint now) override;
  // Queues that seemed to be created may not exist.
  void unsure(const Error& /*why*/) override { made_ = false; }

 private:
  Result<void> make_internal_queues(Store& store, TimePoint now);

  Books& books_;
  StoreClock& clock_;
  bool made_ = false;
};

}  // namespace millrace
