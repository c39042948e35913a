#include <fmt/format.h>

#include <algorithm>

#include "tests/tidy/cpp_text.h"
#include "tests/tidy/rules.h"

namespace millrace::tidy {

namespace {

constexpr std::size_t columns_max = 100;
constexpr std::size_t function_lines_max = 70;
constexpr std::size_t file_lines_max = 600;
constexpr std::size_t public_headers_max = 15;

// Characters, not bytes: every byte of UTF-8 counts but the continuations.
std::size_t columns_of(std::string_view line) {
  return static_cast<std::size_t>(std::ranges::count_if(
      line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

void limit_file(const File& file, Complaints& complaints) {
  const std::vector<std::string_view> lines = lines_of(file.text);
  if (lines.size() > file_lines_max) {
    complaints.push_back(
        {file.path, file_lines_max + 1,
         fmt::format("{} lines, at most {} are allowed; split the file by what its "
                     "parts do",
                     lines.size(), file_lines_max)});
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (columns_of(lines[i]) <= columns_max) continue;
    complaints.push_back({file.path, i + 1,
                          fmt::format("{} columns, at most {} are allowed; break the line",
                                      columns_of(lines[i]), columns_max)});
  }
}

void limit_functions(const File& file, Complaints& complaints) {
  for (const Function& function : functions_in(file.cpp.code)) {
    if (function.length <= function_lines_max) continue;
    complaints.push_back(
        {file.path, function.line,
         fmt::format("{} has {} lines, at most {} are allowed; give its steps names "
                     "as functions of their own",
                     function.name, function.length, function_lines_max)});
  }
}

}  // namespace

void check_limits(const Tree& tree, Complaints& complaints) {
  std::size_t public_headers = 0;
  for (const File& file : tree.files) {
    if (!file.is_cpp()) continue;
    limit_file(file, complaints);
    limit_functions(file, complaints);
    if (file.path.starts_with("include/millrace/") && ++public_headers == public_headers_max + 1) {
      complaints.push_back(
          {file.path, 1,
           fmt::format("more than {} public headers; a user should not have to know "
                       "more: merge what belongs together, or keep it in src/",
                       public_headers_max)});
    }
  }
}

}  // namespace millrace::tidy
