// The history of queues and of task types as JSON; the history of queues both ways.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <string>
#include <string_view>

#include "broker/history.h"
#include "broker/types_past.h"

namespace millrace::wire {

// `depths`: how many tasks waited and ran. An answer about one type leaves them out, because they
// are counted per queue only.
std::string text_of(const History& history, bool depths = true);
Result<History> history_from(std::string_view text);

// What happened to the types of a queue since then, with rates per second.
std::string text_of(const TypesPast& past, TimePoint since, TimePoint now);

}  // namespace millrace::wire
