#include <fmt/format.h>
#include <algorithm>

#include "cli/commands.h"
#include "config/find_file.h"

namespace millrace::cli {
namespace {

std::string variable(const Surroundings& with, std::string_view name) {
  const auto found =
      std::ranges::find(with.environment, name, &std::pair<std::string, std::string>::first);
  return found == with.environment.end() ? "" : found->second;
}

}  // namespace

std::optional<config::Config> load_config(const ConfigOptions& options, Surroundings& with,
                                          Console& console) {
  auto file =
      config::find_file(options.file, variable(with, "MILLRACE_CONFIG"), with.config_places);
  if (!file) {
    console.fail(file.error());
    return std::nullopt;
  }
  config::Config config = config::read_config(
      {.file = std::move(*file), .environment = with.environment, .flags = options.flags});
  for (const std::string& remark : config.remarks) console.warn(remark);
  for (const std::string& problem : config.problems) {
    console.fail({ErrorCode::invalid, problem});
  }
  if (!config.problems.empty()) return std::nullopt;
  return config;
}

Exit config_command(const ConfigOptions& options, Surroundings& with, Console& console) {
  const auto config = load_config(options, with, console);
  if (!config) return Exit::usage;
  std::string places;
  for (const std::string& each : with.config_places) {
    places += (places.empty() ? "" : " and ") + each;
  }
  console.say(config->file.empty() ? "no settings file; looked for " + places
                                   : "settings file: " + config->file);
  with.out << (options.toml ? config::as_toml(*config) : config::as_table(*config));
  return Exit::ok;
}

Exit serve_command(const ConfigOptions& options, Surroundings& with, Console& console) {
  const auto config = load_config(options, with, console);
  if (!config) return Exit::usage;
  return with.serve(*config);
}

}  // namespace millrace::cli
