// The settings of a server as flags, and the settings in force.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "config/config.h"

namespace millrace::cli {

// Where settings come from, and those that were given as flags.
struct ConfigOptions {
  std::string file = {};  // --config
  std::vector<std::pair<std::string, std::string>> flags = {};
};

// --config and every setting but the secret ones, which every user who lists processes could read.
void takes_settings(Command& command, ConfigOptions& options);
// --config and --store.
void takes_store(Command& command, ConfigOptions& options);

// nullopt: prints what is wrong.
std::optional<config::Config> load_config(const ConfigOptions& options, Surroundings& with,
                                          Console& console);

}  // namespace millrace::cli
