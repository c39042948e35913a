// What could be typed next, from the tree of commands itself.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace millrace::cli {

struct Candidate {
  std::string word = {};
  std::string about = {};

  friend bool operator==(const Candidate&, const Candidate&) = default;
};

// Names that a server knows: of what is called QUEUE, SCHEDULE or WORKER.
using NamesOf = std::function<std::vector<std::string>(std::string_view what)>;

// Completes the last of the words, which may be empty; the program's name is not among them. None:
// what the shell itself would offer, such as files.
std::vector<Candidate> candidates(const Command& root, std::span<const std::string> words,
                                  const NamesOf& names_of);

// The script that lets a shell complete `millrace`; empty: the shell is not known.
std::string_view completion_script(std::string_view shell);

}  // namespace millrace::cli
