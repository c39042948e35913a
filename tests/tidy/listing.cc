#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "tests/tidy/rules.h"

namespace millrace::tidy {

namespace {

// The sources a CMakeLists.txt names, as paths from the root.
void collect_listed(const File& lists, std::set<std::string>& listed) {
  const std::filesystem::path folder(folder_of(lists.path));
  for (std::string_view line : lines_of(lists.text)) {
    line = line.substr(0, line.find('#'));
    std::string words(line);
    std::ranges::replace_if(words, [](char c) { return c == '(' || c == ')' || c == '\t'; }, ' ');
    for (const std::string_view word : split(words, ' ')) {
      if (!word.ends_with(".cc") && !word.ends_with(".h")) continue;
      listed.insert((folder / word).lexically_normal().generic_string());
    }
  }
}

// Headers count only where ./dev check compiles them on their own.
bool must_be_listed(const File& file) {
  return file.path.ends_with(".cc") ||
         (file.path.ends_with(".h") &&
          (file.path.starts_with("src/") || file.path.starts_with("include/")));
}

bool is_made_by_a_program(const File& file) {
  static constexpr std::array endings{".o",   ".a",    ".so",  ".gcda", ".gcno",
                                      ".pyc", ".orig", ".rej", ".swp"};
  if (std::ranges::any_of(endings, [&](const char* end) { return file.path.ends_with(end); })) {
    return true;
  }
  if (file.text.find('\0') != std::string::npos) return true;
  return file.cpp.comments.find("DO NOT EDIT") != std::string::npos;
}

// Inputs of tests are not sources, and may be whatever a test compares with or reads.
bool is_data(const File& file) {
  static constexpr std::array folders{"tests/golden/", "tests/fuzz/corpus/"};
  return std::ranges::any_of(folders, [&](const char* in) { return file.path.starts_with(in); });
}

}  // namespace

void check_listing(const Tree& tree, Complaints& complaints) {
  std::set<std::string> listed;
  for (const File& file : tree.files) {
    if (file.path.ends_with("CMakeLists.txt")) collect_listed(file, listed);
  }
  for (const File& file : tree.files) {
    if (is_data(file)) continue;
    if (is_made_by_a_program(file)) {
      complaints.push_back({file.path, 1,
                            "binary or generated; generate it into the build folder, or keep the "
                            "text it is made from"});
    } else if (must_be_listed(file) && !listed.contains(file.path)) {
      complaints.push_back({file.path, 1,
                            "named in no CMakeLists.txt, so nothing builds it; list it beside its "
                            "neighbours, or delete it"});
    }
  }
}

}  // namespace millrace::tidy
