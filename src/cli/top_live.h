// `millrace top` on a terminal: asks, draws and handles keys until the user quits.
#pragma once

#include <millrace/time.h>

#include "cli/session.h"
#include "cli/top_state.h"

namespace millrace::cli {

// `first` is the server's latest answer: it has answered at least once.
Exit watch(Session& session, Duration every, TopFacts first);

}  // namespace millrace::cli
