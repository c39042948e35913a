// `millrace completion SHELL`, and the hidden `millrace complete` that its scripts call.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/session.h"
#include "core/quote.h"

namespace millrace::cli {
namespace {

// A prompt that hangs is worse than a missing name.
constexpr Duration patience(400);

// The server that the words so far name.
ServerOptions server_in(std::span<const std::string> words) {
  ServerOptions options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto take = [&](std::string_view flag, std::string& to) {
      const std::string& word = words[i];
      if (word == flag && i + 2 < words.size()) to = words[i + 1];
      if (word.starts_with(std::string(flag) + "=")) to = word.substr(flag.size() + 1);
    };
    take("--server", options.server);
    take("--key-file", options.key_file);
    take("--ca-file", options.ca_file);
  }
  return options;
}

template <class T, class Verb, class Name, class... Arguments>
std::vector<std::string> names(HttpBroker& broker, Verb verb, Name name, Arguments... arguments) {
  const auto all = wait_for_answer<std::vector<T>>([&](Completion<std::vector<T>> done) {
    (broker.*verb)(Ask{}, arguments..., std::move(done));
  });
  std::vector<std::string> found;
  if (!all) return found;
  for (const T& each : *all) found.push_back(name(each));
  return found;
}

std::vector<std::string> names_of(std::string_view what, std::span<const std::string> words,
                                  Surroundings& with) {
  const auto address = address_of(server_in(words), with);
  if (!address) return {};
  auto broker = HttpBroker::open(
      with.clock,
      {.url = address->url, .key = address->key, .timeout = patience, .ca_file = address->ca_file});
  if (!broker) return {};
  if (what == "QUEUE") {
    return names<QueueView>(
        **broker, &HttpBroker::queues,
        [](const QueueView& each) { return each.queue.settings.name; }, std::optional<QueueRef>{});
  }
  if (what == "SCHEDULE") {
    return names<Schedule>(
        **broker, &HttpBroker::schedules, [](const Schedule& each) { return each.name; },
        std::optional<std::string>{});
  }
  return names<WorkerView>(**broker, &HttpBroker::workers,
                           [](const WorkerView& each) { return each.name; });
}

Exit complete(const std::vector<std::string>& words, Surroundings& with) {
  const auto root = all_commands();
  const auto found =
      candidates(*root, words, [&](std::string_view what) { return names_of(what, words, with); });
  for (const Candidate& each : found) with.out << each.word << '\t' << each.about << '\n';
  return Exit::ok;
}

}  // namespace

void add_completion(Command& millrace) {
  auto shell = std::make_shared<std::string>();
  millrace.add("completion", "Print the script that lets a shell complete commands and names")
      .argument({.kind = ArgumentKind::word,
                 .names = "SHELL",
                 .type = "bash|zsh|fish",
                 .about = "bash, zsh or fish",
                 .required = true,
                 .sink = [shell](const std::string& word) { *shell = word; }})
      .explain(
          "Flags and commands come from the program itself, names of queues, schedules and "
          "workers\n"
          "from the server, if it answers quickly.\n"
          "To have it always: bash in ~/.bashrc, zsh in ~/.zshrc (behind compinit), fish in\n"
          "~/.config/fish/completions/millrace.fish.")
      .example("source <(millrace completion bash)")
      .example("millrace completion fish > ~/.config/fish/completions/millrace.fish")
      .does([shell](Surroundings& with, Console& console) {
        const std::string_view script = completion_script(*shell);
        if (script.empty()) {
          return misused({ErrorCode::invalid, fmt::format("there is no completion for {}; allowed "
                                                          "are bash, zsh and fish",
                                                          in_quotes(*shell))},
                         console, "completion");
        }
        with.out << script;
        return Exit::ok;
      });
  auto words = std::make_shared<std::vector<std::string>>();
  millrace.add("complete", "Print what could be typed next")
      .hide()
      .maybe_words("WORD", *words, "The words so far; the last one is completed")
      .explain("The scripts of `millrace completion` call this.")
      .example("millrace complete -- queues sh")
      .does([words](Surroundings& with, Console&) { return complete(*words, with); });
}

}  // namespace millrace::cli
