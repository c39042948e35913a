// The worker processes of a server: `millrace serve --role worker` for its own [handlers].
#pragma once

#include <string>

#include "config/config.h"
#include "core/clock.h"
#include "core/log.h"
#include "process/supervisor.h"

namespace millrace {

// The default number: one fewer than there are cores, and at least one.
std::size_t processes_of(const config::Settings& settings);

// The options of their supervisor. They connect to `server` with `key`.
SupervisorOptions worker_processes(const config::Config& config, const std::string& server,
                                   const std::string& key, Log log);

}  // namespace millrace
