// One function a command; cli.cc fills their options in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/cli.h"
#include "cli/console.h"

namespace millrace::cli {

struct ExportOptions {
  std::string source = {};
  std::string output = {};  // empty: standard output
  bool force = false;       // replace the output file
};

struct ImportOptions {
  std::string file = {};  // "-": standard input
  std::string target = {};
  std::string queue = "default";
};

// Where settings come from, and those that were given as flags.
struct ConfigOptions {
  std::string file = {};  // --config
  std::vector<std::pair<std::string, std::string>> flags = {};
  bool toml = false;
};

struct KeysOptions {
  ConfigOptions config = {};
  std::string name = {};
  std::vector<std::string> scopes = {};
  std::vector<std::string> queues = {};
  std::string expires = {};  // a moment or a duration
  std::string rate = {};
  std::string id = {};  // of the key to revoke
};

struct WorkOptions {
  std::string queue = {};
  std::vector<std::string> command = {};
  std::string server = {};    // empty: MILLRACE_URL, or this machine's
  std::string key_file = {};  // empty: MILLRACE_KEY
  std::string name = {};
  std::string concurrency = "1";
  std::string timeout = {};
  std::string grace = {};
  std::string memory = {};
  std::string directory = {};
  bool until_empty = false;
};

// Says what is wrong, if anything is; nullopt then.
std::optional<config::Config> load_config(const ConfigOptions& options, Surroundings& with,
                                          Console& console);

Exit serve_command(const ConfigOptions& options, Surroundings& with, Console& console);
Exit work_command(const WorkOptions& options, Surroundings& with, Console& console);
Exit config_command(const ConfigOptions& options, Surroundings& with, Console& console);
Exit create_key_command(const KeysOptions& options, Surroundings& with, Console& console);
Exit list_keys_command(const KeysOptions& options, Surroundings& with, Console& console);
Exit revoke_key_command(const KeysOptions& options, Surroundings& with, Console& console);
Exit export_command(const ExportOptions& options, Surroundings& with, Console& console);
Exit import_command(const ImportOptions& options, Surroundings& with, Console& console);
Exit verify_command(const std::string& directory, Surroundings& with, Console& console);

}  // namespace millrace::cli
