// Tasks as they might have been in another store.
#include "core/as_put.h"
#include "core/transition.h"
#include "tests/random/describe.h"
#include "tests/random/generator.h"

namespace millrace::test {

using namespace std::chrono_literals;

RestoreStep Generator::restore() {
  RestoreStep step;
  const auto most = dice_.between(1U, 3 * scale_);
  while (step.tasks.size() < most) step.tasks.push_back(old_task());
  return step;
}

Task Generator::old_task() {
  const NewTask put = new_task();
  Task task{.id = put.id, .type = put.type, .payload = put.payload, .priority = put.priority};
  task.queue = queue_names[dice_.below(queue_count)];
  if (dice_.percent(2)) task.queue = "ghost";
  task.content_type = put.content_type;
  task.timeout = put.timeout;
  task.max_lost = put.max_lost;
  task.retry = put.retry;
  task.unique = put.unique;
  task.callback = put.callback;
  task.keep_for = put.keep_for;
  task.keep_completed = put.keep_completed;
  task.keep_dead = put.keep_dead;
  task.client_id = put.client_id;
  task.request_id = put.request_id;
  task.group = put.group;
  task.metadata = put.metadata;
  task.tags = put.tags;
  task.parent = put.parent;
  task.cost = put.cost;
  task.start_by = put.start_by;
  task.state = static_cast<TaskState>(dice_.below(state_count));
  // Never a moment at which the generator put a task: the witness tells lives apart by it.
  task.created_at = now_ - (dice_.percent(50) ? 1h : 1s) - soon();
  task.updated_at = now_ - soon();
  task.start = dice_.percent(80) ? now_ - soon() : now_ + soon();
  if (dice_.percent(50)) {
    task.counters = {dice_.below(3), dice_.below(3), dice_.below(3), dice_.below(3)};
    task.started_at = now_ - soon();
    task.previous_start = now_ - soon();
    task.worker = dice_.word("worker", 3);
    task.history.push_back({.started_at = now_, .ended_at = now_, .event = Event::lose});
    task.log.push_back({.at = now_, .text = dice_.word("log", 9)});
    task.progress = dice_.below(dice_.percent(98) ? 101 : 200);
  }
  if (is_final(task.state) || dice_.percent(1)) task.finished_at = now_ - soon();
  // Completed tasks without anything that says so, too: a store must not add it.
  if (task.state == TaskState::completed && dice_.percent(50)) {
    task.result = dice_.percent(20) ? bytes() : dice_.word("result", 10);
  }
  if (task.state == TaskState::retrying || dice_.percent(10)) {
    task.error = TaskError{.message = "again", .failed_at = now_};
    if (dice_.percent(30)) task.error->details = bytes();
    if (dice_.percent(30)) task.error->stack = dice_.word("stack", 9);
    if (dice_.percent(3)) task.error = bad_error();
  }
  if (dice_.percent(15)) {
    task.delivery = DeliveryNote{.attempts = dice_.below(9), .last_status = dice_.word("50", 4)};
  }
  task.cancel_requested = !is_final(task.state) && dice_.percent(10);
  if (task.state == TaskState::processing) task.lease_until = now_ + soon();
  task.after = put.after;
  for (std::size_t i = 0; task.after && i < task.after->tasks.size(); ++i) {
    if (task.state == TaskState::created && dice_.percent(70)) {
      task.waits_for.push_back(task.after->tasks[i]);
    }
  }
  return task;
}

}  // namespace millrace::test
