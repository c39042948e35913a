// Tasks on a terminal.
#pragma once

#include <millrace/task.h>
#include <millrace/time.h>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broker/broker.h"
#include "cli/session.h"
#include "cli/table.h"

namespace millrace::cli {

// What to say of a task that is not there.
inline constexpr std::string_view how_to_find =
    "A task that has ended stays as long as its queue keeps it; `millrace tasks` lists those there "
    "are.";

Paint paint_of(TaskState state);

// A line a task.
Table table_of(const std::vector<Task>& tasks, TimePoint now);

// Everything there is to say. `why`, if there is one: what it waits for.
std::string view_of(const Task& task, const std::optional<Explanation>& why, TimePoint now,
                    const Look& look);

// Waits until the task has ended, prints its result and says how it went. `wait`: at most so long.
// A server that was there may come back meanwhile; `was_there`: it was a moment ago.
Exit await_end(Session& session, const TaskRef& task, std::optional<Duration> wait,
               bool was_there = false);

}  // namespace millrace::cli
