// Upkeep: what must be done from time to time, as a plain function of store and time.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>

#include "core/values.h"
#include "store/fwd.h"

namespace millrace {

class Service {
 public:
  virtual ~Service() = default;

  // Does a bounded piece of work, where rounds are applied, and returns when to run again: `now` or
  // earlier means at once, after other services had their turn.
  virtual Result<TimePoint> run_once(Store& store, TimePoint now) = 0;

  // What the last run did is stored, so it may be reported. Never at the same time as a run.
  virtual void stored() {}

  // The store is away, and the fate of the last run is unknown. The service will run again.
  virtual void unsure(const Error& /*why*/) {}

  // The store has failed, or the broker stops: nothing will be stored any more.
  virtual void failed(const Error& /*why*/) {}
};

}  // namespace millrace
