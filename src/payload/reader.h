// Reads a JSON text into values, in one pass and without a tree: a cursor and the first error.
// Nothing is read after an error.
#pragma once

#include <millrace/fields.h>
#include <millrace/result.h>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace millrace::json {

class Reader {
 public:
  explicit Reader(std::string_view text)
      : begin_(text.data()), at_(text.data()), end_(text.data() + text.size()) {}

  bool good() const { return !error_; }

  // The first character of the next value; 0 at the end of the text.
  char peek();
  bool null();
  // Skips the next value; nullopt: it is not JSON.
  std::optional<std::string_view> raw();
  // The next value if it is a string, unescaped: a part of the text itself, or of `scratch` if it
  // has escapes. Nullopt, without an error: it is another kind of value.
  std::optional<std::string_view> string(std::string& scratch);
  // The next value if it is a number, as it is written; as above.
  std::optional<std::string_view> number();

  bool open(char bracket, const Place& at);
  bool item(bool& first);
  std::optional<std::string_view> key(std::string& scratch, bool& first);

  // "payload.to must be text, but is 7"; skips the value it shows.
  void refuse_next(const Place& at, std::string_view allowed);
  // The same about a value that has been skipped.
  void refuse_value(const Place& at, std::string_view allowed, std::string_view raw);
  void refuse(std::string message);

  // The error, if there is one. A text that is not JSON is always reported as that.
  std::optional<Error> finish(std::string_view what);

 private:
  void broken(const char* where);

  const char* begin_;
  const char* at_;
  const char* end_;
  std::size_t depth_ = 0;
  bool malformed_ = false;
  std::optional<Error> error_;
};

// payload.address.lines[2], payload.data["first name"]
std::string words(const Place& at);

}  // namespace millrace::json
