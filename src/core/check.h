// The single checks that core/validate is made of. Each returns nothing, or an error that names the
// value, shows it and says what is allowed. The checks on the path of every put are inline
// when they pass.
#pragma once

#include "core/limits.h"

#include <millrace/ids.h>
#include <millrace/result.h>
#include <millrace/retry.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>
#include <utility>

namespace millrace {

// The value that a check is about.
struct What {
  std::string_view words;  // as the message calls it: retry base
  std::string_view field;  // as Error::field does: retry.base_ms

  // Where both are the same.
  constexpr What(const char* both)  // NOLINT(google-explicit-constructor): a word is enough
      : words(both), field(both) {}
  constexpr What(std::string_view called, std::string_view at) : words(called), field(at) {}
};

// The error of a part as an error of the whole: `base_ms` inside `retry` is `retry.base_ms`, and an
// error without a field is about all of `retry`.
Error inside(std::string_view place, Error error);
Result<void> inside(std::string_view place, Result<void> checked);

}  // namespace millrace

namespace millrace::check {

// The refusals, out of line: only a refused call pays for a message.
namespace refuse {
std::unexpected<Error> size(const What& what, std::size_t bytes, std::size_t most);
std::unexpected<Error> count(const What& what, std::size_t given, std::size_t most);
std::unexpected<Error> number(const What& what, std::uint64_t value, std::uint64_t least,
                              std::uint64_t most);
std::unexpected<Error> duration(const What& what, Duration value, Duration least, Duration most);
}  // namespace refuse

// At most `most` bytes, else `too_large`.
inline Result<void> size(const What& what, std::size_t bytes, std::size_t most) {
  if (bytes <= most) [[likely]]
    return {};
  return refuse::size(what, bytes, most);
}

// At most `most` of them, else `too_large`; `what` is called by a plural ("tags").
inline Result<void> count(const What& what, std::size_t given, std::size_t most) {
  if (given <= most) [[likely]]
    return {};
  return refuse::count(what, given, most);
}

// A number from `least` to `most`.
inline Result<void> number(const What& what, std::uint64_t value, std::uint64_t least,
                           std::uint64_t most) {
  if (value >= least && value <= most) [[likely]]
    return {};
  return refuse::number(what, value, least, most);
}

// One of the enumerators 0 to `last`: files and requests carry enums as numbers.
template <class Enum>
Result<void> enumerator(const What& what, Enum value, Enum last) {
  return number(what, std::to_underlying(value), 0, std::to_underlying(last));
}

// A duration from `least` to `most`; limits::max_delay is shown as "10 years".
inline Result<void> duration(const What& what, Duration value, Duration least, Duration most) {
  if (value >= least && value <= most) [[likely]]
    return {};
  return refuse::duration(what, value, least, most);
}

// A time limit, where there is one: at least 1 ms, at most ten years.
inline Result<void> timeout(std::optional<Duration> value) {
  if (!value) return {};
  return duration({"timeout", "timeout_ms"}, *value, Duration(1), limits::max_delay);
}

Result<void> some_text(const What& what, std::string_view value, std::size_t most);

// A short text to be shown or compared: UTF-8 without control characters, at most `most` bytes, so
// that every store can keep it as text and every log can print it. Empty is allowed.
inline Result<void> text(const What& what, std::string_view value, std::size_t most) {
  if (value.empty()) return {};
  return some_text(what, value, most);
}

// Not negative.
Result<void> queue_number(const What& what, QueueNumber number);

Result<void> rules(const RetryRules& rules);
Result<void> unique(const UniqueKey& unique);
Result<void> callback(const Callback& callback);
// A rule of a task or a type: `what` is the field. Only a queue counts how many are kept.
Result<void> own_keep(std::string_view what, const std::optional<Keep>& keep);
Result<void> error(const TaskError& error);

}  // namespace millrace::check
