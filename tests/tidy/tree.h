// What tidy looks at: the files of the source tree, read once, and the complaints about them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tidy/cpp_text.h"

namespace millrace::tidy {

struct File {
  std::string path;  // from the root of the tree, with '/' between the parts
  std::string text;
  CppText cpp;  // for C++ files: the text taken apart

  bool is_cpp() const { return path.ends_with(".h") || path.ends_with(".cc"); }
  bool is_test() const { return path.starts_with("tests/") || path.ends_with("_test.cc"); }
};

struct Tree {
  std::vector<File> files;  // ordered by path

  // Adds a file and takes it apart.
  void add(std::string path, std::string text);
  const File* find(std::string_view path) const;
  bool has_folder(std::string_view path) const;
};

// Reads the folders that tidy applies to, and the documents its rules come from.
Tree read_tree(const std::filesystem::path& root);

// Something to mend. The message says what is wrong and what to do instead.
struct Complaint {
  std::string path;
  std::size_t line = 0;
  std::string message;
};

using Complaints = std::vector<Complaint>;

// Small questions about text that every rule asks.
std::size_t line_at(std::string_view text, std::size_t offset);  // counted from 1
std::vector<std::string_view> lines_of(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
std::string_view folder_of(std::string_view path);  // "" for a file at the root
// The offset of `word` standing on its own (no identifier character on either side), from `from`.
std::size_t find_word(std::string_view text, std::string_view word, std::size_t from = 0);

}  // namespace millrace::tidy
