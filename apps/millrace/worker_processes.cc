#include "apps/millrace/worker_processes.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "core/time_text.h"

namespace millrace {

std::size_t processes_of(const config::Settings& settings) {
  if (settings.processes != 0) return settings.processes;
  return std::max(1U, std::max(1U, std::thread::hardware_concurrency()) - 1);
}

SupervisorOptions worker_processes(const config::Config& config, const std::string& server,
                                   const std::string& key, Log log) {
  const config::Settings& settings = config.settings;
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return {.command = {error ? "/proc/self/exe" : program.string(), "serve", "--role", "worker",
                      "--server", server, "--config", config.file, "--log-level",
                      settings.log_level, "--log-format", settings.log_format, "--shutdown-timeout",
                      format_duration(settings.shutdown_timeout)},
          // Keys are not passed as arguments, which every user of the machine could read.
          .environment = {{"MILLRACE_SERVER_KEY", key},
                          {"MILLRACE_KEY", key},
                          {"MILLRACE_ADMIN_KEY", ""},
                          {"MILLRACE_ROLE", "worker"}},
          .log = std::move(log)};
}

}  // namespace millrace
