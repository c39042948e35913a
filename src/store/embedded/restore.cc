#include <fmt/format.h>

#include <algorithm>

#include "core/as_put.h"
#include "core/transition.h"
#include "core/uuid.h"
#include "core/validate.h"
#include "store/embedded/verbs.h"

namespace millrace::embedded {
namespace {

// No worker holds a lease of this store on a task that ran elsewhere.
TaskState restored_state(const Task& task) {
  return task.state == TaskState::processing ? TaskState::queued : task.state;
}

TimePoint window_end(const Task& task) {
  return later(task.created_at, task.unique->window);
}

// Whether the task, as it will be here, keeps others from using its key.
bool will_hold_key(const Task& task, TimePoint now) {
  if (!task.unique) return false;
  switch (task.unique->scope) {
    case UniqueScope::until_started:
      return is_waiting(restored_state(task)) && task.counters.deliveries == 0;
    case UniqueScope::until_finished:
      return !is_final(task.state);
    case UniqueScope::window:
      return now < window_end(task);
  }
  return false;
}

void set_moments(Slot& slot, const Task& task) {
  slot.start = task.start;
  slot.previous_start = task.previous_start.value_or(no_moment);
  slot.started_at = task.started_at.value_or(no_moment);
  slot.moment = task.finished_at.value_or(no_moment);
}

// Those that are here and have ended tell it so; the others may come later.
std::optional<Waits> waits_of_restored(const State& state, const Task& task) {
  if (task.waits_for.empty()) return std::nullopt;
  std::vector<TaskId> open = task.waits_for;
  std::ranges::sort(open);
  return waits_of(state, *task.after,
                  [&](const TaskId& id) { return std::ranges::binary_search(open, id); });
}

// A worker that still runs the task elsewhere has a token of that store, and all stores count
// tokens alike. So this store goes on counting from a place that only its seed knows, and the old
// token settles nothing.
void leave_old_tokens_behind(State& state) {
  constexpr Uuid any{};
  constexpr unsigned kept_bits = 38;  // of the 40 that count, so that there is always room to go on
  const std::uint64_t place = UuidHash{state.options().hash_seed}(any) >> (64U - kept_bits);
  state.resume(0, place, 0);
}

Put add_restored(State& state, QueueEntry& queue, const Task& task, TimePoint now) {
  NewTask given = as_put(task);
  if (task.state != TaskState::processing) given.start_by = task.start_by;
  if (task.state == TaskState::processing) leave_old_tokens_behind(state);
  const auto at = state.add(given, queue, task.created_at);
  Slot& slot = state.slot(at);
  slot.state = restored_state(task);
  slot.counters = task.counters;
  slot.cancel_requested = task.cancel_requested;
  slot.worker = state.workers.hold(task.worker);
  set_moments(slot, task);
  state.set_notes(slot, {.result = task.result,
                         .error = task.error,
                         .progress = task.progress,
                         .delivery = task.delivery,
                         .log = task.log,
                         .history = task.history,
                         .checkpoint = task.checkpoint,
                         .answer = task.answer,
                         .waits = waits_of_restored(state, task)});
  if (task.unique && task.unique->scope == UniqueScope::window && will_hold_key(task, now)) {
    state.holders.set(queue.index, task.unique->key, {slot.id, {slot.number}, window_end(task)});
    state.changes.note({Thing::window, queue.index, task.unique->key});
  }
  if (slot.has_waits && !slot.orphaned && !state.notes(slot).waits->any_open()) {
    release_child(state, slot, now);
  }
  if (slot.has_waits) state.link(at);
  state.store(at, task.updated_at);
  if (is_final(slot.state)) state.note_end(slot.id);
  tell_just_ended(state, now);
  return {.id = slot.id, .number = {slot.number}, .state = slot.state};
}

}  // namespace

Result<Put> restore(State& state, QueueFinder& queues, const Task& task, TimePoint now) {
  if (auto good = validate(task); !good) return std::unexpected(std::move(good.error()));
  if (auto existing = find_id(state, task.id)) return *existing;
  QueueEntry* queue = queues.find(task.queue);
  if (queue == nullptr) return unknown_queue(task.queue);
  if (will_hold_key(task, now)) {
    if (auto holder = find_holder(state, *queue, task.unique, now)) return *holder;
  }
  if (queue->queue.removing) {
    return fail(ErrorCode::conflict, fmt::format("queue \"{}\" is being removed", task.queue));
  }
  return add_restored(state, *queue, task, now);
}

}  // namespace millrace::embedded
