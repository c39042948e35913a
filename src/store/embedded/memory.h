// The `memory:` store: the state machine by itself. Everything is lost with the process.
#pragma once

#include <memory>

#include "store/store.h"

namespace millrace {

std::unique_ptr<Store> open_memory();

}  // namespace millrace
