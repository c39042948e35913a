// `millrace work` and the role worker: a process that works for a server.
#pragma once

#include "apps/millrace/serve.h"
#include "cli/worker_program.h"
#include "config/config.h"

namespace millrace {

cli::Exit work(const cli::WorkerProgram& program, const ServeContext& context);

// Works with `role = worker` of the settings.
cli::Exit serve_as_worker(const config::Config& config, const ServeContext& context);

}  // namespace millrace
