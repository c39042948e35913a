// `millrace top` on a terminal: asks, draws and obeys keys until it is told to quit.
#pragma once

#include <millrace/time.h>

#include "cli/session.h"
#include "cli/top_state.h"

namespace millrace::cli {

// `first` is what the server has just said: it was there at least once.
Exit watch(Session& session, Duration every, TopFacts first);

}  // namespace millrace::cli
