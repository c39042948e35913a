// Just enough understanding of test scripts (TypeScript, JavaScript, Python, shell, CMake, YAML) to
// see which requirements they name: where comments are, and where a test begins.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millrace::tidy {

// A file of tests that is no C++: a script in tests/, or anywhere one whose name says so
// (x.spec.ts, x.test.yml, x_test.py, test_x.py).
bool is_test_script(std::string_view path);

// A script line by line: what of each line is code and what is comment.
class ScriptReader {
 public:
  explicit ScriptReader(std::string_view path);

  struct Line {
    std::string_view code;
    std::string_view comment;
  };
  Line read(std::string_view line);

 private:
  Line continue_block(std::string_view line);

  bool slashes_ = false;  // comments as in C++; otherwise they begin with '#'
  bool in_block_ = false;
};

// The name of the test that a line of code begins: test('a name', ...), it("..."), def test_name().
std::optional<std::string> script_test_name(std::string_view code);

}  // namespace millrace::tidy
