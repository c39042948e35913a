#include "store/embedded/group_line.h"

#include <algorithm>

#include "core/ensure.h"
#include "store/embedded/state.h"
#include "store/embedded/verbs.h"

namespace millrace::embedded {
namespace {

using Where = GroupMarks::Where;

bool is_due(const Slot& slot, TimePoint now) {
  return slot.state == TaskState::queued || (slot.state != TaskState::created && slot.start <= now);
}

// What has begun and not ended keeps its serial group waiting, unless the rules say otherwise.
bool holds_up(const Slot& slot, const GroupRules& rules) {
  return slot.counters.deliveries == 0 || rules.retry_holds;
}

}  // namespace

GroupLine::GroupLine(State& state, QueueEntry& queue) : state_(state), queue_(queue) {
  ungrouped_.queue = queue.index;
}

GroupLine::~GroupLine() = default;

const GroupRules& GroupLine::rules() const {
  return *queue_.settings().groups;
}

GroupEntry& GroupLine::entry_of(std::uint32_t group) {
  return group == no_group ? ungrouped_ : state_.groups.at(group);
}

GroupLimits GroupLine::limits_now(const GroupEntry& entry, std::uint32_t group,
                                  TimePoint now) const {
  return group == no_group ? limits_of_ungrouped(rules()) : limits_of_group(entry, now);
}

GroupLimits GroupLine::limits_of_group(const GroupEntry& entry, TimePoint now) const {
  const bool in_force = entry.override && counts(*entry.override, now);
  return limits_of(rules(), in_force ? entry.override.get() : nullptr);
}

bool GroupLine::is_serial(std::uint32_t group) const {
  return group != no_group && rules().order == GroupOrder::serial;
}

// From the index, because the body that has the start_by may be in the log only.
bool GroupLine::is_late(std::uint32_t at, TimePoint now) const {
  if (!state_.slot(at).has_start_by || state_.expiries.empty()) return false;
  if (state_.expiries.front().first.at >= now) return false;
  if (late_at_ != now || late_revision_ != state_.changes.revision) {
    late_slots_.clear();
    for (const auto& [key, slot] : state_.expiries) {
      if (key.at >= now) break;
      late_slots_.insert(slot);
    }
    late_at_ = now;
    late_revision_ = state_.changes.revision;
  }
  return late_slots_.contains(at);
}

// ---- Tasks come and go ------------------------------------------------------------------------

GroupPlace GroupLine::place_of(std::uint32_t at, bool serial) const {
  const Slot& slot = state_.slot(at);
  if (serial) return {.number = slot.number};
  return {.rank = static_cast<std::uint8_t>(priority_count - 1 - slot.priority),
          .at = slot.start,
          .number = slot.number};
}

void GroupLine::insert_due(std::uint32_t at) {
  const std::uint32_t group = state_.marks.group(at);
  const bool serial = is_serial(group);
  const auto place = [&](std::uint32_t slot) { return place_of(slot, serial); };
  entry_of(group).due.insert(place(at), at, place);
  state_.marks.set_where(at, Where::due);
  look_again(group);
}

// Another task may stand for the group now, which costs less than the one that found no room.
void GroupLine::look_again(std::uint32_t group) {
  if (rules().rate_of == RateOf::cost) entry_of(group).closed_until = TimePoint::min();
  touch(group);
}

void GroupLine::erase_due(std::uint32_t at) {
  const std::uint32_t group = state_.marks.group(at);
  const bool serial = is_serial(group);
  const auto place = [&](std::uint32_t slot) { return place_of(slot, serial); };
  GroupEntry& entry = entry_of(group);
  entry.due.erase(place(at), place);
  // At once: the task may stand for another group before this one is placed anew.
  if (entry.stands && entry.head == at) stand(entry, group, std::nullopt);
  state_.marks.set_where(at, Where::nowhere);
  look_again(group);
}

void GroupLine::put_later(std::uint32_t at) {
  const Slot& slot = state_.slot(at);
  later_.insert({slot.start, slot.number}, at);
  state_.marks.set_where(at, Where::later);
}

// Past its start_by: it is passed over, and in a serial group it keeps the others waiting until it
// is settled.
void GroupLine::put_late(std::uint32_t at) {
  if (!is_serial(state_.marks.group(at))) erase_due(at);
  late_.insert(state_.slot(at).number, at);
  state_.marks.set_where(at, Where::late);
  touch(state_.marks.group(at));
}

void GroupLine::un_late(std::uint32_t at) {
  if (!is_serial(state_.marks.group(at))) return insert_due(at);
  state_.marks.set_where(at, Where::due);
  touch(state_.marks.group(at));
}

void GroupLine::enter(std::uint32_t at) {
  const Slot& slot = state_.slot(at);
  const bool serial = is_serial(state_.marks.group(at));
  if (slot.state == TaskState::created) {
    if (serial && is_parked(slot) && rules().retry_holds) insert_due(at);
  } else if (slot.state == TaskState::queued || (serial && holds_up(slot, rules()))) {
    insert_due(at);
  } else {
    put_later(at);
  }
}

void GroupLine::leave(std::uint32_t at) {
  const Slot& slot = state_.slot(at);
  switch (state_.marks.where(at)) {
    case Where::nowhere:
      return;
    case Where::due:
      return erase_due(at);
    case Where::later:
      later_.erase({slot.start, slot.number});
      break;
    case Where::late:
      late_.erase(slot.number);
      if (is_serial(state_.marks.group(at))) return erase_due(at);
      break;
  }
  state_.marks.set_where(at, Where::nowhere);
}

void GroupLine::touch(std::uint32_t group) {
  GroupEntry& entry = entry_of(group);
  if (entry.changed) return;
  entry.changed = true;
  if (changed_.empty()) state_.lines_to_place.push_back(queue_.index);
  changed_.push_back(group);
}

void GroupLine::touch_all() {
  touch(no_group);
  ungrouped_.closed_until = TimePoint::min();
  for (const auto& [group, same] : state_.groups.of(queue_.index)) {
    state_.groups.at(group).closed_until = TimePoint::min();
    touch(group);
  }
}

// ---- The places of groups ---------------------------------------------------------------------

// The first task from this place on that is not passed over: because its start_by has passed, or
// because it is not due, where the clock was set back or the line is for an earlier moment.
std::optional<std::uint32_t> GroupLine::first_from(const GroupEntry& entry, GroupPlace from,
                                                   bool serial, TimePoint now,
                                                   TimePoint& wake) const {
  const auto place = [&](std::uint32_t slot) { return place_of(slot, serial); };
  for (;;) {
    const auto first = entry.due.first_from(from, place);
    if (!first) return first;
    const Slot& slot = state_.slot(*first);
    const bool passed =
        serial ? slot.state != TaskState::created && !is_due(slot, now) && !holds_up(slot, rules())
               : is_late(*first, now) || !is_due(slot, now);
    if (!passed) return first;
    if (!is_due(slot, now)) wake = std::min(wake, slot.start);
    from = place(*first);
    ++from.number;
  }
}

// The effective priority of a task, and when it rises by itself.
std::size_t GroupLine::level_of(const Slot& slot, TimePoint now, TimePoint& wake) const {
  const auto& ageing = queue_.settings().ageing;
  if (!ageing) return slot.priority;
  const std::size_t level = effective_priority(slot.priority, slot.start, *ageing, now);
  if (level < priority_count - 1) {
    const auto steps = static_cast<Duration::rep>(level - slot.priority + 1);
    wake = std::min(wake, later(slot.start, *ageing * steps));
  }
  return level;
}

// With ageing another priority of the group may be first later on, so that each has a say.
std::optional<GroupLine::Head> GroupLine::head_by_age(const GroupEntry& entry, TimePoint now,
                                                      TimePoint& wake) const {
  std::optional<Head> best;
  TimeKey best_key;
  for (std::uint8_t rank = 0; rank < priority_count; ++rank) {
    const auto first = first_from(entry, {.rank = rank}, false, now, wake);
    if (!first) break;
    const Slot& slot = state_.slot(*first);
    rank = static_cast<std::uint8_t>(priority_count - 1 - slot.priority);
    const std::size_t level = level_of(slot, now, wake);
    const TimeKey key{slot.start, slot.number};
    if (best && (level < best->level || (level == best->level && best_key < key))) continue;
    best = Head{*first, level};
    best_key = key;
  }
  return best;
}

std::optional<GroupLine::Head> GroupLine::head_of(const GroupEntry& entry, bool serial,
                                                  TimePoint now, TimePoint& wake) const {
  if (!serial && queue_.settings().ageing) return head_by_age(entry, now, wake);
  const auto first = first_from(entry, {}, serial, now, wake);
  if (!first) return std::nullopt;
  const Slot& slot = state_.slot(*first);
  if (serial && is_late(*first, now)) return std::nullopt;
  if (serial && !is_due(slot, now)) {
    if (slot.state != TaskState::created) wake = std::min(wake, slot.start);
    return std::nullopt;
  }
  return Head{*first, level_of(slot, now, wake)};
}

void GroupLine::wake_at(GroupEntry& entry, std::uint32_t group, TimePoint moment) {
  if (entry.wake == moment) return;
  if (entry.wake != never) wakes_.erase({entry.wake, group});
  entry.wake = moment;
  if (moment != never) wakes_.insert({moment, group}, group);
}

void GroupLine::stand(GroupEntry& entry, std::uint32_t group, const std::optional<Head>& head) {
  Standing standing;
  if (head) {
    const Slot& slot = state_.slot(head->slot);
    standing = {.turn = rules().order == GroupOrder::fair ? entry.turn : 0,
                .at = slot.start,
                .number = slot.number};
    entry.head = head->slot;
    if (entry.stands && entry.level == head->level && entry.standing == standing) return;
  }
  if (entry.stands) standing_[entry.level].erase(entry.standing);
  entry.stands = head.has_value();
  if (!head) return;
  entry.level = static_cast<std::uint8_t>(head->level);
  entry.standing = standing;
  standing_[entry.level].insert(standing, group);
}

// Nothing is left of it that anything depends on. Its window of uses goes once it is over.
bool GroupLine::forget_if_idle(GroupEntry& entry, std::uint32_t group) {
  if (group == no_group || entry.has_tasks()) return false;
  stand(entry, group, std::nullopt);
  if (entry.takes) {
    const auto rate = limits_now(entry, group, seen_).process_rate;
    const Duration left =
        rate && current_ ? entry.takes->retry_after(*rate, seen_, rate->max) : Duration(0);
    if (!current_ || left > Duration(0)) {
      wake_at(entry, group, later(seen_, left));
      return true;
    }
    entry.takes.reset();
    state_.note_group(entry);
  }
  wake_at(entry, group, never);
  state_.forget_group_if_unused(group);
  return true;
}

void GroupLine::place(std::uint32_t group) {
  GroupEntry& entry = entry_of(group);
  entry.changed = false;
  if (forget_if_idle(entry, group)) return;
  TimePoint wake = never;
  if (entry.override && entry.override->until && *entry.override->until > seen_) {
    wake = *entry.override->until;
  }
  const GroupLimits limits = limits_now(entry, group, seen_);
  std::optional<Head> head;
  if (entry.closed_until > seen_) {
    wake = std::min(wake, entry.closed_until);
  } else if (!limits.max_concurrent || entry.running < *limits.max_concurrent) {
    head = head_of(entry, is_serial(group), seen_, wake);
  }
  stand(entry, group, head);
  wake_at(entry, group, wake);
}

void GroupLine::place_changed() {
  while (!changed_.empty()) {
    const std::uint32_t group = changed_.back();
    changed_.pop_back();
    place(group);
  }
}

void GroupLine::mature(TimePoint now) {
  while (!later_.empty() && later_.front().first.at <= now) {
    const auto [key, at] = later_.front();
    later_.erase(key);
    insert_due(at);
  }
}

// The clock was set back: moments that groups have waited for come again, and what was late may not
// be so any more.
void GroupLine::go_back() {
  while (!late_.empty()) {
    const auto [number, at] = late_.front();
    late_.erase(number);
    un_late(at);
  }
  touch_all();
}

void GroupLine::catch_up(TimePoint now) {
  if (now < seen_) go_back();
  seen_ = now;
  mature(now);
  while (!wakes_.empty() && wakes_.front().first.at <= now) {
    const std::uint32_t group = wakes_.front().second;
    wake_at(entry_of(group), group, never);
    touch(group);
  }
  current_ = true;
  place_changed();
  current_ = false;
}

bool GroupLine::may_have_next(TimePoint now) const {
  const bool stands = std::ranges::any_of(standing_, [](const auto& set) { return !set.empty(); });
  const auto is_past = [&](const ByTime& set) {
    return !set.empty() && set.front().first.at <= now;
  };
  return stands || !changed_.empty() || is_past(later_) || is_past(wakes_);
}

// ---- Taking -----------------------------------------------------------------------------------

bool GroupLine::has_room(GroupEntry& entry, std::uint32_t group) {
  const GroupLimits limits = limits_now(entry, group, seen_);
  if (limits.max_concurrent && entry.running >= *limits.max_concurrent) return false;
  // What an override says holds until it ends.
  const TimePoint end = entry.override ? entry.override->until.value_or(never) : never;
  if (limits.is_paused(seen_)) {
    entry.closed_until = std::min(*limits.paused_until, end);
    return false;
  }
  if (!limits.process_rate || !entry.takes) return true;
  const std::uint32_t cost = cost_of(state_, state_.slot(entry.head), rules().rate_of);
  if (entry.takes->fits(*limits.process_rate, seen_, cost)) return true;
  const std::uint32_t least = std::min(cost, limits.process_rate->max);
  const Duration wait = entry.takes->retry_after(*limits.process_rate, seen_, least);
  entry.closed_until = later(seen_, wait);
  if (end > seen_) entry.closed_until = std::min(entry.closed_until, end);
  return false;
}

bool GroupLine::may_go(GroupEntry& entry, std::uint32_t group) {
  const Slot& slot = state_.slot(entry.head);
  const std::uint32_t at = entry.head;
  if (!is_due(slot, seen_) && (!is_serial(group) || !holds_up(slot, rules()))) {
    // The clock was set back.
    erase_due(at);
    put_later(at);
  } else if (is_late(at, seen_)) {
    put_late(at);
  } else {
    const auto level = entry.level;
    const bool room = has_room(entry, group);
    if (room && is_due(slot, seen_)) {
      if (!queue_.settings().ageing) return true;
      TimePoint wake = never;
      const auto head = head_of(entry, is_serial(group), seen_, wake);
      if (head && head->slot == at && head->level == level) return true;
    }
    touch(group);
  }
  place_changed();
  return false;
}

std::optional<std::uint32_t> GroupLine::next(TimePoint now) {
  catch_up(now);
  for (std::size_t level = priority_count; level-- > 0;) {
    while (!standing_[level].empty()) {
      const std::uint32_t group = standing_[level].front().second;
      GroupEntry& entry = entry_of(group);
      if (may_go(entry, group)) return entry.head;
      level = priority_count - 1;  // another one may stand higher now
    }
  }
  return std::nullopt;
}

void GroupLine::served(std::uint32_t group, std::uint32_t cost, TimePoint now) {
  GroupEntry& entry = entry_of(group);
  bool recorded = false;
  const GroupLimits limits = limits_now(entry, group, now);
  if (limits.process_rate) {
    if (!entry.takes) entry.takes = std::make_unique<RateWindow>();
    entry.takes->add(*limits.process_rate, now, cost);
    recorded = true;
  }
  if (rules().order == GroupOrder::fair) {
    queue_.turn = std::max(queue_.turn, entry.turn);
    entry.turn = queue_.turn + turn_of_weight(limits.weight);
    state_.changes.note({Thing::queue, queue_.index});
    recorded = true;
  }
  if (recorded) note_turn(entry, group);
  touch(group);
}

void GroupLine::begin_or_end(std::uint32_t group, TimePoint now) {
  GroupEntry& entry = entry_of(group);
  if (entry.has_tasks() == entry.present || state_.replaying) return;
  entry.present = !entry.present;
  touch(group);
  if (rules().order != GroupOrder::fair) return;
  entry.turn = 0;
  if (entry.present) {
    entry.turn = queue_.turn + turn_of_weight(limits_now(entry, group, now).weight);
  }
  note_turn(entry, group);
}

void GroupLine::note_turn(GroupEntry& entry, std::uint32_t group) {
  if (group == no_group) {
    state_.changes.note({Thing::queue, queue_.index});
  } else {
    state_.note_group(entry);
  }
}

void GroupLine::correct_cost(std::uint32_t group, const Slot& slot, std::uint32_t noted,
                             std::uint32_t real, TimePoint now) {
  GroupEntry& entry = entry_of(group);
  const auto rate = limits_now(entry, group, now).process_rate;
  if (!rate || rules().rate_of != RateOf::cost) return;
  if (!entry.takes) entry.takes = std::make_unique<RateWindow>();
  entry.takes->correct(*rate, slot.started_at, now, noted, real);
  entry.closed_until = TimePoint::min();
  state_.note_group(entry);
  touch(group);
}

// The first of a rank that may be taken is also its oldest.
std::optional<TimePoint> GroupLine::oldest_of(std::uint32_t group, TimePoint now) {
  mature(now);
  const GroupEntry& entry = entry_of(group);
  const bool serial = is_serial(group);
  TimePoint wake = never;
  if (serial) {
    const auto head = head_of(entry, true, now, wake);
    return head ? std::optional(std::min(state_.slot(head->slot).start, now)) : std::nullopt;
  }
  std::optional<TimePoint> oldest;
  for (std::uint8_t rank = 0; rank < priority_count; ++rank) {
    const auto first = first_from(entry, {.rank = rank}, false, now, wake);
    if (!first) break;
    const Slot& slot = state_.slot(*first);
    oldest = std::min({oldest.value_or(never), slot.start, now});
    rank = static_cast<std::uint8_t>(priority_count - 1 - slot.priority);
  }
  return oldest;
}

std::optional<TaskNumber> GroupLine::first_of(std::uint32_t group, TimePoint now) const {
  if (!is_serial(group)) return std::nullopt;
  TimePoint wake = never;
  const auto first = first_from(state_.groups.at(group), {}, true, now, wake);
  return first ? std::optional(TaskNumber{state_.slot(*first).number}) : std::nullopt;
}

std::optional<TimePoint> GroupLine::room_at(std::uint32_t group, TimePoint now) const {
  const GroupEntry& entry = state_.groups.at(group);
  const auto rate = limits_of_group(entry, now).process_rate;
  TimePoint wake = never;
  const auto head = head_of(entry, is_serial(group), now, wake);
  if (!rate || !entry.takes || !head) return std::nullopt;
  if (entry.takes->fits(*rate, now, 1)) return std::nullopt;
  return later(now, entry.takes->retry_after(*rate, now, 1));
}

void GroupLine::set_override(std::uint32_t group, std::optional<GroupOverride> to) {
  GroupEntry& entry = entry_of(group);
  entry.override = to ? std::make_unique<GroupOverride>(*to) : nullptr;
  entry.closed_until = TimePoint::min();
  state_.note_group(entry);
  touch(group);
}

std::size_t GroupLine::memory() const {
  std::size_t bytes = sizeof(*this) + later_.memory() + late_.memory() + wakes_.memory();
  for (const auto& set : standing_) bytes += set.memory();
  return bytes + ungrouped_.due.memory() + changed_.capacity() * sizeof(std::uint32_t);
}

}  // namespace millrace::embedded
