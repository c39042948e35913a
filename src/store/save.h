// The last thing done to a store before it is closed.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>

#include "core/values.h"
#include "store/fwd.h"

namespace millrace {

// Makes everything durable now, even in a store that otherwise saves itself at intervals.
Result<void> save(Store& store, TimePoint now);

}  // namespace millrace
