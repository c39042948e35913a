// `millrace serve`: a store, a broker over it, the API over that, and a listener.
#pragma once

#include <string>

#include "cli/cli.h"
#include "config/config.h"
#include "core/clock.h"

namespace millrace {

struct ServeContext {
  Clock& clock;
  std::string version = {};
  bool colours = false;
};

// Serves until a signal or a failed store ends it.
cli::Exit serve(const config::Config& config, const ServeContext& context);

}  // namespace millrace
