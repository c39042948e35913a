#include "apps/millrace/work.h"

#include <chrono>

#include "log/log_writer.h"
#include "process/signals.h"
#include "process/supervisor.h"

namespace millrace {
namespace {

constexpr Duration log_patience = std::chrono::seconds(5);  // for whoever reads the log

cli::Exit work_and_log(const cli::WorkerProgram& program, const ServeContext& context,
                       const LogOptions& options) {
  Signals signals;
  stop_with_supervisor();
  LogWriter writer(context.clock, options, write_to_standard_error);
  const cli::Exit exit = cli::run_worker(program, context.clock, signals, writer.log());
  writer.stop(log_patience);
  return exit;
}

}  // namespace

cli::Exit work(const cli::WorkerProgram& program, const ServeContext& context) {
  return work_and_log(program, context, {.colours = context.colours});
}

cli::Exit serve_as_worker(const config::Config& config, const ServeContext& context) {
  const config::Settings& settings = config.settings;
  const cli::WorkerProgram program{
      .server = settings.server,
      .key = settings.server_key,
      .handlers = config.handlers,
      .version = context.version,
      .shutdown_timeout = settings.shutdown_timeout,
      .shutdown_timeout_exit = static_cast<cli::Exit>(settings.shutdown_timeout_exit_code)};
  const bool text = settings.log_format == "text";
  return work_and_log(program, context,
                      {.least = config::log_level_of(settings),
                       .format = text ? LogFormat::text : LogFormat::json,
                       .colours = context.colours});
}

}  // namespace millrace
