// `millrace config`: the settings in force.
#include "cli/commands.h"
#include "cli/settings_flags.h"

namespace millrace::cli {
namespace {

struct Options {
  ConfigOptions config = {};
  bool toml = false;
};

Exit show(const Options& options, Surroundings& with, Console& console) {
  const auto config = load_config(options.config, with, console);
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

}  // namespace

void add_config(Command& millrace) {
  auto options = std::make_shared<Options>();
  auto& command = millrace.add("config", "Show the settings in force and where each came from");
  takes_settings(command, options->config);
  command.flag("--toml", options->toml, "Print a settings file with comments, ready to use")
      .explain(
          "Takes the flags of `millrace serve` and shows what they would do. Secrets are not "
          "shown.")
      .example("millrace config")
      .example("millrace config --toml > millrace.toml")
      .does([options](Surroundings& with, Console& console) {
        return show(*options, with, console);
      });
}

}  // namespace millrace::cli
