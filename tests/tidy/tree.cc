#include "tests/tidy/tree.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <utility>

namespace millrace::tidy {

namespace fs = std::filesystem;

void Tree::add(std::string path, std::string text) {
  File file{.path = std::move(path), .text = std::move(text), .cpp = {}};
  if (file.is_cpp()) file.cpp = take_apart(file.text);
  const auto place = std::ranges::lower_bound(files, file.path, {}, &File::path);
  files.insert(place, std::move(file));
}

const File* Tree::find(std::string_view path) const {
  const auto place = std::ranges::lower_bound(files, path, {}, &File::path);
  return place != files.end() && place->path == path ? &*place : nullptr;
}

bool Tree::has_folder(std::string_view path) const {
  const std::string inside = std::string(path) + "/";
  const auto place = std::ranges::lower_bound(files, inside, {}, &File::path);
  return place != files.end() && place->path.starts_with(inside);
}

Tree read_tree(const fs::path& root) {
  static constexpr std::array folders{"include", "src",    "apps",     "tests",
                                      "bench",   "deploy", "examples", "dashboard/tests"};
  static constexpr std::array documents{"CMakeLists.txt", "docs/architecture.md",
                                        "docs/requirements.tsv", "docs/requirements-planned.tsv"};
  Tree tree;
  const auto read = [&](const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    tree.add(path.lexically_relative(root).generic_string(), std::move(text));
  };
  for (const char* document : documents) {
    if (fs::is_regular_file(root / document)) read(root / document);
  }
  for (const char* folder : folders) {
    if (!fs::is_directory(root / folder)) continue;
    for (auto entry = fs::recursive_directory_iterator(root / folder); entry != fs::end(entry);
         ++entry) {
      if (entry->path().filename() == "node_modules") {
        entry.disable_recursion_pending();
      } else if (entry->is_regular_file()) {
        read(entry->path());
      }
    }
  }
  return tree;
}

std::size_t line_at(std::string_view text, std::size_t offset) {
  return 1 + static_cast<std::size_t>(std::ranges::count(text.substr(0, offset), '\n'));
}

std::vector<std::string_view> lines_of(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  return split(text, '\n');
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

std::string_view folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view{} : path.substr(0, slash);
}

std::size_t find_word(std::string_view text, std::string_view word, std::size_t from) {
  for (std::size_t at = text.find(word, from); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const bool free_before = at == 0 || !is_identifier_char(text[at - 1]);
    const std::size_t end = at + word.size();
    const bool free_after = end == text.size() || !is_identifier_char(text[end]);
    if (free_before && free_after) return at;
  }
  return std::string_view::npos;
}

}  // namespace millrace::tidy
