// Tasks that wait for others: who waits for whom, and what the end of one means for those that wait
// for it. What a task still waits for is in its own notes, so a restart knows who has been told.
#include <algorithm>
#include <utility>

#include "core/limits.h"
#include "core/transition.h"
#include "store/embedded/verbs.h"

namespace millrace::embedded {

// ---- The index ----------------------------------------------------------------------------------

bool State::link(std::uint32_t at) {
  Slot& slot = slots_[at];
  const std::optional<Waits> waits = notes(slot).waits;
  const std::optional<After> after = given(slot).after;
  if (!waits || !after || after->tasks.size() > limits::max_parents) return false;
  if (slot.state != TaskState::created || is_parked(slot)) return false;
  if (waits->open.size() != Waits::of(*after).open.size()) return false;
  slot.orphaned = waits->ended.has_value();
  if (slot.orphaned) return true;
  for (std::size_t i = 0; i < after->tasks.size(); ++i) {
    if (waits->is_open(i)) edges.insert(Edge(after->tasks[i], slot.number, i), at);
  }
  slot.linked = true;
  return true;
}

void State::unlink(std::uint32_t at) {
  Slot& slot = slots_[at];
  const std::optional<Waits> waits = notes(slot).waits;
  const std::optional<After> after = given(slot).after;
  for (std::size_t i = 0; waits && after && i < after->tasks.size(); ++i) {
    if (waits->is_open(i)) edges.erase(Edge(after->tasks[i], slot.number, i));
  }
  slot.linked = false;
}

void State::find_untold() {
  untold.clear();
  for (const auto& [edge, child] : edges) {
    if (untold.contains(edge.parent)) continue;
    const auto parent = find(edge.parent);
    if (parent == no_slot || !is_final(slots_[parent].state)) continue;
    const Waits waits = notes(slots_[child]).waits.value_or(Waits{});
    const bool nothing_to_tell =
        waits.otherwise == Otherwise::hold && !waits.passes(slots_[parent].state);
    if (!nothing_to_tell) untold.emplace(edge.parent, 0);
  }
}

// ---- What a task waits for ----------------------------------------------------------------------

Waits waits_of(const State& state, const After& after,
               const std::function<bool(const TaskId& parent)>& counts) {
  Waits waits = Waits::of(after);
  for (std::size_t i = 0; i < after.tasks.size(); ++i) {
    const TaskId& id = after.tasks[i];
    if (!counts(id)) continue;
    const auto parent = state.find(id);
    const bool ended = parent != no_slot && is_final(state.slot(parent).state);
    const TaskState as = ended ? state.slot(parent).state : TaskState::created;
    if (ended && waits.passes(as)) continue;
    waits.set_open(i, true);
    if (ended && waits.otherwise == Otherwise::cancel && !waits.ended) {
      waits.ended = EndedParent{id, as};
    }
  }
  return waits;
}

Result<void> check_parents(const State& state, const NewTask& task) {
  for (std::size_t i = 0; task.after && i < task.after->tasks.size(); ++i) {
    if (state.find(task.after->tasks[i]) == no_slot) return unknown_parent(*task.after, i);
  }
  return {};
}

void stop_waiting(State& state, std::uint32_t at) {
  Slot& slot = state.slot(at);
  if (slot.linked) state.unlink(at);
  Notes notes = state.notes(slot);
  notes.waits.reset();
  state.set_notes(slot, notes);
}

void release_child(State& state, Slot& slot, TimePoint now) {
  Notes notes = state.notes(slot);
  notes.waits.reset();
  state.set_notes(slot, notes);
  slot.linked = false;
  slot.start = std::max(now, slot.start);
  ensure(slot.state == TaskState::created, "a task was released that did not wait for others");
  slot.state = waiting_state(slot.start, now);
}

// ---- What the end of a task means ---------------------------------------------------------------

namespace {

// Returns what it cost of a limit: a child that is to be cancelled is unlinked from all that it
// waits for, which may be a thousand.
std::size_t tell_child(State& state, const Edge& edge, std::uint32_t at, const EndedParent& parent,
                       TimePoint now) {
  constexpr std::size_t unlinked_at_once = 8;  // bytes of `open`: 64 tasks
  Slot& slot = state.slot(at);
  Notes notes = state.notes(slot);
  ensure(notes.waits.has_value(), "an edge leads to a task that waits for no other");
  Waits& waits = *notes.waits;
  const bool passes = waits.passes(parent.state);
  if (!passes && waits.otherwise == Otherwise::hold) return 1;
  const std::size_t cost = passes ? 1 : 1 + (waits.open.size() - 1) / unlinked_at_once;
  state.unindex(at);
  if (!passes) {
    state.unlink(at);
    waits.ended = parent;
    state.set_notes(slot, notes);
  } else {
    state.edges.erase(edge);
    waits.set_open(edge.place(), false);
    if (waits.any_open()) {
      state.set_notes(slot, notes);
    } else {
      release_child(state, slot, now);
    }
  }
  state.store(at, now);
  return cost;
}

// Tells children from `next` on, at most `limit`, and moves `next` on. True: all have been told.
bool tell(State& state, const TaskId& id, std::uint64_t& next, std::size_t& limit, TimePoint now) {
  const auto at = state.find(id);
  // Revived since: the others wait for how it ends now.
  if (at == no_slot || !is_final(state.slot(at).state)) return true;
  const EndedParent parent{id, state.slot(at).state};
  Edge from;
  from.parent = id;
  for (;;) {
    from.child = next;
    const auto found = state.edges.lower_bound(from);
    if (found == state.edges.end() || (*found).first.parent != id) break;
    if (limit == 0) return false;
    const auto [edge, child] = *found;
    next = edge.child + 1;
    limit -= std::min(limit, tell_child(state, edge, child, parent, now));
  }
  if (const auto others = state.cut.find(id); others != state.cut.end()) {
    next = others->second;
    return false;
  }
  // It stayed only to tell them.
  if (!state.is_kept(state.slot(at), parent.state)) {
    state.unindex(at);
    state.erase(at);
  }
  return true;
}

}  // namespace

void tell_just_ended(State& state, TimePoint now) {
  while (!state.just_ended.empty()) {
    const TaskId id = state.just_ended.back();
    state.just_ended.pop_back();
    const std::size_t most = std::min(limits::max_told, state.tell_budget);
    std::size_t left = most;
    std::uint64_t next = 0;
    // It may have ended before and been revived with some still to tell: all that wait are told how
    // it ends now.
    if (!tell(state, id, next, left, now)) state.untold.insert_or_assign(id, next);
    state.tell_budget -= most - left;
  }
}

std::size_t tell_untold(State& state, TimePoint now, std::size_t limit) {
  std::size_t left = limit;
  while (left != 0 && !state.untold.empty()) {
    const auto first = state.untold.begin();
    if (!tell(state, first->first, first->second, left, now)) break;
    state.untold.erase(first);
  }
  return limit - left;
}

bool drop(State& state, std::uint32_t at, TimePoint now) {
  Slot& slot = state.slot(at);
  const TaskId id = slot.id;
  if (state.untold.contains(id)) return false;
  state.unindex(at);
  if (is_final(slot.state) || !state.has_children(id)) {
    state.erase(at);
    return true;
  }
  if (slot.linked) state.unlink(at);
  Notes notes = state.notes(slot);
  notes.error =
      TaskError{.code = "removed", .message = "removed before it ended", .failed_at = now};
  notes.waits.reset();
  state.set_notes(slot, notes);
  if (slot.start == never) slot.start = now;
  slot.token = 0;  // its holder settles nothing
  finish(state, at, TaskState::cancelled, now);
  tell_just_ended(state, now);
  if (state.untold.contains(id)) return false;
  const auto left = state.find(id);
  if (left == no_slot) return true;
  state.unindex(left);
  state.erase(left);
  return true;
}

}  // namespace millrace::embedded
