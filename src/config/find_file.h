// Where the settings file is.
#pragma once

#include <millrace/result.h>
#include <optional>
#include <span>
#include <string>

#include "config/config.h"

namespace millrace::config {

// ./millrace.toml, /etc/millrace/millrace.toml
std::span<const std::string> usual_places();

// The file named by --config, else by MILLRACE_CONFIG, which must exist; else the first of `places`
// that exists; else none.
Result<std::optional<File>> find_file(const std::string& flag, const std::string& variable,
                                      std::span<const std::string> places);

}  // namespace millrace::config
