// From words to a command, with CLI11; the only file that uses it.
#include <CLI/CLI.hpp>

#include <fmt/format.h>
#include <algorithm>
#include <optional>
#include <unordered_map>

#include "cli/command.h"
#include "core/ascii.h"
#include "core/nearest.h"
#include "core/quote.h"
#include "core/time_text.h"

namespace millrace::cli {
namespace {

// What a command takes behind -- is shown behind --.
class HelpFormatter final : public CLI::Formatter {
 public:
  std::string make_option_usage(const CLI::Option* option) const override {
    if (std::ranges::find(after_dashes, option) == after_dashes.end()) {
      return CLI::Formatter::make_option_usage(option);
    }
    return "-- " + option->get_name(true) + "...";
  }

  std::vector<const CLI::Option*> after_dashes;
};

// The tree as CLI11 needs it.
class Parser {
 public:
  Parser(const Command& root, const std::string& version) : app_(root.about(), root.name()) {
    app_.formatter(formatter_);
    app_.set_version_flag("--version", "millrace " + version);
    fill(app_, root);
    app_.require_subcommand(1);
  }

  CLI::App& app() { return app_; }

  // Throws the error, or --help, which is not an error.
  void parse(std::span<const std::string> arguments) {
    const Command& command = *path_of(*commands_.at(&app_), arguments).back();
    const Argument* behind = command.after_dashes();
    const auto dashes = std::ranges::find(arguments, "--");
    const auto end = behind == nullptr ? arguments.end() : dashes;
    // CLI11 wants the words in reverse.
    auto words = with_all_values({arguments.begin(), end});
    std::ranges::reverse(words);
    app_.parse(words);
    if (behind == nullptr) return;
    if (arguments.end() - dashes < 2) throw CLI::RequiredError("-- " + behind->names);
    for (auto at = dashes + 1; at != arguments.end(); ++at) behind->sink(*at);
  }

  // The command that the words name.
  const Command& asked() const {
    const CLI::App* at = &app_;
    while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
    return *commands_.at(at);
  }

 private:
  void fill(CLI::App& app, const Command& command) {
    commands_[&app] = &command;
    for (const Argument& each : command.arguments()) {
      add(app, each);
      if (each.maybe_empty) maybe_empty_.push_back(each.names);
    }
    app.footer(footer_of(command));
    for (const auto& each : command.below()) {
      CLI::App* below = app.add_subcommand(each->name(), each->about());
      if (each->hidden()) below->group("");
      fill(*below, *each);
    }
    if (!command.below().empty() && !command.doing()) app.require_subcommand(1);
  }

  // "--wait" becomes "--wait=forever", and "--wait 30s" one word, because the word after --wait may
  // be something else.
  std::vector<std::string> with_all_values(std::span<const std::string> arguments) const {
    std::vector<std::string> words(arguments.begin(), arguments.end());
    for (auto at = words.begin(); at != words.end() && *at != "--"; ++at) {
      if (std::ranges::find(maybe_empty_, *at) == maybe_empty_.end()) continue;
      const bool given = at + 1 != words.end() && parse_duration(*(at + 1)).has_value();
      *at += "=" + (given ? *(at + 1) : std::string(forever));
      if (given) at = words.erase(at + 1) - 1;
    }
    return words;
  }

  static CLI::Option* many(CLI::App& app, const Argument& argument) {
    CLI::Option* option = app.add_option_function<std::vector<std::string>>(
        argument.names,
        [&argument](const std::vector<std::string>& words) {
          for (const std::string& word : words) argument.sink(word);
        },
        argument.about);
    // A value is one word; otherwise PAYLOAD in `--tag a PAYLOAD` would be a second tag.
    if (argument.kind == ArgumentKind::value) option->allow_extra_args(false);
    return option;
  }

  void add(CLI::App& app, const Argument& argument) {
    CLI::Option* option = nullptr;
    if (argument.kind == ArgumentKind::flag) {
      option =
          app.add_flag_callback(argument.names, [&argument] { argument.sink(""); }, argument.about);
    } else {
      option = argument.many ? many(app, argument)
                             : app.add_option_function<std::string>(argument.names, argument.sink,
                                                                    argument.about);
      option->type_name(argument.type);
    }
    if (argument.after_dashes) formatter_->after_dashes.push_back(option);
    option->required(argument.required);
    if (!argument.group.empty()) option->group(argument.group);
  }

