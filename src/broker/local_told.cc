#include "broker/local_told.h"

namespace millrace {

void tell(Books& books, const ToldTasks& tasks, const Broker::States& states, Happened what,
          TimePoint now) {
  Telling telling(books, now);
  for (std::size_t i = 0; i < states.size() && i < tasks.size(); ++i) {
    if (states[i] && tasks[i]) telling.happened(about(*tasks[i]), what, *states[i]);
  }
}

void tell_cancelled(Books& books, const std::vector<Cancelled>& tasks, const Broker::States& states,
                    TimePoint now) {
  Telling telling(books, now);
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (!states[i] || !tasks[i].task) continue;
    const About task = about(*tasks[i].task);
    if (*states[i] != TaskState::cancelled) {
      telling.happened(task, Happened::cancel_requested, *states[i]);
      continue;
    }
    telling.ended(task, Event::cancel, *states[i], std::nullopt);
    tasks[i].follow_ups.tell(telling);
  }
}

// A delivery attempt is no event.
std::optional<Changed> change_of(std::size_t place, const TaskUpdate& update, const Task& task) {
  if (!update.release && !update.priority && !update.start && !update.queue) return std::nullopt;
  return Changed{place, told_of(task),
                 update.queue     ? Happened::moved
                 : update.release ? Happened::released
                                  : Happened::changed};
}

void tell_changed(Books& books, const std::vector<Changed>& tasks, const Broker::States& states,
                  TimePoint now) {
  if (tasks.empty()) return;
  Telling telling(books, now);
  for (const auto& [place, task, what] : tasks) {
    const auto& state = states[place];
    if (state) telling.happened(about(task), what, *state);
  }
}

}  // namespace millrace
