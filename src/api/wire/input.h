// Reads a JSON text into values, in one pass and without a tree: a cursor and the first error.
// Nothing is read after an error.
#pragma once

#include <millrace/result.h>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/wire/path.h"

namespace millrace::wire {

// Why a text could not be read; the error's field is the path of the value that was wrong.
struct Refusal {
  Error error = {};
  bool malformed = false;  // it is not JSON at all
};

template <class T>
using Read = std::expected<T, Refusal>;

// Who wrote a text. In a request every unknown key is refused. An answer may come from a newer
// server and may have more keys; its bytes are exactly those stored. In an archive bytes are
// strings; one from a newer version may have more keys.
enum class Source : std::uint8_t { request, answer, archive, newer_archive };

class Input {
 public:
  explicit Input(std::string_view text, Source source = Source::request)
      : begin_(text.data()), at_(text.data()), end_(text.data() + text.size()), source_(source) {}

  bool good() const { return !error_; }
  bool is_request() const { return source_ == Source::request; }
  bool is_answer() const { return source_ == Source::answer; }
  bool is_archive() const { return source_ >= Source::archive; }
  bool skips_unknown() const { return is_answer() || source_ == Source::newer_archive; }
  Refusal& refusal() { return *error_; }

  // The first character of the next value; 0 at the end of the text.
  char peek();
  // Skips a null; false: something else is there.
  bool null();

  // A string, unescaped: a part of the text itself, or of `scratch` if it has escapes.
  std::optional<std::string_view> string(std::string& scratch);
  // A string or a refusal that says what is allowed.
  std::optional<std::string_view> string(std::string& scratch, const Path& at,
                                         std::string_view allowed);
  // The text of the next value, of any kind.
  std::optional<std::string_view> raw();
  // The same with the white space around it, between the colon and the comma.
  std::optional<std::string_view> raw_with_space();

  // Enters an object or a list; false: the value is another kind (refused).
  bool open(char bracket, const Path& at);
  // The next key, up to the value after its colon; nullopt: there is none, or an error.
  std::optional<std::string_view> key(std::string& scratch, bool& first);
  // True: another item follows. False: the list is over, or an error.
  bool item(bool& first);

  // The position of the cursor, to return to later without an error.
  const char* place() const { return at_; }
  void back_to(const char* place) {
    at_ = place;
    error_.reset();
  }

  // Only white space may follow. Always call it: it also makes an error in the JSON itself take
  // precedence over any other error.
  void finish();

  // "priority is "high"; allowed is a whole number"; skips the value it shows.
  void refuse_next(const Path& at, std::string_view allowed);
  void refuse(const Path& at, std::string message);
  void refuse(const Path& at, const Error& why);
  void miss(const Path& at);
  void too_long(const Path& at, std::size_t most);
  void twice(const Path& at);
  void not_known(const Path& at, std::span<const std::string> known);

 private:
  void broken(const char* where);

  const char* begin_;
  const char* at_;
  const char* end_;
  Source source_;
  std::optional<Refusal> error_;
};

// The value, if the text ends here and nothing in it was refused.
template <class T>
Read<T> finished(Input& in, T value) {
  in.finish();
  if (!in.good()) return std::unexpected(std::move(in.refusal()));
  return value;
}

// Resolves the escapes of a string that was skipped before and so is well-formed.
void unescape(std::string_view text, std::string& to);

}  // namespace millrace::wire
