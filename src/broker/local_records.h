// What LocalBroker did to tasks becomes an event only when it is stored; until then, these notes
// keep which tasks they were.
#pragma once

#include <millrace/ids.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <cstddef>
#include <optional>
#include <vector>

#include "broker/broker.h"
#include "broker/recorder.h"

namespace millrace {

// By place among the requested tasks; nullopt: there is no such task.
using RecordedTasks = std::vector<std::optional<RecordedTask>>;

// Reports the same event for all tasks that were not refused.
void record(Books& books, const RecordedTasks& tasks, const Broker::States& states, EventKind what,
            TimePoint now);

// A task that is to be cancelled, and what is put if it is.
struct Cancelled {
  std::optional<RecordedTask> task = std::nullopt;
  RecordedPuts follow_ups = {};
};
void record_cancelled(Books& books, const std::vector<Cancelled>& tasks,
                      const Broker::States& states, TimePoint now);

// A task that is to be changed, by its place among the updates.
struct Changed {
  std::size_t place = 0;
  RecordedTask task = {};
  EventKind what = EventKind::changed;
};
// The event of a task that moves names its new queue.
std::optional<Changed> change_of(std::size_t place, const TaskUpdate& update, const Task& task);
void record_changed(Books& books, const std::vector<Changed>& tasks, const Broker::States& states,
                    TimePoint now);

}  // namespace millrace
