// The worker processes of a server: `millrace serve --role worker` for its own [handlers].
#pragma once

#include <string>

#include "config/config.h"
#include "core/clock.h"
#include "core/log.h"
#include "process/supervisor.h"

namespace millrace {

// How many there are by default: one less than there are cores, and one at least (S0-139).
std::size_t processes_of(const config::Settings& settings);

// What runs them. They come in at `server` with `key`.
SupervisorOptions worker_processes(const config::Config& config, const std::string& server,
                                   const std::string& key, Log log);

}  // namespace millrace
