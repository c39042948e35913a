// The settings of a server as flags, and what comes of them.
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

// --config and every setting but the secret ones, which anybody who lists processes could read.
void takes_settings(Command& command, ConfigOptions& options);
// --config and --store.
void takes_store(Command& command, ConfigOptions& options);

// Says what is wrong, if anything is; nullopt then.
std::optional<config::Config> load_config(const ConfigOptions& options, Surroundings& with,
                                          Console& console);

}  // namespace millrace::cli
