#include <fmt/format.h>

#include <algorithm>

#include "core/check.h"
#include "core/limits.h"
#include "core/transition.h"
#include "core/uuid.h"
#include "core/validate.h"
#include "store/embedded/verbs.h"

namespace millrace::embedded {
namespace {

std::unexpected<Error> wrong_state(const Slot& slot, std::string_view verb,
                                   std::string_view allowed) {
  return fail(ErrorCode::conflict,
              fmt::format("task {} is {} and cannot be {}; {}", to_text(slot.id.value),
                          name_of(slot.state), verb, allowed));
}

// A revived task takes its unique key back, unless another task holds it by now.
Result<void> check_key_is_free(const State& state, const Slot& slot, TimePoint now) {
  if (!slot.has_unique) return {};
  const UniqueKey unique = state.unique(slot);
  const Holder* holder = state.holders.find(slot.queue, unique.key, now);
  if (holder == nullptr || holder->id == slot.id) return {};
  return fail(ErrorCode::conflict,
              fmt::format("task {} cannot be retried: its unique key \"{}\" is held by task {}",
                          to_text(slot.id.value), unique.key, to_text(holder->id.value)));
}

void keep_old_outcome(State& state, Slot& slot, TimePoint now) {
  Notes notes = state.notes(slot);
  add_to_history(notes, {.started_at = slot.moment, .ended_at = now, .event = Event::revive},
                 notes.error);
  notes.error.reset();
  notes.result.clear();
  notes.progress = 0;
  notes.delivery.reset();
  state.set_notes(slot, notes);
}

bool can_move(TaskState state) {
  return is_waiting(state) || next_state(state, Event::revive).has_value();
}

// The target of a move that is allowed; nullptr: the task is there already.
Result<const QueueEntry*> check_move(const State& state, const Slot& slot, const QueueRef& to,
                                     TimePoint now) {
  if (!can_move(slot.state)) {
    return wrong_state(slot, "moved", "only waiting, failed, dead and cancelled tasks can");
  }
  const QueueEntry* target = state.queue(to);
  if (target == nullptr) return unknown_queue(to);
  if (target->index == slot.queue) return nullptr;
  if (auto open = check_open(*target); !open) return std::unexpected(std::move(open.error()));
  if (!slot.has_unique) return target;
  const UniqueKey unique = state.unique(slot);
  if (!state.holds_key(slot, unique, now)) return target;
  const Holder* holder = state.holders.find(target->index, unique.key, now);
  if (holder == nullptr) return target;
  return fail(ErrorCode::conflict,
              fmt::format("task {} cannot be moved: its unique key \"{}\" is held in queue \"{}\" "
                          "by task {}",
                          to_text(slot.id.value), unique.key, target->settings().name,
                          to_text(holder->id.value)));
}

void count_delivery(State& state, Slot& slot, const std::string& status) {
  Notes notes = state.notes(slot);
  if (!notes.delivery) notes.delivery.emplace();
  ++notes.delivery->attempts;
  notes.delivery->last_status = status;
  state.set_notes(slot, notes);
}

void keep_answer(State& state, Slot& slot, const std::string& answer) {
  Notes notes = state.notes(slot);
  notes.answer = answer;
  state.set_notes(slot, notes);
}

// Whether the state allows it. What a release waits for is told before what other changes need.
Result<void> check_waits(const Slot& slot, const TaskUpdate& update) {
  if (update.expect_version && update.expect_version->value != slot.version) {
    return fail(ErrorCode::conflict,
                fmt::format("task {} has the version {}, not {}: it has changed since; it is {}",
                            to_text(slot.id.value), slot.version, update.expect_version->value,
                            name_of(slot.state)),
                "expect_version");
  }
  if (update.release && slot.state == TaskState::processing) {
    return fail(ErrorCode::conflict,
                fmt::format("task {} is processing and has not been parked yet; release it again "
                            "when it is parked",
                            to_text(slot.id.value)));
  }
  if (update.release && slot.state != TaskState::created) {
    return wrong_state(slot, "released", "only held and parked tasks can");
  }
  if ((update.priority || update.start) && !is_waiting(slot.state)) {
    return wrong_state(slot, "changed", "only waiting tasks can");
  }
  return {};
}

Result<void> check_update(const Slot& slot, const TaskUpdate& update, TimePoint now) {
  if (update.priority && *update.priority > limits::max_priority) {
    return fail(ErrorCode::invalid,
                fmt::format("priority is {}; 0 to 9 are allowed, 9 first", *update.priority),
                "priority");
  }
  if (update.start && *update.start > later(now, limits::max_delay)) {
    return fail(ErrorCode::invalid, "start is more than ten years away", "start");
  }
  if (update.delivery_attempt && update.delivery_attempt->size() > limits::max_error_text) {
    return fail(ErrorCode::too_large,
                fmt::format("delivery status has {} bytes; at most {}",
                            update.delivery_attempt->size(), limits::max_error_text));
  }
  if (auto good = check_waits(slot, update); !good) return good;
  if (update.answer && !update.release) {
    return fail(ErrorCode::invalid, "data is given without a release", "data");
  }
  return check::size("data", update.answer ? update.answer->size() : 0, limits::max_answer);
}

void move_start(Slot& slot, const TaskUpdate& update, TimePoint now) {
  const bool parked = is_parked(slot);
  if (update.start) slot.start = std::max(now, *update.start);
  // The start of a parked task is when it would have been released without an answer.
  if (update.release) slot.start = parked && !update.start ? now : std::max(now, slot.start);
  if (update.release) {
    slot.state = waiting_state(slot.start, now);
  } else if (update.start && slot.state != TaskState::created &&
             slot.state != TaskState::retrying) {
    slot.state = waiting_state(slot.start, now);
  }
}

}  // namespace

Result<TaskState> cancel(State& state, const CancelRequest& request, TimePoint now) {
  const auto at = state.find(request.id);
  if (at == no_slot) return unknown_task(request.id);
  Slot& slot = state.slot(at);
  if (is_final(slot.state)) {
    return wrong_state(slot, "cancelled", "only waiting and running tasks can");
  }
  const TaskError error{.code = "cancelled", .message = request.reason, .failed_at = now};
  const Settlement as_settled{.id = request.id,
                              .expect = Held{},
                              .event = Event::cancel,
                              .error = error,
                              .follow_ups = request.follow_ups};
  if (auto good = validate(as_settled); !good) return std::unexpected(std::move(good.error()));
  if (auto good = check_follow_ups(state, request.follow_ups, now); !good) {
    return std::unexpected(std::move(good.error()));
  }
  if (is_waiting(slot.state)) {
    const TaskState next = end_waiting(state, at, Event::cancel, error, now);
    for (const NewTask& task : request.follow_ups) add_follow_up(state, task, now);
    tell_just_ended(state, now);
    return next;
  }
  if (slot.cancel_requested) return slot.state;
  state.unindex(at);
  slot.cancel_requested = true;
  state.store(at, now);
  return slot.state;
}

Result<TaskState> revive(State& state, const TaskId& id, TimePoint now) {
  const auto at = state.find(id);
  if (at == no_slot) return unknown_task(id);
  Slot& slot = state.slot(at);
  const auto next = next_state(slot.state, Event::revive);
  if (!next) return wrong_state(slot, "retried", "only failed, dead and cancelled tasks can");
  if (auto free = check_key_is_free(state, slot, now); !free) {
    return std::unexpected(std::move(free.error()));
  }
  state.unindex(at);
  keep_old_outcome(state, slot, now);
  slot.state = *next;
  slot.counters = {};
  slot.start = now;
  slot.previous_start = no_moment;
  slot.started_at = no_moment;
  slot.moment = no_moment;
  slot.has_start_by = false;  // it was meant for the first life
  state.store(at, now);
  return *next;
}

Result<TaskState> remove(State& state, const TaskId& id, TimePoint now) {
  const auto at = state.find(id);
  if (at == no_slot) return unknown_task(id);
  const TaskState was = state.slot(at).state;
  if (was == TaskState::processing) {
    return wrong_state(state.slot(at), "removed", "cancel it first");
  }
  if (state.untold.contains(id)) {
    return wrong_state(state.slot(at), "removed yet",
                       "many tasks waited for it and are being told; try again in a second");
  }
  drop(state, at, now);
  return was;
}

Result<TaskState> update(State& state, const TaskUpdate& update, TimePoint now) {
  const auto at = state.find(update.id);
  if (at == no_slot) return unknown_task(update.id);
  Slot& slot = state.slot(at);
  if (auto good = check_update(slot, update, now); !good) {
    return std::unexpected(std::move(good.error()));
  }
  const QueueEntry* target = nullptr;
  if (update.queue) {
    const auto found = check_move(state, slot, *update.queue, now);
    if (!found) return std::unexpected(found.error());
    target = *found;
  }
  state.unindex(at);
  if (update.release && slot.has_waits) stop_waiting(state, at);
  if (target != nullptr) state.move(at, *target, now);
  if (update.priority) slot.priority = *update.priority;
  move_start(slot, update, now);
  if (update.delivery_attempt) count_delivery(state, slot, *update.delivery_attempt);
  if (update.answer) keep_answer(state, slot, *update.answer);
  state.store(at, now);
  return slot.state;
}

}  // namespace millrace::embedded
