#include "apps/millrace/work.h"

#include <chrono>
#include <cstdlib>
#include <utility>

#include "api/client/http_broker.h"
#include "app/open_broker.h"
#include "apps/millrace/serve_options.h"
#include "log/log_writer.h"
#include "process/signals.h"
#include "process/supervisor.h"
#include "store/store.h"

namespace millrace {
namespace {

constexpr Duration log_patience = std::chrono::seconds(5);  // for the reader of the log

// The name of a server must not be taken for a directory.
Result<Opened> open(const cli::WorkerProgram& program, Clock& clock, const Log& log) {
  if (program.on_store) return open_broker(clock, program.server, {.log = log});
  auto remote = HttpBroker::open(
      clock, {.url = program.server, .key = program.key, .ca_file = program.ca_file});
  if (!remote) return std::unexpected(std::move(remote.error()));
  Opened opened;
  opened.remote = std::move(*remote);
  return opened;
}

cli::Exit open_and_work(const cli::WorkerProgram& program, const ServeContext& context,
                        Signals& signals, const Log& log) {
  auto opened = open(program, context.clock, log);
  if (!opened) {
    log(LogLevel::error, opened.error().message);
    return opened.error().code == ErrorCode::invalid ? cli::Exit::usage : cli::Exit::failed;
  }
  const cli::Exit exit = cli::run_worker(program, opened->broker(), context.clock, signals, log);
  if (const auto closed = opened->close(context.clock.now()); !closed) {
    log(LogLevel::error, closed.error().message);
    return cli::Exit::failed;
  }
  return exit;
}

cli::Exit work_and_log(const cli::WorkerProgram& program, const ServeContext& context,
                       const LogOptions& options) {
  Signals signals;
  stop_with_supervisor();
  LogWriter writer(context.clock, options, write_to_standard_error);
  cli::WorkerProgram told = program;
  told.say = [&writer](std::string_view lines) { writer.plain(lines); };
  const cli::Exit exit = open_and_work(told, context, signals, writer.log());
  writer.stop(log_patience);
  return exit;
}

cli::Exit refuse(const Error& error, const ServeContext& context, const LogOptions& options) {
  LogWriter writer(context.clock, options, write_to_standard_error);
  writer.log()(LogLevel::error, error.message);
  writer.stop(log_patience);
  return cli::Exit::usage;
}

// The variable that other programs heed, too, is the last to be asked.
std::string ca_file_of(const config::Settings& settings) {
  const char* usual = std::getenv("SSL_CERT_FILE");
  return settings.ca_file.empty() && usual != nullptr ? usual : settings.ca_file;
}

}  // namespace

cli::Exit work(const cli::WorkerProgram& program, const ServeContext& context) {
  return work_and_log(program, context, {.colours = context.colours});
}

cli::Exit serve_as_worker(const config::Config& config, const ServeContext& context) {
  const config::Settings& settings = config.settings;
  cli::WorkerProgram program{
      .server = settings.server,
      .key = settings.server_key,
      .ca_file = ca_file_of(settings),
      .handlers = config.handlers,
      .version = context.version,
      .shutdown_timeout = settings.shutdown_timeout,
      .shutdown_timeout_exit = static_cast<cli::Exit>(settings.shutdown_timeout_exit_code)};
  const bool text = settings.log_format == "text";
  const LogOptions log{.least = config::log_level_of(settings),
                       .format = text ? LogFormat::text : LogFormat::json,
                       .colours = context.colours};
  auto secrets = webhook_secrets(settings);
  if (!secrets) return refuse(secrets.error(), context, log);
  program.secrets = std::move(*secrets);
  return work_and_log(program, context, log);
}

}  // namespace millrace
