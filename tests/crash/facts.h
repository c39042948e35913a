// What the child tells its parent, one fact per line. A line is short and written in one go, so
// lines of several threads do not mix, and what was written survives the death of the writer.
//
//   begun                       the program runs
//   opened                      the journal is open
//   put ID                      acknowledged
//   taken ID TOKEN              acknowledged
//   settling ID TOKEN HOW       about to be asked for; may or may not come to pass
//   settled ID TOKEN HOW        acknowledged
//   wrong ...                   the child saw something that must not be
#pragma once

#include <millrace/ids.h>
#include <array>
#include <string>
#include <string_view>

namespace millrace::test {

inline constexpr std::array<const char*, 2> crash_queues = {"mail", "bulk"};

// Bytes that follow from the id, so that any process can check them. Some are long.
std::string payload_of(const TaskId& id);
std::string result_of(const TaskId& id);

}  // namespace millrace::test
