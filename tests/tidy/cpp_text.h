// Just enough understanding of C++ to check it: where the code is, and where functions begin and
// end. It matches braces and knows a few keywords; it is not a parser and need not be one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::tidy {

bool is_identifier_char(char c);

// A text taken apart. Both parts are as long as the text: what is not theirs is spaces, line breaks
// stay, so an offset means the same place in all three.
struct CppText {
  std::string code;      // without comments and without the insides of literals
  std::string comments;  // nothing else
};

CppText take_apart(std::string_view text);

struct Function {
  std::string name;
  std::size_t line = 0;    // where its body opens
  std::size_t length = 0;  // lines from there to the closing brace, both included
};

// The functions defined at namespace or class scope in the code of such a text. Lambdas and local
// classes count as part of the function around them.
std::vector<Function> functions_in(std::string_view code);

}  // namespace millrace::tidy
