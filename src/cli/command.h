// A command as data: its arguments, its action and its help. Parsing, help, completion and the
// tests all read the same tree. Each command adds itself in a file of its own; commands.cc lists
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cli.h"
#include "cli/console.h"

namespace millrace::cli {

// Takes a word of the command line.
using Sink = std::function<void(const std::string&)>;

inline constexpr std::string_view forever = "forever";

enum class ArgumentKind : std::uint8_t {
  flag,   // --json
  value,  // --type TYPE
  word,   // QUEUE: known by its place
};

struct Argument {
  ArgumentKind kind = ArgumentKind::flag;
  std::string names = {};  // "-o,--output", or what a word is called: QUEUE
  // What a value is called: FILE, DURATION, QUEUE, or its choices: high|medium|low.
  std::string type = {};
  std::string about = {};
  std::string group = {};  // a headline in the help
  bool required = false;
  bool many = false;
  // The value, a duration, may be left out: --wait, --wait 30s. The sink gets `forever` then.
  bool maybe_empty = false;
  bool after_dashes = false;  // words behind --, taken as they are
  Sink sink = nullptr;
};

struct Example {
  std::string line = {};
  std::string about = {};  // what it does, unless the command itself is clear
};

class Command {
 public:
  using Doing = std::function<Exit(Surroundings& with, Console& console)>;

  Command(std::string name, std::string about) : name_(std::move(name)), about_(std::move(about)) {}
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  // ---- Making one ----
  // What a command refers to must live as long as the command: let does() hold it.

  Command& add(std::string name, std::string about);  // a command below this one
  Command& word(std::string name, std::string& to, std::string about);
  Command& maybe_word(std::string name, std::string& to, std::string about);
  Command& words(std::string name, std::vector<std::string>& to, std::string about);
  Command& maybe_words(std::string name, std::vector<std::string>& to, std::string about);
  // Everything behind --: a command line of its own.
  Command& words_after_dashes(std::string name, std::vector<std::string>& to, std::string about);
  Command& flag(std::string names, bool& to, std::string about);
  Command& value(std::string names, std::string& to, std::string type, std::string about);
  Command& value(std::string names, std::optional<std::string>& to, std::string type,
                 std::string about);
  // May be given more than once.
  Command& values(std::string names, std::vector<std::string>& to, std::string type,
                  std::string about);
  // The same, and several in one word: --state failed,dead.
  Command& list(std::string names, std::vector<std::string>& to, std::string type,
                std::string about);
  Command& argument(Argument argument);
  Command& required();                   // the last argument
  Command& maybe_empty();                // the last argument's value
  Command& group(std::string headline);  // of the arguments that come
  Command& explain(std::string text);
  Command& example(std::string line, std::string about = {});
  Command& hide();  // not in the help
  Command& does(Doing doing);

  // ---- Reading it ----

  const std::string& name() const { return name_; }
  const std::string& about() const { return about_; }
  const std::string& explanation() const { return explanation_; }
  bool hidden() const { return hidden_; }
  const std::vector<Argument>& arguments() const { return arguments_; }
  const std::vector<Example>& examples() const { return examples_; }
  const std::vector<std::unique_ptr<Command>>& below() const { return below_; }
  const Command* find_below(std::string_view name) const;
  const Doing& doing() const { return doing_; }
  bool takes_words() const;
  // Null: it takes nothing behind --.
  const Argument* after_dashes() const;
  // By a name of it: -o, --output. Null: there is none.
  const Argument* find_flag(std::string_view name) const;

 private:
  std::string name_;
  std::string about_;
  std::string explanation_;
  std::string group_;
  bool hidden_ = false;
  std::vector<Argument> arguments_;
  std::vector<Example> examples_;
  std::vector<std::unique_ptr<Command>> below_;
  Doing doing_;
};

// The commands that words name, from the root on: millrace, millrace keys, millrace keys create.
std::vector<const Command*> path_of(const Command& root, std::span<const std::string> words);
std::string name_of(std::span<const Command* const> path);

// The long names of a flag or value: --output.
std::vector<std::string> long_names(const Argument& argument);
// The allowed words, if the value is one of a few; empty: any value.
std::vector<std::string> choices_of(const Argument& argument);

// Runs the command that the arguments name, or prints what is wrong with them.
Exit run_command(const Command& root, std::span<const std::string> arguments, Surroundings& with);

// Only checks the arguments; empty: they are correct.
std::string misuse_of(const Command& root, std::span<const std::string> arguments,
                      const std::string& version);

}  // namespace millrace::cli
