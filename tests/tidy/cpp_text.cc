#include "tests/tidy/cpp_text.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "tests/tidy/tree.h"

namespace millrace::tidy {

namespace {

constexpr auto npos = std::string_view::npos;

// Where the raw string that opens at the quote `at` ends (one past its closing quote).
std::size_t end_of_raw_string(std::string_view text, std::size_t at) {
  const std::size_t open = text.find('(', at);
  if (open == npos) return text.size();
  const std::string close = ")" + std::string(text.substr(at + 1, open - at - 1)) + "\"";
  const std::size_t end = text.find(close, open);
  return end == npos ? text.size() : end + close.size();
}

// Where the literal that opens with the quote at `at` ends; an unclosed one ends with its line.
std::size_t end_of_literal(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (std::size_t i = at + 1; i < text.size() && text[i] != '\n'; ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      return i + 1;
    }
  }
  return std::min(text.find('\n', at), text.size());
}

// In 1'000'000 and 0xFF'FF the quote separates digits; in u8'x' it opens a literal.
bool separates_digits(std::string_view text, std::size_t quote) {
  std::size_t begin = quote;
  while (begin > 0 && (is_identifier_char(text[begin - 1]) || text[begin - 1] == '\'')) --begin;
  return begin < quote && std::isdigit(static_cast<unsigned char>(text[begin])) != 0;
}

void blank(std::string& text, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < std::min(end, text.size()); ++i) {
    if (text[i] != '\n') text[i] = ' ';
  }
}

// Macros may hold half a block; they would spoil the matching of braces.
std::string without_preprocessor(std::string_view code) {
  std::string result(code);
  std::size_t at = 0;
  bool continued = false;
  for (const std::string_view line : split(code, '\n')) {
    const bool directive = continued || trim(line).starts_with('#');
    if (directive) blank(result, at, at + line.size());
    continued = directive && trim(line).ends_with('\\');
    at += line.size() + 1;
  }
  return result;
}

// One past the bracket that closes the one at `open`.
std::size_t end_of_brackets(std::string_view code, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < code.size(); ++i) {
    if (code[i] == '(' || code[i] == '{') ++depth;
    if ((code[i] == ')' || code[i] == '}') && --depth == 0) return i + 1;
  }
  return code.size();
}

enum class Opens { scope, function, value };

// Whether the brace after `head` (all since the last statement) is one of a constructor's
// initialisers: `Queue::Queue() : size_{0} {` has two braces after its parentheses.
bool inside_initializer_list(std::string_view head) {
  const std::size_t close = head.find(')');
  if (close == npos || !is_identifier_char(head.back())) return false;
  const std::size_t colon = head.find_first_not_of(" \n", close + 1);
  if (colon == npos || head[colon] != ':' || head.substr(colon).starts_with("::")) return false;
  static constexpr std::array qualifiers{"const", "noexcept", "try"};
  return std::ranges::none_of(qualifiers, [&](const char* word) { return head.ends_with(word); });
}

// `template <class T> struct Strong` -> `struct Strong`
std::string_view without_template(std::string_view head) {
  if (find_word(head, "template") != 0) return head;
  int depth = 0;
  for (std::size_t i = 0; i < head.size(); ++i) {
    if (head[i] == '<') ++depth;
    if (head[i] == '>' && --depth == 0) return trim(head.substr(i + 1));
  }
  return head;
}

Opens what_opens(std::string_view head) {
  static constexpr std::array scopes{"namespace", "class", "struct", "union", "enum", "extern"};
  head = without_template(trim(head));
  if (head.empty() || head.ends_with('=')) return Opens::value;
  const bool called = head.find('(') != npos;
  for (const std::string_view keyword : scopes) {
    const std::size_t at = find_word(head, keyword);
    // With parentheses it is a scope only if it begins as one: `struct alignas(64) Slot`.
    if ((at == 0 && keyword != "extern") || (at != npos && !called)) return Opens::scope;
  }
  if (!called || inside_initializer_list(head)) return Opens::value;
  return Opens::function;
}

// Macros that are a whole declaration and have no semicolon behind them.
bool is_declaring_macro(std::string_view head) {
  head = trim(head);
  return head == "MILLRACE_FIELDS" || head == "MILLRACE_NAMES";
}

bool is_access_label(std::string_view head) {
  head = trim(head);
  return head == "public" || head == "private" || head == "protected";
}

// `Result<Task> Machine::take(Token token) const` -> `Machine::take`; for the macros of tests, the
// test's name: `TEST(Cron, parses_steps)`.
std::string name_of(std::string_view head) {
  head = trim(head);
  const std::size_t open = head.find('(');
  if (head.starts_with("TEST")) return std::string(head.substr(0, head.find(')') + 1));
  const auto belongs = [](char c) { return is_identifier_char(c) || c == ':' || c == '~'; };
  std::size_t begin = open;
  while (begin > 0 && belongs(head[begin - 1])) --begin;
  return begin == open ? std::string(head.substr(0, open))
                       : std::string(head.substr(begin, open - begin));
}

}  // namespace

bool is_identifier_char(char c) {
  return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
}

CppText take_apart(std::string_view text) {
  CppText parts{.code = std::string(text), .comments = std::string(text)};
  std::size_t done = 0;  // up to here `comments` is finished
  std::size_t i = 0;
  const auto comment_until = [&](std::size_t end) {
    blank(parts.comments, done, i);
    blank(parts.code, i, end);
    done = i = end;
  };
  while (i < text.size()) {
    const std::string_view rest = text.substr(i);
    if (rest.starts_with("//")) {
      comment_until(std::min(text.find('\n', i), text.size()));
    } else if (rest.starts_with("/*")) {
      const std::size_t close = text.find("*/", i + 2);
      comment_until(close == npos ? text.size() : close + 2);
    } else if (rest.starts_with('"') || (rest.starts_with('\'') && !separates_digits(text, i))) {
      const bool raw = i > 0 && text[i - 1] == 'R' && text[i] == '"';
      const std::size_t end = raw ? end_of_raw_string(text, i) : end_of_literal(text, i);
      blank(parts.code, i + 1, end - 1);
      i = end;
    } else {
      ++i;
    }
  }
  blank(parts.comments, done, text.size());
  return parts;
}

std::vector<Function> functions_in(std::string_view whole) {
  const std::string text = without_preprocessor(whole);
  const std::string_view code = text;
  std::vector<Function> functions;
  std::size_t head = 0;  // where the statement at hand begins
  std::size_t i = 0;
  while (i < code.size()) {
    const char c = code[i];
    if (c == '(') {
      const bool complete = is_declaring_macro(code.substr(head, i - head));
      i = end_of_brackets(code, i);
      if (complete) head = i;
    } else if (c == '{') {
      const std::string_view before = code.substr(head, i - head);
      switch (what_opens(before)) {
        case Opens::scope:
          head = ++i;
          break;
        case Opens::value:
          i = end_of_brackets(code, i);
          break;
        case Opens::function: {
          const std::size_t end = end_of_brackets(code, i);
          const std::size_t first = line_at(code, i);
          functions.push_back({name_of(before), first, line_at(code, end - 1) - first + 1});
          head = i = end;
        }
      }
    } else {
      const bool label = c == ':' && is_access_label(code.substr(head, i - head));
      ++i;
      if (c == ';' || c == '}' || label) head = i;
    }
  }
  return functions;
}

}  // namespace millrace::tidy
