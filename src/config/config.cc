#include "config/config.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>

#include "config/toml_file.h"
#include "core/nearest.h"
#include "core/quote.h"
#include "core/store_url.h"

namespace millrace::config {
namespace {

constexpr std::string_view prefix = "MILLRACE_";

// Other variables with the same meaning: of other programs, and of the commands of the console.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> other_names = {
    {{"NUM_WORKERS", "processes"}, {"MILLRACE_URL", "server"}, {"MILLRACE_KEY", "server_key"}}};

std::vector<std::string_view> known_keys() {
  std::vector<std::string_view> keys;
  for (const Setting& each : all_settings()) keys.push_back(each.key);
  return keys;
}

// Which kinds of TOML value a setting takes, and the advice if it is another one.
struct Fit {
  bool fits = false;
  std::string advice = {};
};

Fit fit(const TomlValue& value, std::string Settings::*) {
  return {value.kind == TomlKind::text, "text in quotes"};
}
Fit fit(const TomlValue& value, std::uint32_t Settings::*) {
  return {value.kind == TomlKind::integer, "a whole number without quotes"};
}
Fit fit(const TomlValue& value, Count Settings::*) {
  return {value.kind == TomlKind::integer || value.kind == TomlKind::text,
          "a whole number, or \"unlimited\""};
}
Fit fit(const TomlValue& value, double Settings::*) {
  return {value.kind == TomlKind::integer || value.kind == TomlKind::real,
          "a number without quotes"};
}
Fit fit(const TomlValue& value, Size Settings::*) {
  return {value.kind == TomlKind::integer || value.kind == TomlKind::text,
          "a size in quotes, or a number of bytes"};
}
Fit fit(const TomlValue& value, Duration Settings::*) {
  return {value.kind == TomlKind::text, "a duration with its unit, in quotes"};
}
Fit fit(const TomlValue& value, bool Settings::*) {
  return {value.kind == TomlKind::boolean, "true or false without quotes"};
}
Fit fit(const TomlValue& value, Address Settings::*) {
  return {value.kind == TomlKind::text, "an address in quotes"};
}

// `threads = 4` or `threads = "4"`, as it must be in a file.
std::string toml_value(const Setting& setting, std::string_view text) {
  const bool bare =
      std::holds_alternative<std::uint32_t Settings::*>(setting.field) ||
      std::holds_alternative<double Settings::*>(setting.field) ||
      std::holds_alternative<bool Settings::*>(setting.field) ||
      (std::holds_alternative<Count Settings::*>(setting.field) && text != "unlimited");
  if (bare) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

class Reader {
 public:
  Reader() { config_.origins.resize(all_settings().size()); }

  void read_file(const File& file) {
    config_.file = file.name;
    const TomlText toml = parse_toml(file.text);
    if (!toml.problem.empty()) {
      problem(fmt::format("{}:{}: this is not TOML: {}", file.name, toml.line, toml.problem));
    }
    for (const TomlValue& value : toml.values) {
      read_value(value, fmt::format("{}:{}", file.name, value.line));
    }
  }

  void read_variable(const std::string& name, const std::string& text) {
    const auto* other =
        std::ranges::find(other_names, name, &std::pair<std::string_view, std::string_view>::first);
    if (other != other_names.end()) {
      return take(*find_setting(other->second), {From::environment, name}, text, name);
    }
    if (!name.starts_with(prefix) || name == "MILLRACE_CONFIG") return;
    const auto settings = all_settings();
    const auto found = std::ranges::find(settings, name, environment_name);
    if (found != settings.end()) return take(*found, {From::environment, name}, text, name);
    // Other tools use such names, too (Kubernetes sets MILLRACE_PORT), so only names that look
    // mistyped are reported.
    std::vector<std::string> names;
    for (const Setting& each : settings) names.push_back(environment_name(each));
    const std::vector<std::string_view> views(names.begin(), names.end());
    const std::string_view meant = nearest(name, views);
    constexpr std::size_t near = 2;
    if (distance(name.substr(0, 100), meant) <= near) {
      config_.remarks.push_back(
          fmt::format("Millrace knows no variable {}; did you mean {}?", name, meant));
    }
  }

  void read_flag(const std::string& key, const std::string& text) {
    const Setting* setting = find_setting(key);
    if (setting == nullptr) return problem(unknown(key));
    take(*setting, {From::flag, flag_name(*setting)}, text, flag_name(*setting));
  }

  Config finish() {
    if (config_.problems.empty()) {
      for (std::string& each : problems_of(config_.handlers)) problem(std::move(each));
    }
    for (const Disagreement& each : disagreements(config_.settings)) {
      const Origin& origin = config_.origins[index_of(*find_setting(each.key))];
      problem(fmt::format("{}: {}", origin.where, each.message));
    }
    return std::move(config_);
  }

 private:
  static std::size_t index_of(const Setting& setting) {
    return static_cast<std::size_t>(&setting - all_settings().data());
  }

  static std::string unknown(std::string_view key) {
    const std::string_view meant = near_enough(key, known_keys());
    return fmt::format("there is no setting {}{}. `millrace config` lists all", in_quotes(key),
                       meant.empty() ? "" : fmt::format("; the nearest is {}", meant));
  }

  void problem(std::string text) { config_.problems.push_back(std::move(text)); }

  void read_value(const TomlValue& value, const std::string& where) {
    if (is_about_handlers(value)) {
      auto good = read_handler(config_.handlers, value, where);
      if (!good) problem(fmt::format("{}: {}", where, good.error().message));
      return;
    }
    const Setting* setting = find_setting(value.key);
    if (setting == nullptr) return problem(fmt::format("{}: {}", where, unknown(value.key)));
    const Fit fits = std::visit([&](auto field) { return fit(value, field); }, setting->field);
    if (!fits.fits) {
      const std::string given = setting->secret                ? "of another kind"
                                : value.kind == TomlKind::text ? in_quotes(value.text)
                                                               : value.text;
      return problem(fmt::format("{}: {} is {}; it must be {}: {} = {}", where, value.key, given,
                                 fits.advice, value.key, toml_value(*setting, setting->example)));
    }
    take(*setting, {From::file, where}, value.text, where);
  }

  void take(const Setting& setting, Origin origin, const std::string& text,
            const std::string& where) {
    if (auto ok = assign(config_.settings, setting, text); !ok) {
      return problem(fmt::format("{}: {}", where, ok.error().message));
    }
    config_.origins[index_of(setting)] = std::move(origin);
  }

  Config config_;
};

std::string shown(const Config& config, const Setting& setting) {
  const std::string text = text_of(config.settings, setting);
  if (text.empty()) return "-";
  return setting.secret ? "(secret)" : without_password(text);
}

}  // namespace

Config read_config(const Sources& sources) {
  Reader reader;
  if (sources.file) reader.read_file(*sources.file);
  for (const auto& [name, text] : sources.environment) reader.read_variable(name, text);
  for (const auto& [key, text] : sources.flags) reader.read_flag(key, text);
  return reader.finish();
}

std::string as_table(const Config& config) {
  const auto settings = all_settings();
  std::size_t key_width = 0;
  std::size_t value_width = 0;
  for (const Setting& each : settings) {
    key_width = std::max(key_width, each.key.size());
    value_width = std::max(value_width, shown(config, each).size());
  }
  std::string table;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    table += fmt::format("{:<{}}  {:<{}}  {}\n", settings[i].key, key_width,
                         shown(config, settings[i]), value_width, config.origins[i].where);
  }
  for (const HandlerSettings& each : config.handlers) {
    const std::string what = each.exec.empty() ? without_password(each.http)
                                               : fmt::format("{}", fmt::join(each.exec, " "));
    table += fmt::format("{:<{}}  {:<{}}  {}\n", "handlers." + each.queue, key_width, what,
                         value_width, each.where);
  }
  return table;
}

