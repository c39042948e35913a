// Words of the command line as values. Errors name the flag and say what is allowed.
#pragma once

#include <millrace/queue.h>
#include <millrace/result.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/values.h"

namespace millrace::cli {

Result<Duration> duration_of(std::string_view flag, std::string_view text);
// A moment (2027-01-31T09:00:00Z), or how long from now (10m).
Result<TimePoint> moment_of(std::string_view flag, std::string_view text, TimePoint now);
// The same, but how long ago.
Result<TimePoint> past_of(std::string_view flag, std::string_view text, TimePoint now);
Result<std::uint64_t> number_of(std::string_view flag, std::string_view text, std::uint64_t least,
                                std::uint64_t most);
// A number, or unlimited.
Result<std::uint32_t> count_of(std::string_view flag, std::string_view text);
Result<std::uint8_t> priority_of(std::string_view flag, std::string_view text);
Result<Rate> rate_of(std::string_view flag, std::string_view text);
// 24h, 1000, 24h,1000, forever, none.
Result<Keep> keep_of(std::string_view flag, std::string_view text);
Result<bool> bool_of(std::string_view flag, std::string_view text);
Result<TaskState> state_of(std::string_view flag, std::string_view text);
// One of the names of an enumeration, in the order of its numbers.
Result<std::size_t> choice_of(std::string_view flag, std::string_view text,
                              const std::vector<std::string_view>& names);

// A value, or "none": no such limit.
template <class T, class Read>
auto or_none(Read read) {
  return [read](std::string_view flag, std::string_view text) -> Result<std::optional<T>> {
    if (text == "none") return std::optional<T>();
    auto value = read(flag, text);
    if (!value) return std::unexpected(std::move(value.error()));
    return std::optional<T>(static_cast<T>(*value));
  };
}
inline auto number_up_to(std::uint64_t most, std::uint64_t least = 1) {
  return [=](std::string_view flag, std::string_view text) {
    return number_of(flag, text, least, most);
  };
}
// When a pause ends that --for and --until say; without either, never.
Result<TimePoint> pause_end(const std::optional<std::string>& for_time,
                            const std::optional<std::string>& until, TimePoint now);

// As in a path of the API: digits are a queue's number, a UUID is its id, anything else its name.
QueueRef queue_of(std::string_view text);
// An id, with or without task- before it, or a number.
Result<TaskRef> task_of(std::string_view text);

// Reads flags that may be missing, and keeps the first error.
class FlagReader {
 public:
  template <class To, class Read>
  void operator()(std::string_view flag, const std::optional<std::string>& text, To& to,
                  Read read) {
    if (!text || error_) return;
    auto value = read(flag, *text);
    if (value) {
      // Numbers were read within bounds that fit.
      if constexpr (std::is_arithmetic_v<To>) {
        to = static_cast<To>(*value);
      } else {
        to = std::move(*value);
      }
    } else {
      error_ = std::move(value.error());
    }
  }
  void refuse(Error error) {
    if (!error_) error_ = std::move(error);
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace millrace::cli
