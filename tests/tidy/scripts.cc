#include "tests/tidy/scripts.h"

#include <algorithm>
#include <array>

#include "tests/tidy/cpp_text.h"
#include "tests/tidy/tree.h"

namespace millrace::tidy {

namespace {

constexpr auto npos = std::string_view::npos;

bool ends_with_any(std::string_view path, auto endings) {
  return std::ranges::any_of(endings, [&](std::string_view end) { return path.ends_with(end); });
}

// Where a quoted text that opens at `from` ends: behind its closing quote, or with the line.
std::size_t behind_quotes(std::string_view line, std::size_t from) {
  for (std::size_t i = from + 1; i < line.size(); ++i) {
    if (line[i] == '\\') {
      ++i;
    } else if (line[i] == line[from]) {
      return i + 1;
    }
  }
  return line.size();
}

}  // namespace

bool is_test_script(std::string_view path) {
  static constexpr std::array<std::string_view, 8> endings{".ts", ".js",  ".mjs",   ".py",
                                                           ".sh", ".yml", ".cmake", ".yaml"};
  if (!ends_with_any(path, endings)) return false;
  if (path.starts_with("tests/")) return true;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const bool says_so = name.find(".spec.") != npos || name.find(".test.") != npos ||
                       name.find("_test.") != npos || name.starts_with("test_");
  return says_so;
}

ScriptReader::ScriptReader(std::string_view path)
    : slashes_(ends_with_any(path, std::array<std::string_view, 3>{".ts", ".js", ".mjs"})) {}

ScriptReader::Line ScriptReader::continue_block(std::string_view line) {
  const std::size_t end = line.find("*/");
  if (end == npos) return {.code = {}, .comment = line};
  in_block_ = false;
  return {.code = line.substr(end + 2), .comment = line.substr(0, end)};
}

ScriptReader::Line ScriptReader::read(std::string_view line) {
  if (in_block_) return continue_block(line);
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const std::string_view rest = line.substr(i);
    const bool block = slashes_ && rest.starts_with("/*");
    // "a#b" and "http://a" are no comments.
    const bool free = i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t';
    if (block || (free && (slashes_ ? rest.starts_with("//") : c == '#'))) {
      in_block_ = block && rest.find("*/", 2) == npos;
      return {.code = line.substr(0, i), .comment = rest};
    }
    const bool quote =
        c == '"' || c == '`' || (c == '\'' && (i == 0 || !is_identifier_char(line[i - 1])));
    if (quote) i = behind_quotes(line, i) - 1;
  }
  return {.code = line, .comment = {}};
}

std::optional<std::string> script_test_name(std::string_view code) {
  code = trim(code);
  if (code.starts_with("async ")) code = trim(code.substr(6));
  if (code.starts_with("def test")) {
    const std::string_view name = code.substr(4);
    return std::string(name.substr(0, name.find('(')));
  }
  static constexpr std::array<std::string_view, 3> calls{"test(", "it(", "test.describe("};
  for (const std::string_view call : calls) {
    if (!code.starts_with(call) || code.size() < call.size() + 2) continue;
    const std::size_t open = call.size();
    if (code[open] != '\'' && code[open] != '"' && code[open] != '`') continue;
    const std::size_t end = behind_quotes(code, open);
    return std::string(code.substr(open + 1, end - open - 2));
  }
  return std::nullopt;
}

}  // namespace millrace::tidy