std::string as_toml(const Config& config) {
  std::string text =
      "# Settings of `millrace serve`. Found as ./millrace.toml or /etc/millrace/millrace.toml, or "
      "named\n# by --config or MILLRACE_CONFIG. The environment and flags override it.\n";
  std::string table;
  const auto settings = all_settings();
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const Setting& each = settings[i];
    const std::size_t dot = each.key.rfind('.');
    const std::string in = dot == each.key.npos ? "" : std::string(each.key.substr(0, dot));
    if (in != table) text += fmt::format("\n[{}]\n", in);
    table = in;
    const bool built_in = config.origins[i].from == From::built_in;
    text += fmt::format("\n# {}\n# {}: {}; {}\n", each.help, "Allowed", allowed(each),
                        environment_name(each));
    const std::string value = text_of(config.settings, each);
    const std::string_view name = dot == each.key.npos ? each.key : each.key.substr(dot + 1);
    if (each.secret) {
      text += fmt::format("# {} = (a secret is not printed{})\n", name,
                          value.empty() ? "" : "; one is set by " + config.origins[i].where);
    } else if (without_password(value) != value) {
      text += fmt::format("# {} = {} (its password is not printed; set by {})\n", name,
                          toml_value(each, without_password(value)), config.origins[i].where);
    } else {
      text += fmt::format("{}{} = {}\n", built_in ? "# " : "", name, toml_value(each, value));
    }
  }
  text +=
      "\n# Queues whose tasks are worked here: by a command, or by an endpoint (http = URL). See\n"
      "# docs/workers.md.\n";
  if (config.handlers.empty()) {
    text +=
        "#\n# [handlers.thumbnails]\n# exec = [\"python3\", \"thumbnail.py\"]\n"
        "# concurrency = 4\n# timeout = \"30s\"\n";
  }
  for (const HandlerSettings& each : config.handlers) text += '\n' + as_toml(each);
  return text;
}

}  // namespace millrace::config
