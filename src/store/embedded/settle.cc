#include <fmt/format.h>

#include <algorithm>

#include "core/clip.h"
#include "core/decide.h"
#include "core/ensure.h"
#include "core/limits.h"
#include "core/transition.h"
#include "core/uuid.h"
#include "core/validate.h"
#include "store/embedded/verbs.h"

namespace millrace::embedded {
namespace {

// The run may outlast its timeout by this much, so that the worker can still report the timeout.
constexpr Duration timeout_grace = std::chrono::seconds(30);

// A history line is a hint; the whole error is kept beside it.
constexpr std::size_t history_text = 200;

bool holds(const Slot& slot, Token token) {
  return slot.state == TaskState::processing && slot.token == token.value;
}

// The answer to a settlement that is not to be applied; nullopt: it may be applied.
std::optional<Result<Settled>> check(const State& state, const Slot& slot,
                                     const Settlement& settlement, TimePoint now) {
  if (const auto* held = std::get_if<Held>(&settlement.expect)) {
    if (holds(slot, held->token)) return std::nullopt;
    const bool settled = slot.token == held->token.value && slot.token != 0;
    if (!settled) return lease_lost(slot.id);
    return Settled{SettleStatus::already, slot.state};
  }
  if (const auto* lost = std::get_if<Lost>(&settlement.expect)) {
    if (holds(slot, lost->token) && slot.moment == lost->until && lost->until <= now) {
      return std::nullopt;
    }
    return lease_lost(slot.id);
  }
  const auto version = std::get<Unchanged>(settlement.expect).version;
  const bool same = is_waiting(slot.state) && slot.version == version.value;
  if (settlement.event == Event::cancel) {
    if (same && slot.orphaned) return std::nullopt;
    return fail(ErrorCode::conflict,
                fmt::format("task {} changed meanwhile, or waits for no task that ended",
                            to_text(slot.id.value)));
  }
  if (same && slot.has_start_by && state.start_by(slot) <= now) return std::nullopt;
  return fail(ErrorCode::conflict,
              fmt::format("task {} changed meanwhile, or its start_by has not passed",
                          to_text(slot.id.value)));
}

// What a task that goes back to the queue after a run takes with it.
void set_return(Slot& slot, const Settlement& settlement) {
  slot.previous_start = slot.start;
  slot.start = settlement.ready;
}

// What is kept until the task is completed: an operator may retry one that is dead or cancelled,
// and what it has done is not to be done again.
void keep_steps(Notes& notes, const Settlement& settlement, TaskState next) {
  if (next == TaskState::completed) {
    notes.checkpoint.clear();
    notes.answer.reset();
    return;
  }
  if (settlement.checkpoint) notes.checkpoint = *settlement.checkpoint;
  if (settlement.event == Event::park) notes.answer.reset();  // it waits for the next one
}

void count(Slot& slot, const Counters& decided) {
  slot.counters.attempts = decided.attempts;
  slot.counters.retries = decided.retries;
  slot.counters.lost = decided.lost;
}

// What is written down of a run that ended. One that was given back leaves no line.
void note_end(State& state, Slot& slot, const Settlement& settlement, TaskState next,
              TimePoint now) {
  const Event event = settlement.event;
  if (event == Event::give_back && !settlement.checkpoint) return;
  Notes notes = state.notes(slot);
  if (event != Event::give_back) {
    add_to_history(notes,
                   {.started_at = slot.started_at,
                    .ended_at = now,
                    .event = event,
                    .worker = std::string(state.workers.text(slot.worker))},
                   settlement.error);
    if (settlement.error || event == Event::done) notes.error = settlement.error;
    if (event == Event::done) notes.result = settlement.result;
  }
  keep_steps(notes, settlement, next);
  state.set_notes(slot, notes);
}

// The rates learn what the run has really cost.
void correct_cost(State& state, std::uint32_t at, const Settlement& settlement, TimePoint now) {
  const Slot& slot = state.slot(at);
  QueueEntry& queue = state.queue_at(slot.queue);
  const QueueSettings& settings = queue.settings();
  const std::uint32_t noted = cost_of(state, slot, RateOf::cost);
  if (settings.process_rate && settings.rate_of == RateOf::cost) {
    queue.takes.correct(*settings.process_rate, slot.started_at, now, noted, *settlement.cost);
    state.changes.note({Thing::queue, queue.index});
  }
  if (queue.line) {
    queue.line->correct_cost(state.marks.group(at), slot, noted, *settlement.cost, now);
  }
}

TaskState apply(State& state, std::uint32_t at, const Settlement& settlement, TimePoint now) {
  Slot& slot = state.slot(at);
  ensure(slot.state == TaskState::processing && slot.token != 0,
         "a settlement was applied to a task that no worker holds");
  const TaskState next = state_after(slot.state, settlement.event);
  const Event event = settlement.event;
  if (settlement.cost) correct_cost(state, at, settlement, now);
  state.unindex(at);
  if (std::holds_alternative<Lost>(settlement.expect)) slot.token = 0;  // its holder lost it
  if (event == Event::retry || event == Event::snooze || event == Event::park ||
      event == Event::lose || event == Event::exhaust) {
    count(slot, settlement.counters);
  }
  if (is_final(next) && !state.is_kept(slot, next)) {
    finish(state, at, next, now);
    return next;
  }
  note_end(state, slot, settlement, next, now);
  if (is_final(next)) {
    finish(state, at, next, now);
    return next;
  }
  if (event != Event::give_back) set_return(slot, settlement);
  if (settlement.started) slot.has_start_by = false;  // it was for the first run
  slot.moment = no_moment;
  slot.state = next;
  state.store(at, now);
  return next;
}

// The same rule as timeout_of() of core/decide.h, without the body, which may be in the log only.
// Here a type is known by the hash of its name.
std::optional<Duration> timeout_of(const State& state, const Slot& slot,
                                   const QueueSettings& settings) {
  const std::uint32_t own = slot.timeout;
  if (own == BodyFacts::long_timeout) return state.given(slot).timeout;
  if (own != 0) return Duration(own - 1);
  for (const TypePolicy& policy : settings.types) {
    if (policy.timeout && name_hash(policy.type) == slot.type) return policy.timeout;
  }
  return settings.timeout;
}

TimePoint extended_until(const State& state, const Slot& slot, const Extension& extension,
                         TimePoint now) {
  const QueueSettings& settings = state.queue_at(slot.queue).settings();
  TimePoint until = later(now, extension.lease.value_or(settings.lease));
  if (const auto timeout = timeout_of(state, slot, settings)) {
    until = std::min(until, later(slot.started_at, *timeout + timeout_grace));
  }
  return std::max(until, slot.moment);
}

void add_notes(State& state, Slot& slot, const Extension& extension, TimePoint now) {
  if (!extension.progress && extension.log.empty() && !extension.checkpoint) return;
  Notes notes = state.notes(slot);
  if (extension.checkpoint) notes.checkpoint = *extension.checkpoint;
  if (extension.progress) notes.progress = *extension.progress;
  for (const std::string& line : extension.log) notes.log.push_back({now, line});
  if (notes.log.size() > limits::max_log_lines) {
    notes.log.erase(notes.log.begin(), notes.log.end() - limits::max_log_lines);
  }
  state.set_notes(slot, notes);
}

}  // namespace

// Gives a task its final state; the task is forgotten at once if nothing is to be kept, unless
// others wait for it, which must learn how it ended.
void finish(State& state, std::uint32_t at, TaskState final_state, TimePoint now) {
  Slot& slot = state.slot(at);
  ensure(is_final(final_state), "a task was finished in a state that is not final");
  const bool kept = state.is_kept(slot, final_state) || state.has_children(slot.id);
  slot.state = final_state;
  slot.moment = now;
  slot.cancel_requested = false;
  if (!kept) return state.erase(at);
  state.store(at, now);
  state.note_end(slot.id);
}

std::unexpected<Error> lease_lost(const TaskId& id) {
  return fail(ErrorCode::lease_lost,
              fmt::format("the lease on task {} has ended: it was settled, given to another worker "
                          "or counted as lost; stop working on it",
                          to_text(id.value)));
}

Result<Settled> settle(State& state, const Settlement& settlement, TimePoint now) {
  if (auto good = validate(settlement); !good) return std::unexpected(std::move(good.error()));
  const auto at = state.find(settlement.id);
  if (at == no_slot) return unknown_task(settlement.id);
  const Slot& slot = state.slot(at);
  if (auto refused = check(state, slot, settlement, now)) return *refused;
  // A restored task may wait with a cancel request on it; it must be able to expire all the same.
  const bool ends = settlement.event == Event::done || settlement.event == Event::cancel ||
                    is_waiting(slot.state);
  if (slot.cancel_requested && !ends) return Settled{SettleStatus::cancel_requested, slot.state};
  if (auto size =
          check_size(state.queue_at(slot.queue).settings(), "result", settlement.result.size());
      !size) {
    return std::unexpected(std::move(size.error()));
  }
  if (auto good = check_follow_ups(state, settlement.follow_ups, now); !good) {
    return std::unexpected(std::move(good.error()));
  }
  const TaskState next = is_waiting(slot.state)
                             ? end_waiting(state, at, settlement.event, settlement.error, now)
                             : apply(state, at, settlement, now);
  for (const NewTask& task : settlement.follow_ups) add_follow_up(state, task, now);
  tell_just_ended(state, now);
  return Settled{SettleStatus::applied, next};
}

void add_to_history(Notes& notes, Attempt attempt, const std::optional<TaskError>& error) {
  if (error) {
    attempt.error_code = error->code;
    attempt.error_message = clip(error->message, history_text);
  }
  notes.history.push_back(std::move(attempt));
  if (notes.history.size() > limits::max_history) notes.history.erase(notes.history.begin());
}

TaskState end_waiting(State& state, std::uint32_t at, Event event,
                      const std::optional<TaskError>& error, TimePoint now) {
  Slot& slot = state.slot(at);
  const TaskState next = state_after(slot.state, event);
  state.unindex(at);
  if (slot.linked) state.unlink(at);
  if (error || slot.has_waits) {
    Notes notes = state.notes(slot);
    if (error) notes.error = error;
    notes.waits.reset();
    state.set_notes(slot, notes);
  }
  if (slot.start == never) slot.start = now;  // only a parked task waits for ever
  finish(state, at, next, now);
  return next;
}

Result<Extended> extend(State& state, const Extension& extension, TimePoint now) {
  if (auto good = validate(extension); !good) return std::unexpected(std::move(good.error()));
  const auto at = state.find(extension.id);
  if (at == no_slot) return unknown_task(extension.id);
  Slot& slot = state.slot(at);
  if (!holds(slot, extension.token)) return lease_lost(extension.id);
  const TimePoint until = extended_until(state, slot, extension, now);
  state.unindex(at);
  slot.moment = until;
  add_notes(state, slot, extension, now);
  state.store(at, now);
  return Extended{until, slot.cancel_requested};
}

}  // namespace millrace::embedded
