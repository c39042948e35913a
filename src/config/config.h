// The settings in force, and where each value came from: built-in defaults, then the file, then the
// environment, then flags; later ones override earlier ones. Nothing here reads files or the
// environment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/handlers.h"
#include "config/settings.h"

namespace millrace::config {

struct File {
  std::string name = {};
  std::string text = {};

  friend bool operator==(const File&, const File&) = default;
};

struct Sources {
  std::optional<File> file = std::nullopt;
  // All variables; those that do not begin with MILLRACE_ are ignored.
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::vector<std::pair<std::string, std::string>> flags = {};  // key (not flag) and value
};

enum class From : std::uint8_t { built_in, file, environment, flag };

struct Origin {
  From from = From::built_in;
  std::string where = "default";  // millrace.toml:3, MILLRACE_LISTEN, --listen

  friend bool operator==(const Origin&, const Origin&) = default;
};

struct Config {
  std::string file = {};  // the one that was read; empty: none
  Settings settings = {};
  std::vector<Origin> origins = {};  // one for each of all_settings()
  std::vector<HandlerSettings> handlers = {};
  std::vector<std::string> problems = {};  // empty: the settings can be used
  std::vector<std::string> remarks = {};   // worth knowing, not wrong
};

// Reads everything, so that all problems are reported at once.
Config read_config(const Sources& sources);

// Key, value and origin in columns; secrets are not shown.
std::string as_table(const Config& config);

// A file with every setting, its help and its value; defaults are commented out. Secrets are left
// out.
std::string as_toml(const Config& config);

}  // namespace millrace::config
