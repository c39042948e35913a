// Tasks join and leave groups, and what rules for groups keep of them.
#include <algorithm>
#include <vector>

#include "core/transition.h"
#include "store/embedded/state.h"

namespace millrace::embedded {
namespace {

std::vector<std::uint32_t> handles_of(const State& state, const QueueEntry& queue) {
  std::vector<std::uint32_t> handles;
  for (const auto& [handle, same] : state.groups.of(queue.index)) handles.push_back(handle);
  return handles;
}

void forget_place(GroupEntry& entry) {
  entry.due.clear();
  entry.stands = entry.changed = entry.present = false;
  entry.closed_until = TimePoint::min();
  entry.wake = never;
}

void forget_rules(GroupEntry& entry) {
  entry.override.reset();
  entry.takes.reset();
  entry.turn = 0;
}

}  // namespace

void State::join_group(std::uint32_t at, std::string_view name) {
  if (name.empty()) return;
  const std::uint32_t group = groups.make(slots_[at].queue, name);
  ++groups.at(group).tasks;
  marks.set_group(at, group);
}

// Its line, if there is one, ends the turn of a group that has no tasks any more.
void State::leave_group(std::uint32_t at) {
  const std::uint32_t group = marks.group(at);
  marks.set_group(at, no_group);
  const auto queue = slots_[at].queue;
  GroupLine* line = has_queue_at(queue) ? queues_[queue]->line.get() : nullptr;
  if (group != no_group) --groups.at(group).tasks;
  if (line != nullptr) {
    line->begin_or_end(group, TimePoint::min());
    line->touch(group);
  } else if (group != no_group) {
    forget_group_if_unused(group);
  }
}

void State::forget_group_if_unused(std::uint32_t group) {
  GroupEntry& entry = groups.at(group);
  if (replaying) return;  // another record may say more about it
  if (entry.tasks != 0 || entry.override || entry.takes || entry.changed) return;
  if (entry.recorded) changes.note({Thing::group, entry.queue, entry.name});
  groups.remove(group);
}

void State::count_in_group(const Slot& slot, std::uint32_t at, std::uint32_t change) {
  if (is_final(slot.state)) return;
  GroupLine* line = queues_[slot.queue]->line.get();
  const std::uint32_t group = marks.group(at);
  if (group == no_group && line == nullptr) return;
  GroupEntry& entry = group == no_group ? line->ungrouped() : groups.at(group);
  (slot.state == TaskState::processing ? entry.running : entry.waiting) += change;
  if (slot.state == TaskState::queued) entry.ready += change;
  if (line != nullptr) line->touch(group);
}

void State::note_group(GroupEntry& entry) {
  entry.recorded = true;
  entry.epoch = queues_[entry.queue]->group_epoch;
  if (changes.on) {
    changes.note({Thing::group, entry.queue, entry.name});
  } else {
    ++changes.revision;
  }
}

bool State::has_record(const GroupEntry& entry) const {
  if (!has_queue_at(entry.queue) || entry.epoch != queues_[entry.queue]->group_epoch) return false;
  return entry.override || entry.takes || (entry.turn != 0 && entry.has_tasks());
}

void State::place_groups() {
  while (!lines_to_place.empty()) {
    const auto queue = lines_to_place.back();
    lines_to_place.pop_back();
    if (has_queue_at(queue) && queues_[queue]->line) queues_[queue]->line->place_changed();
  }
}

// ---- Rules come, change and go ----------------------------------------------------------------

void State::set_group_rules(QueueEntry& entry, const QueueSettings& before) {
  const auto& now = entry.settings().groups;
  if (!now && !before.groups) return;
  const bool same_order = now && before.groups && now->order == before.groups->order;
  if (same_order && now->retry_holds == before.groups->retry_holds) {
    if (now != before.groups || entry.settings().ageing != before.ageing) entry.line->touch_all();
    return;
  }
  const std::uint64_t turn = same_order ? entry.line->ungrouped().turn : 0;
  end_line(entry);
  if (!same_order && !replaying) begin_epoch(entry);
  if (!now) return;
  build_line(entry);
  entry.line->ungrouped().turn = turn;
}

void State::end_line(QueueEntry& entry) {
  if (!entry.line) return;
  entry.line.reset();
  for (const std::uint32_t handle : handles_of(*this, entry)) forget_place(groups.at(handle));
  for (const ByNumber& tasks : entry.by_state) {
    for (const auto& [number, at] : tasks) marks.set_where(at, GroupMarks::Where::nowhere);
  }
}

// Turns begin anew. Overrides and uses stay for as long as there are rules.
void State::begin_epoch(QueueEntry& entry) {
  ++entry.group_epoch;
  entry.turn = 0;
  for (const std::uint32_t handle : handles_of(*this, entry)) {
    GroupEntry& group = groups.at(handle);
    group.turn = 0;
    if (!entry.settings().groups) forget_rules(group);
    if (group.recorded) note_group(group);
    forget_group_if_unused(handle);
  }
}

void State::build_line(QueueEntry& entry) {
  entry.line = std::make_unique<GroupLine>(*this, entry);
  GroupEntry& ungrouped = entry.line->ungrouped();
  for (std::size_t state = 0; state < state_count; ++state) {
    if (is_final(static_cast<TaskState>(state))) continue;
    const bool runs = static_cast<TaskState>(state) == TaskState::processing;
    for (const auto& [number, at] : entry.by_state[state]) {
      if (marks.group(at) == no_group) {
        ++(runs ? ungrouped.running : ungrouped.waiting);
        if (static_cast<TaskState>(state) == TaskState::queued) ++ungrouped.ready;
      }
      if (!runs) entry.line->enter(at);
    }
  }
  ungrouped.present = ungrouped.has_tasks();
  for (const std::uint32_t handle : handles_of(*this, entry)) {
    GroupEntry& group = groups.at(handle);
    group.present = group.has_tasks();
    entry.line->touch(handle);
  }
}

void State::erase_groups(QueueEntry& entry) {
  entry.line.reset();
  for (const std::uint32_t handle : handles_of(*this, entry)) {
    GroupEntry& group = groups.at(handle);
    forget_place(group);
    forget_rules(group);
    group.recorded = false;  // they go with their queue
    if (group.tasks == 0) groups.remove(handle);
  }
}

void State::settle_groups() {
  replaying = false;
  for (std::uint16_t index = 0; index < groups.queue_places(); ++index) {
    if (has_queue_at(index)) continue;
    QueueEntry gone;
    gone.index = index;
    erase_groups(gone);
  }
  for (const auto& [name, index] : names_) {
    QueueEntry& entry = *queues_[index];
    if (entry.line) entry.line->ungrouped().present = entry.line->ungrouped().has_tasks();
    for (const std::uint32_t handle : handles_of(*this, entry)) {
      GroupEntry& group = groups.at(handle);
      if (!entry.line || group.epoch != entry.group_epoch) forget_rules(group);
      group.present = group.has_tasks();
      if (!group.present) group.turn = 0;
      if (entry.line) {
        entry.line->touch(handle);
      } else {
        forget_group_if_unused(handle);
      }
    }
  }
  place_groups();
}

}  // namespace millrace::embedded
