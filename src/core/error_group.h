// Groups of dead letters with the same cause: the same queue, type and code, and messages that
// differ only in what names one task or one moment.
#pragma once

#include <millrace/task.h>
#include <cstdint>
#include <string>
#include <string_view>

namespace millrace {

// The message with numbers, ids, addresses and quoted text replaced by `#`, spaces merged, and cut
// to one line: "connection refused by 10.0.0.7:5432" is "connection refused by #". Must never
// change: stored operations name groups by it.
std::string error_pattern(std::string_view message);

// The group of a task; a task without an error has an empty code and message.
std::uint64_t error_group_of(const Task& task);
// The same for a known pattern.
std::uint64_t error_group_of(std::string_view queue, std::string_view type, std::string_view code,
                             std::string_view pattern);

// As groups are named: sixteen hexadecimal digits.
std::string error_group_name(std::uint64_t group);
bool is_error_group_name(std::string_view text);

}  // namespace millrace
