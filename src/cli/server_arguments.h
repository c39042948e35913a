// The arguments of the commands around a server.
#pragma once

#include "cli/commands.h"

namespace CLI {
class App;
}

namespace millrace::cli {

CLI::App* add_serve(CLI::App& app, ConfigOptions& options);
CLI::App* add_work(CLI::App& app, WorkOptions& options);
CLI::App* add_config(CLI::App& app, ConfigOptions& options);

struct KeysCommands {
  CLI::App* all = nullptr;
  CLI::App* create = nullptr;
  CLI::App* list = nullptr;
  CLI::App* revoke = nullptr;
};
KeysCommands add_keys(CLI::App& app, KeysOptions& options);

}  // namespace millrace::cli
