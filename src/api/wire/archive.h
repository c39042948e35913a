// Values as an export has them: lines of JSON, one value per line, under a key that names its kind.
//
// Moments are RFC 3339 in UTC with milliseconds, or "never"; durations are whole milliseconds under
// a key that ends in _ms; enumerators are their names; a number without a limit is "unlimited".
// Bytes (payload, result, metadata, texts of handlers) are a string with exactly these bytes if
// they are UTF-8, and otherwise base64 under the key with the suffix _base64. Empty values are left
// out, and null means the same as left out.
//
// Reading checks the shape: types, names, whole numbers in range. core/validate checks the limits.
// Errors are `invalid` and name the place: task.retry.base_ms.
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

// Reads one line: first its kind, then its value.
class ArchiveLine {
 public:
  // Unknown keys are skipped in what a newer version wrote, and refused otherwise, because a file
  // may be written by hand.
  explicit ArchiveLine(std::string_view text, bool newer = false)
      : in_(text, newer ? Source::newer_archive : Source::archive) {}

  // The only key of the line. Valid as long as the text and this object are.
  Result<std::string_view> kind();

  // The value, with nothing after it. Errors call it by the kind of the line.
  template <class T>
  Result<T> value() {
    T value{};
    if (auto good = value_into(value); !good) return std::unexpected(std::move(good.error()));
    return value;
  }
  // The same, read in place: moving a task costs as much as reading a part of it.
  template <class T>
  Result<void> value_into(T& to) {
    read(in_, to, Path{.key = kind_});
    return end();
  }
  // The text of the value, whatever it is.
  Result<std::string_view> raw();

 private:
  Result<void> end();
  Error error();

  Input in_;
  std::string scratch_;
  std::string_view kind_;
};

// A value by itself. `what` names it in errors: "task".
template <class T>
Result<T> from_archive(std::string_view text, std::string_view what, bool newer = false) {
  auto value = read_text<T>(text, what, newer ? Source::newer_archive : Source::archive);
  if (!value) return std::unexpected(std::move(value.error().error));
  return std::move(*value);
}

}  // namespace millrace::wire
