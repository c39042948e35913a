// The `memory:` store: the state machine by itself. Everything is lost with the process.
#pragma once

#include <memory>

#include "core/values.h"
#include "store/fwd.h"

namespace millrace {

std::unique_ptr<Store> open_memory();

}  // namespace millrace
