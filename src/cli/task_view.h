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

// The advice for a task that does not exist.
inline constexpr std::string_view how_to_find =
    "A task that has ended is kept as long as the retention of its queue says; `millrace tasks` "
    "lists tasks.";

Paint paint_of(TaskState state);

// One line per task.
Table table_of(const std::vector<Task>& tasks, TimePoint now);

// Everything about a task. `why`, if given: what it waits for.
std::string view_of(const Task& task, const std::optional<Explanation>& why, TimePoint now,
                    const Look& look);

// Waits until the task has ended, at most `wait`, prints its result and its state. Retries while a
// server is away that has answered before; `was_there`: it has answered a moment ago.
Exit await_end(Session& session, const TaskRef& task, std::optional<Duration> wait,
               bool was_there = false);

}  // namespace millrace::cli
