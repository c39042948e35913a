// Of what LocalBroker did to tasks whoever watches hears when it is stored; until then it is noted
// here who they were.
#pragma once

#include <millrace/ids.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <cstddef>
#include <optional>
#include <vector>

#include "broker/broker.h"
#include "broker/telling.h"

namespace millrace {

// By place among those that were asked for; nullopt: there is no such task.
using ToldTasks = std::vector<std::optional<ToldTask>>;

// The same happened to all that were not refused.
void tell(Books& books, const ToldTasks& tasks, const Broker::States& states, Happened what,
          TimePoint now);

// A task that is to be cancelled, and what is put if it is.
struct Cancelled {
  std::optional<ToldTask> task = std::nullopt;
  NewOnes follow_ups = {};
};
void tell_cancelled(Books& books, const std::vector<Cancelled>& tasks, const Broker::States& states,
                    TimePoint now);

// A task that is to be changed, by its place among the updates.
struct Changed {
  std::size_t place = 0;
  ToldTask task = {};
  Happened what = Happened::changed;
};
// Of a task that moves it is told with the queue where it is then.
std::optional<Changed> change_of(std::size_t place, const TaskUpdate& update, const Task& task);
void tell_changed(Books& books, const std::vector<Changed>& tasks, const Broker::States& states,
                  TimePoint now);

}  // namespace millrace