  static std::string footer_of(const Command& command) {
    std::string text = command.explanation();
    if (command.examples().empty()) return text;
    text += text.empty() ? "" : "\n\n";
    text += command.examples().size() == 1 ? "Example:" : "Examples:";
    std::size_t width = 0;
    for (const Example& each : command.examples()) {
      if (!each.about.empty() && each.line.size() < 60) width = std::max(width, each.line.size());
    }
    for (const Example& each : command.examples()) {
      text += fmt::format("\n  {:<{}}", each.line, each.about.empty() ? 0 : width);
      if (!each.about.empty()) text += "   " + each.about;
    }
    return text + '\n';
  }

  std::shared_ptr<HelpFormatter> formatter_ = std::make_shared<HelpFormatter>();
  CLI::App app_;
  std::vector<std::string> maybe_empty_;
  std::unordered_map<const CLI::App*, const Command*> commands_;
};

// Names that begin with the word come first: people leave out the end. Empty: none is near.
std::string nearest_of(std::string_view word, const std::vector<std::string>& names) {
  const std::vector<std::string_view> all(names.begin(), names.end());
  std::vector<std::string_view> begun;
  std::ranges::copy_if(all, std::back_inserter(begun),
                       [&](std::string_view each) { return each.starts_with(word); });
  return std::string(begun.empty() || word.empty() ? near_enough(word, all) : nearest(word, begun));
}

// "; the nearest is NAME", if one is near.
std::string suggestion(std::string_view word, const std::vector<std::string>& names) {
  const std::string meant = nearest_of(word, names);
  return meant.empty() ? "" : "; the nearest is " + meant;
}

// A word where a command should be.
std::optional<std::string> mistyped_command(std::span<const Command* const> path,
                                            std::span<const std::string> arguments) {
  const Command& last = *path.back();
  if (last.below().empty() || last.takes_words()) return std::nullopt;
  if (arguments.size() < path.size()) return std::nullopt;
  const std::string& word = arguments[path.size() - 1];
  if (word.starts_with('-')) return std::nullopt;
  std::vector<std::string> names;
  for (const auto& each : last.below()) {
    if (!each->hidden()) names.push_back(each->name());
  }
  const bool lists = last.doing() && (word == "list" || word == "ls");
  return fmt::format(
      "there is no command {}{}", in_quotes(word),
      lists ? fmt::format("; `{}` lists them", name_of(path)) : suggestion(word, names));
}

bool is_below(const Command& command, std::string_view flag) {
  return std::ranges::any_of(command.below(), [&](const auto& below) {
    return std::ranges::any_of(below->arguments(), [&](const Argument& each) {
      const auto names = long_names(each);
      return std::ranges::find(names, flag) != names.end();
    });
  });
}

// A word as a shell takes it.
std::string as_typed(const std::string& word) {
  constexpr std::string_view special = " \t\n'\"\\$`!*?[](){}<>|&;#~";
  if (!word.empty() && word.find_first_of(special) == word.npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + '\'';
}

// -x and -xyz, but neither - nor -5.
bool is_short_flag(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && !ascii::is_digit(word[1]);
}

// A word such as -x is taken for a flag; it may be meant as a name.
std::string unknown_short_flag(std::span<const Command* const> path, const std::string& word) {
  const Command& command = *path.back();
  std::string told = fmt::format("there is no flag {}", in_quotes(word));
  if (command.after_dashes() != nullptr) {
    told += "; a queue whose name begins with - is given by its UUID";
  } else if (command.takes_words()) {
    told +=
        fmt::format("; a name that begins with - goes behind the flags and --, as in\n  {} -- {}",
                    name_of(path), as_typed(word));
  }
  return told;
}

// A flag that the command does not have.
std::optional<std::string> mistyped_flag(std::span<const Command* const> path,
                                         std::span<const std::string> arguments) {
  const Command& command = *path.back();
  std::vector<std::string> flags = {"--help"};
  for (const Argument& each : command.arguments()) {
    if (each.kind == ArgumentKind::word) continue;
    for (std::string& name : long_names(each)) flags.push_back(std::move(name));
  }
  for (const std::string& each : arguments) {
    if (each == "--") break;
    const std::string flag = each.substr(0, each.find('='));
    if (!flag.starts_with("--")) {
      if (is_short_flag(flag) && command.find_flag(flag.substr(0, 2)) == nullptr) {
        return unknown_short_flag(path, each);
      }
      continue;
    }
    if (std::ranges::find(flags, flag) != flags.end()) continue;
    if (is_below(command, flag)) return fmt::format("{} goes after the command", flag);
    return fmt::format("there is no flag {}{}", in_quotes(flag), suggestion(flag, flags));
  }
  return std::nullopt;
}

// Where a line without -- would need it: before its second word, which is taken for the command.
std::optional<std::string> missing_dashes(std::span<const Command* const> path,
                                          std::span<const std::string> arguments) {
  const Command& command = *path.back();
  const auto dashes = std::ranges::find(arguments, "--");
  if (command.after_dashes() == nullptr || arguments.end() - dashes > 1) return std::nullopt;
  std::string line = name_of(path);
  bool queue = false;
  auto at = arguments.begin() + static_cast<std::ptrdiff_t>(path.size()) - 1;
  for (; at < dashes; ++at) {
    const bool is_long = at->starts_with("--");
    const bool is_flag = at->starts_with('-');
    if (!is_flag && queue) break;
    line += " " + as_typed(*at);
    if (!is_flag) queue = true;
    if (!is_flag) continue;
    const Argument* flag =
        command.find_flag(is_long ? at->substr(0, at->find('=')) : at->substr(0, 2));
    if (flag == nullptr) return std::nullopt;  // mistyped: another message
    const bool apart = is_long ? !at->contains('=') : at->size() == 2;
    if (flag->kind == ArgumentKind::value && apart && at + 1 < dashes)
      line += " " + as_typed(*++at);
  }
  if (!queue) return std::nullopt;
  line += " --";
  if (at >= dashes) line += " " + command.after_dashes()->names;
  for (; at < dashes; ++at) line += " " + as_typed(*at);
  return fmt::format("the command goes behind --, as in\n  {}", line);
}

std::string told(const CLI::ParseError& error, std::span<const Command* const> path,
                 std::span<const std::string> arguments) {
  const bool extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const std::string_view what = error.what();
  if (what.contains(": At Most 1 required")) {
    return fmt::format("{} is given more than once", what.substr(0, what.find(':')));
  }
  // A word that is taken for a flag may be the one that is missed.
  if (!extra && dynamic_cast<const CLI::RequiredError*>(&error) == nullptr)
    return std::string(what);
  if (auto missing = missing_dashes(path, arguments)) return std::move(*missing);
  return mistyped_flag(path, arguments).value_or(std::string(what));
}

}  // namespace

Exit run_command(const Command& root, std::span<const std::string> arguments, Surroundings& with) {
  Parser parser(root, with.version);
  if (arguments.empty()) {
    with.err << parser.app().help();
    return Exit::usage;
  }
  const auto path = path_of(root, arguments);
  const auto misused = [&](std::string_view why) {
    with.err << fmt::format("error: {}\nTry: {} --help\n", why, name_of(path));
    return Exit::usage;
  };
  if (const auto mistyped = mistyped_command(path, arguments)) return misused(*mistyped);
  try {
    parser.parse(arguments);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return misused(told(error, path, arguments));
    parser.app().exit(error, with.out, with.err);
    return Exit::ok;
  }
  Console console(with);
  return parser.asked().doing()(with, console);
}

std::string misuse_of(const Command& root, std::span<const std::string> arguments,
                      const std::string& version) {
  Parser parser(root, version);
  const auto path = path_of(root, arguments);
  if (auto mistyped = mistyped_command(path, arguments)) return *mistyped;
  try {
    parser.parse(arguments);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return told(error, path, arguments);
  }
  return {};
}

}  // namespace millrace::cli
