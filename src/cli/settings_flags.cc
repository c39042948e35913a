#include "cli/settings_flags.h"

#include "cli/look.h"
#include "config/find_file.h"

namespace millrace::cli {
namespace {

// What a value is called in the help.
std::string type_of(const config::Setting& setting) {
  using config::Settings;
  if (!setting.choices.empty()) {
    std::string text;
    for (const std::string_view each : setting.choices) {
      text += text.empty() ? "" : "|";
      text += each;
    }
    return text;
  }
  struct Name {
    const char* operator()(std::string Settings::*) const { return "TEXT"; }
    const char* operator()(std::uint32_t Settings::*) const { return "N"; }
    const char* operator()(config::Count Settings::*) const { return "N|unlimited"; }
    const char* operator()(double Settings::*) const { return "N"; }
    const char* operator()(config::Size Settings::*) const { return "SIZE"; }
    const char* operator()(Duration Settings::*) const { return "DURATION"; }
    const char* operator()(bool Settings::*) const { return "true|false"; }
    const char* operator()(config::Address Settings::*) const { return "ADDRESS"; }
  };
  return std::visit(Name{}, setting.field);
}

// "http" of http.max_body; settings without a table come first.
std::string group_of(const config::Setting& setting) {
  const std::size_t dot = setting.key.find('.');
  return dot == setting.key.npos ? "Settings"
                                 : "Settings: " + std::string(setting.key.substr(0, dot));
}

void takes_setting(Command& command, ConfigOptions& options, const config::Setting& setting) {
  std::string text(setting.help);
  const std::string built_in = config::text_of({}, setting);
  if (!built_in.empty()) text += " [" + built_in + "]";
  command.argument({.kind = ArgumentKind::value,
                    .names = config::flag_name(setting),
                    .type = type_of(setting),
                    .about = std::move(text),
                    .group = group_of(setting),
                    .sink = [&options, key = std::string(setting.key)](const std::string& value) {
                      options.flags.emplace_back(key, value);
                    }});
}

void takes_file(Command& command, ConfigOptions& options) {
  command.value("--config", options.file, "FILE",
                "The settings file (else ./millrace.toml, /etc/millrace/millrace.toml)");
}

}  // namespace

void takes_settings(Command& command, ConfigOptions& options) {
  takes_file(command, options);
  for (const config::Setting& each : config::all_settings()) {
    if (!each.secret) takes_setting(command, options, each);
  }
}

void takes_store(Command& command, ConfigOptions& options) {
  takes_file(command, options);
  takes_setting(command, options, *config::find_setting("store"));
}

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

}  // namespace millrace::cli
