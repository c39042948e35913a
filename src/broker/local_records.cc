#include "broker/local_records.h"

namespace millrace {

void record(Books& books, const RecordedTasks& tasks, const Broker::States& states, EventKind what,
            TimePoint now) {
  Recorder recorder(books, now);
  for (std::size_t i = 0; i < states.size() && i < tasks.size(); ++i) {
    if (states[i] && tasks[i]) recorder.happened(about(*tasks[i]), what, *states[i]);
  }
}

void record_cancelled(Books& books, const std::vector<Cancelled>& tasks,
                      const Broker::States& states, TimePoint now) {
  Recorder recorder(books, now);
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (!states[i] || !tasks[i].task) continue;
    const About task = about(*tasks[i].task);
    if (*states[i] != TaskState::cancelled) {
      recorder.happened(task, EventKind::cancel_requested, *states[i]);
      continue;
    }
    recorder.ended(task, Event::cancel, *states[i], std::nullopt);
    tasks[i].follow_ups.record(recorder);
  }
}

// A delivery attempt is not an event.
std::optional<Changed> change_of(std::size_t place, const TaskUpdate& update, const Task& task) {
  if (!update.release && !update.priority && !update.start && !update.queue) return std::nullopt;
  return Changed{place, recorded_task(task),
                 update.queue     ? EventKind::moved
                 : update.release ? EventKind::released
                                  : EventKind::changed};
}

void record_changed(Books& books, const std::vector<Changed>& tasks, const Broker::States& states,
                    TimePoint now) {
  if (tasks.empty()) return;
  Recorder recorder(books, now);
  for (const auto& [place, task, what] : tasks) {
    const auto& state = states[place];
    if (state) recorder.happened(about(task), what, *state);
  }
}

}  // namespace millrace
