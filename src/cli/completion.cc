#include "cli/completion.h"

#include <algorithm>

namespace millrace::cli {
namespace {

// Where the words so far have led.
struct Place {
  const Command* command = nullptr;
  const Argument* pending = nullptr;  // its value comes next
  std::size_t words = 0;              // that have their place already
  bool only_words = false;            // behind --
};

Place place_after(const Command& root, std::span<const std::string> words) {
  Place place{.command = &root};
  for (const std::string& word : words) {
    if (place.pending != nullptr) {
      place.pending = nullptr;
    } else if (place.only_words) {
      ++place.words;
    } else if (word == "--") {
      place.only_words = true;
    } else if (word.starts_with('-') && word.size() > 1) {
      const Argument* flag = place.command->find_flag(word);
      const bool takes = flag != nullptr && flag->kind == ArgumentKind::value && !flag->maybe_empty;
      if (takes) place.pending = flag;
    } else if (const Command* below = place.command->find_below(word)) {
      // As in parsing: the name of a command counts wherever it is.
      place.command = below, place.words = 0;
    } else {
      ++place.words;
    }
  }
  return place;
}

// The argument that has its place after so many words.
const Argument* word_at(const Command& command, std::size_t place, bool behind_dashes) {
  if (behind_dashes && command.after_dashes() != nullptr) return command.after_dashes();
  for (const Argument& each : command.arguments()) {
    if (each.kind != ArgumentKind::word) continue;
    if (each.many || place == 0) return &each;
    --place;
  }
  return nullptr;
}

// Whether a shell takes the name unchanged. The name of a worker must not inject anything into the
// command lines of other users.
bool is_plain(std::string_view name) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:@/-";
  return !name.empty() && !name.starts_with('-') && name.find_first_not_of(plain) == name.npos;
}

class Finder {
 public:
  Finder(std::string_view typed, const NamesOf& names_of) : typed_(typed), names_of_(names_of) {}

  // In a list such as failed,dead the last one is completed.
  void add_values(const Argument& argument, std::string_view front) {
    std::string before(front);
    std::string_view last = typed_.substr(front.size());
    const std::size_t comma = argument.many ? last.rfind(',') : last.npos;
    if (comma != last.npos) {
      before += last.substr(0, comma + 1);
      last.remove_prefix(comma + 1);
    }
    const std::string& what = argument.kind == ArgumentKind::word ? argument.names : argument.type;
    std::vector<std::string> values = choices_of(argument);
    if (what == "QUEUE" || what == "SCHEDULE" || what == "WORKER") {
      values = names_of_(what);
      std::erase_if(values, [](const std::string& each) { return !is_plain(each); });
    }
    for (const std::string& each : values) {
      if (each.starts_with(last)) found_.push_back({before + each, {}});
    }
  }

  void add_flags(const Command& command) {
    for (const Argument& each : command.arguments()) {
      if (each.kind == ArgumentKind::word) continue;
      for (const std::string& name : long_names(each)) add(name, each.about);
    }
    add("--help", "Explain the command");
  }

  void add_commands(const Command& command) {
    for (const auto& each : command.below()) {
      if (!each->hidden()) add(each->name(), each->about());
    }
  }

  std::vector<Candidate> found() && { return std::move(found_); }

 private:
  void add(const std::string& word, const std::string& about) {
    if (word.starts_with(typed_)) found_.push_back({word, about});
  }

  std::string_view typed_;
  const NamesOf& names_of_;
  std::vector<Candidate> found_;
};

}  // namespace

std::vector<Candidate> candidates(const Command& root, std::span<const std::string> words,
                                  const NamesOf& names_of) {
  if (words.empty()) return {};
  const std::string& typed = words.back();
  const Place place = place_after(root, words.first(words.size() - 1));
  Finder finder(typed, names_of);
  const std::size_t equals = typed.starts_with("--") ? typed.find('=') : typed.npos;
  if (place.pending != nullptr) {
    finder.add_values(*place.pending, "");
  } else if (!place.only_words && equals != typed.npos) {
    const Argument* flag = place.command->find_flag(typed.substr(0, equals));
    if (flag != nullptr) finder.add_values(*flag, std::string_view(typed).substr(0, equals + 1));
  } else if (!place.only_words && typed.starts_with('-') && typed != "-") {
    finder.add_flags(*place.command);
  } else {
    if (place.words == 0 && !place.only_words) finder.add_commands(*place.command);
    if (const Argument* word = word_at(*place.command, place.words, place.only_words)) {
      finder.add_values(*word, "");
    }
  }
  return std::move(finder).found();
}

std::string_view completion_script(std::string_view shell) {
  if (shell == "bash") {
    return R"(# millrace: completion for bash. Load it with: source <(millrace completion bash)
_millrace() {
  local word words=() i front
  # bash breaks words at : and =, which belong to them here.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if ((${#words[@]})) && [[ $word == [:=]* || ${words[-1]} == *[:=] ]]; then
      words[-1]+=$word
    else
      words+=("$word")
    fi
  done
  mapfile -t COMPREPLY < <("$1" complete -- "${words[@]}" 2>/dev/null)
  COMPREPLY=("${COMPREPLY[@]%%$'\t'*}")
  word=${words[-1]}
  front=${word%"${word##*[:=]}"}
  COMPREPLY=("${COMPREPLY[@]#"$front"}")
}
complete -o default -F _millrace millrace
)";
  }
  if (shell == "zsh") {
    return R"(#compdef millrace
# millrace: completion for zsh. Load it with: source <(millrace completion zsh)
_millrace() {
  local line
  local -a lines described
  lines=("${(@f)$("${words[1]}" complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  lines=(${lines:#})
  if (( ! $#lines )); then
    _files
    return
  fi
  for line in $lines; do
    described+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  _describe millrace described
}
compdef _millrace millrace
)";
  }
  if (shell == "fish") {
    return R"(# millrace: completion for fish. Load it with: millrace completion fish | source
function __millrace_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l found ($words[1] complete -- $words[2..-1] 2>/dev/null)
  if test (count $found) -eq 0
    __fish_complete_path (commandline -ct)
  else
    string join \n -- $found
  end
end
complete -c millrace -f -a '(__millrace_complete)'
)";
  }
  return {};
}

}  // namespace millrace::cli
