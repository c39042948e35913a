// A process that works for a server, or on a database: `millrace work`, and `millrace serve --role
// worker`.
#pragma once

#include <millrace/time.h>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "broker/broker.h"
#include "cli/cli.h"
#include "config/handlers.h"
#include "core/clock.h"
#include "core/log.h"
#include "outgoing/signature.h"
#include "process/signals.h"

namespace millrace::cli {

struct WorkerProgram {
  std::string server = {};
  bool on_store = false;     // `server` is the URL of a store that several processes share
  std::string key = {};      // empty: none
  std::string ca_file = {};  // empty: the system's authorities
  std::string name = {};     // empty: host and process
  std::vector<config::HandlerSettings> handlers = {};
  std::vector<outgoing::Secret> secrets = {};  // sign what HTTP handlers send, unless they have own
  std::uint32_t processors = 0;                // 0: as many as the handlers' concurrency together
  std::string version = {};
  Duration shutdown_timeout = std::chrono::seconds(30);  // zero: without limit
  Exit shutdown_timeout_exit = Exit::ok;
  bool until_empty = false;  // ends after a moment without tasks
  bool verbose = false;      // tells of every task, and shows what commands write to standard error
  // Where such lines go; may be empty. The process that runs the program sets it.
  std::function<void(std::string_view lines)> say = {};
};

// Works until a signal ends it. The broker is that of program.server.
Exit run_worker(const WorkerProgram& program, Broker& broker, Clock& clock, Signals& signals,
                const Log& log);

}  // namespace millrace::cli
