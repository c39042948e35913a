#include "cli/command.h"

#include <algorithm>

namespace millrace::cli {
namespace {

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(at);
    parts.emplace_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Sink into(std::string& to) {
  return [&to](const std::string& word) { to = word; };
}
Sink into(std::vector<std::string>& to) {
  return [&to](const std::string& word) { to.push_back(word); };
}

}  // namespace

Command& Command::add(std::string name, std::string about) {
  return *below_.emplace_back(std::make_unique<Command>(std::move(name), std::move(about)));
}

Command& Command::argument(Argument argument) {
  if (argument.group.empty()) argument.group = group_;
  arguments_.push_back(std::move(argument));
  return *this;
}

Command& Command::word(std::string name, std::string& to, std::string about) {
  return maybe_word(std::move(name), to, std::move(about)).required();
}

Command& Command::maybe_word(std::string name, std::string& to, std::string about) {
  return argument({.kind = ArgumentKind::word,
                   .names = std::move(name),
                   .about = std::move(about),
                   .sink = into(to)});
}

Command& Command::words(std::string name, std::vector<std::string>& to, std::string about) {
  return maybe_words(std::move(name), to, std::move(about)).required();
}

Command& Command::maybe_words(std::string name, std::vector<std::string>& to, std::string about) {
  return argument({.kind = ArgumentKind::word,
                   .names = std::move(name),
                   .about = std::move(about),
                   .many = true,
                   .sink = into(to)});
}

Command& Command::words_after_dashes(std::string name, std::vector<std::string>& to,
                                     std::string about) {
  maybe_words(std::move(name), to, std::move(about));
  arguments_.back().after_dashes = true;
  return *this;
}

Command& Command::flag(std::string names, bool& to, std::string about) {
  return argument({.kind = ArgumentKind::flag,
                   .names = std::move(names),
                   .about = std::move(about),
                   .sink = [&to](const std::string&) { to = true; }});
}

Command& Command::value(std::string names, std::string& to, std::string type, std::string about) {
  return argument({.kind = ArgumentKind::value,
                   .names = std::move(names),
                   .type = std::move(type),
                   .about = std::move(about),
                   .sink = into(to)});
}

Command& Command::value(std::string names, std::optional<std::string>& to, std::string type,
                        std::string about) {
  return argument({.kind = ArgumentKind::value,
                   .names = std::move(names),
                   .type = std::move(type),
                   .about = std::move(about),
                   .sink = [&to](const std::string& word) { to = word; }});
}

Command& Command::values(std::string names, std::vector<std::string>& to, std::string type,
                         std::string about) {
  return argument({.kind = ArgumentKind::value,
                   .names = std::move(names),
                   .type = std::move(type),
                   .about = std::move(about),
                   .many = true,
                   .sink = into(to)});
}

Command& Command::list(std::string names, std::vector<std::string>& to, std::string type,
                       std::string about) {
  return argument({.kind = ArgumentKind::value,
                   .names = std::move(names),
                   .type = std::move(type),
                   .about = std::move(about),
                   .many = true,
                   .sink = [&to](const std::string& words) {
                     for (std::string& each : split(words, ',')) to.push_back(std::move(each));
                   }});
}

Command& Command::required() {
  arguments_.back().required = true;
  return *this;
}

Command& Command::maybe_empty() {
  arguments_.back().maybe_empty = true;
  return *this;
}

Command& Command::group(std::string headline) {
  group_ = std::move(headline);
  return *this;
}

Command& Command::explain(std::string text) {
  explanation_ = std::move(text);
  return *this;
}

Command& Command::example(std::string line, std::string about) {
  examples_.push_back({std::move(line), std::move(about)});
  return *this;
}

Command& Command::hide() {
  hidden_ = true;
  return *this;
}

Command& Command::does(Doing doing) {
  doing_ = std::move(doing);
  return *this;
}

const Command* Command::find_below(std::string_view name) const {
  const auto found = std::ranges::find(
      below_, name, [](const auto& each) { return std::string_view(each->name()); });
  return found == below_.end() ? nullptr : found->get();
}

bool Command::takes_words() const {
  return std::ranges::any_of(arguments_,
                             [](const Argument& each) { return each.kind == ArgumentKind::word; });
}

const Argument* Command::after_dashes() const {
  const auto found = std::ranges::find(arguments_, true, &Argument::after_dashes);
  return found == arguments_.end() ? nullptr : &*found;
}

const Argument* Command::find_flag(std::string_view name) const {
  for (const Argument& each : arguments_) {
    const auto names = split(each.names, ',');
    const bool has = std::ranges::find(names, name) != names.end();
    if (each.kind != ArgumentKind::word && has) return &each;
  }
  return nullptr;
}

std::vector<const Command*> path_of(const Command& root, std::span<const std::string> words) {
  std::vector<const Command*> path = {&root};
  for (const std::string& each : words) {
    const Command* next = path.back()->find_below(each);
    if (next == nullptr) break;
    path.push_back(next);
  }
  return path;
}

std::string name_of(std::span<const Command* const> path) {
  std::string name;
  for (const Command* each : path) name += (name.empty() ? "" : " ") + each->name();
  return name;
}

std::vector<std::string> long_names(const Argument& argument) {
  auto names = split(argument.names, ',');
  std::erase_if(names, [](const std::string& each) { return !each.starts_with("--"); });
  return names;
}

std::vector<std::string> choices_of(const Argument& argument) {
  if (!argument.type.contains('|')) return {};
  auto choices = split(argument.type, '|');
  // Of N|unlimited and 0-9|high only the second part is a word.
  std::erase_if(choices, [](const std::string& each) {
    return std::ranges::none_of(each, [](char c) { return c >= 'a' && c <= 'z'; });
  });
  return choices;
}

}  // namespace millrace::cli
