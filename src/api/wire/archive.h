// Domain values as an export has them: lines of JSON, one value each, under a key that says what it
// is.
//
// Moments are RFC 3339 in UTC with milliseconds, or "never"; durations are whole milliseconds under
// a key that ends in _ms; enumerators are their names; a number without a limit is "unlimited".
// Bytes (payload, result, metadata, texts of handlers) are a string with exactly these bytes if
// they are UTF-8, and otherwise base64 under the key with _base64 behind it. What is empty is left
// out, and null means the same as left out.
//
// Reading checks the shape: types, names, whole numbers in range. Whether a value is within the
// limits is core/validate's to say. Errors are `invalid` and name the place: task.retry.base_ms.
#pragma once

#include <millrace/result.h>
#include <string>
#include <string_view>

#include "api/wire/text_reader.h"
#include "api/wire/text_writer.h"

namespace millrace::wire {

template <HasFields T>
std::string archived(const T& value) {
  std::string out;
  TextWriter writer(out, Style::archive);
  fields(value, writer);
  writer.close();
  return out;
}

// {"task":{...}} and the end of the line.
template <HasFields T>
void append_line(std::string& out, std::string_view kind, const T& value) {
  out += "{\"";
  out += kind;
  out += "\":";
  TextWriter writer(out, Style::archive);
  fields(value, writer);
  writer.close();
  out += "}\n";
}

// One line on its way in: first what it is, then its value.
class ArchiveLine {
 public:
  // Keys that nobody knows are skipped in what a newer Millrace wrote, and refused otherwise: a
  // file may be written by hand.
  explicit ArchiveLine(std::string_view text, bool newer = false)
      : in_(text, newer ? Source::newer_archive : Source::archive) {}

  // The only key of the line. It stays good as long as the text and this do.
  Result<std::string_view> kind();

  // The value, and nothing behind it. Errors call it by the line's kind.
  template <class T>
  Result<T> value() {
    T value{};
    if (auto good = value_into(value); !good) return std::unexpected(std::move(good.error()));
    return value;
  }
  // The same where it is to stay: to move a task costs as much as to read a part of it.
  template <class T>
  Result<void> value_into(T& to) {
    read(in_, to, Path{.key = kind_});
    return end();
  }
  // The value as it stands there, whatever it is.
  Result<std::string_view> raw();

 private:
  Result<void> end();
  Error error();

  Input in_;
  std::string scratch_;
  std::string_view kind_;
};

// A value by itself. `what` is how errors call it: "task".
template <class T>
Result<T> from_archive(std::string_view text, std::string_view what, bool newer = false) {
  auto value = read_text<T>(text, what, newer ? Source::newer_archive : Source::archive);
  if (!value) return std::unexpected(std::move(value.error().error));
  return std::move(*value);
}

}  // namespace millrace::wire
