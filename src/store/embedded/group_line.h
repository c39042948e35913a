// Which task of which group is next, where a queue has rules for groups.
//
// Of each group that has room, one task stands in the line: the first one in the group's own order.
// So a take looks at the first that stand there, however many tasks of full groups wait behind
// them. What changes a group only marks it; its place is made anew before the line is asked next.
#pragma once

#include <millrace/queue.h>
#include <millrace/time.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

#include "store/embedded/groups.h"
#include "store/embedded/slot.h"
#include "store/embedded/time_key.h"

namespace millrace::embedded {

class State;
struct QueueEntry;

class GroupLine {
 public:
  GroupLine(State& state, QueueEntry& queue);
  ~GroupLine();
  GroupLine(const GroupLine&) = delete;
  GroupLine& operator=(const GroupLine&) = delete;

  // A waiting task comes or goes, with its slot as it is in the indexes.
  void enter(std::uint32_t slot);
  void leave(std::uint32_t slot);

  // Something about a group has changed; its place follows.
  void touch(std::uint32_t group);
  // The limits of all of them have.
  void touch_all();

  // A change of a task has ended: the group may have its first task, or none any more.
  void begin_or_end(std::uint32_t group, TimePoint now);

  // Stores an override, or takes it away.
  void set_override(std::uint32_t group, std::optional<GroupOverride> to);
  // What holds for a group with a name at that moment.
  GroupLimits limits_of_group(const GroupEntry& entry, TimePoint now) const;
  // The ready moment of the task that is due for longest, also where the group has no room.
  std::optional<TimePoint> oldest_of(std::uint32_t group, TimePoint now);
  // Of a serial group: the waiting task that must start before the others.
  std::optional<TaskNumber> first_of(std::uint32_t group, TimePoint now) const;
  // When its rate has room for a task of cost 1; nullopt: it has now, or no task waits for that.
  std::optional<TimePoint> room_at(std::uint32_t group, TimePoint now) const;

  // The slot of the task that is next, if any has room. After it was taken: served().
  std::optional<std::uint32_t> next(TimePoint now);
  void served(std::uint32_t group, std::uint32_t cost, TimePoint now);
  // A run has cost `real` instead of what was noted when it began.
  void correct_cost(std::uint32_t group, const Slot& slot, std::uint32_t noted, std::uint32_t real,
                    TimePoint now);

  // Whether next() could find something now.
  bool may_have_next(TimePoint now) const;
  // Brings everything up to the moment.
  void catch_up(TimePoint now);
  // Places the groups that have changed, and forgets those of which nothing is left to remember.
  void place_changed();

  GroupEntry& ungrouped() { return ungrouped_; }
  const GroupEntry& ungrouped() const { return ungrouped_; }

  std::size_t memory() const;

 private:
  // The task that would stand for a group, and with which effective priority.
  struct Head {
    std::uint32_t slot = no_slot;
    std::size_t level = 0;
  };

  const GroupRules& rules() const;
  GroupLimits limits_now(const GroupEntry& entry, std::uint32_t group, TimePoint now) const;
  GroupEntry& entry_of(std::uint32_t group);
  bool is_serial(std::uint32_t group) const;
  bool is_late(std::uint32_t slot, TimePoint now) const;
  void go_back();

  GroupPlace place_of(std::uint32_t slot, bool serial) const;
  void insert_due(std::uint32_t slot);
  void erase_due(std::uint32_t slot);
  void look_again(std::uint32_t group);
  void put_later(std::uint32_t slot);
  void put_late(std::uint32_t slot);
  void un_late(std::uint32_t slot);
  void mature(TimePoint now);

  // What stands for the group now, and when that may change by itself.
  std::optional<Head> head_of(const GroupEntry& entry, bool serial, TimePoint now,
                              TimePoint& wake) const;
  std::optional<Head> head_by_age(const GroupEntry& entry, TimePoint now, TimePoint& wake) const;
  std::size_t level_of(const Slot& slot, TimePoint now, TimePoint& wake) const;
  std::optional<std::uint32_t> first_from(const GroupEntry& entry, GroupPlace from, bool serial,
                                          TimePoint now, TimePoint& wake) const;
  void place(std::uint32_t group);
  void note_turn(GroupEntry& entry, std::uint32_t group);
  void stand(GroupEntry& entry, std::uint32_t group, const std::optional<Head>& head);
  void wake_at(GroupEntry& entry, std::uint32_t group, TimePoint moment);
  bool forget_if_idle(GroupEntry& entry, std::uint32_t group);

  // Why the task that stands for a group must not be taken now is dealt with, and false.
  bool may_go(GroupEntry& entry, std::uint32_t group);
  bool has_room(GroupEntry& entry, std::uint32_t group);

  State& state_;
  QueueEntry& queue_;
  TimePoint seen_{};      // the moment that the places are for
  bool current_ = false;  // that moment is the one of the call
  // What is_late() has read of the index, and for which moment and state.
  mutable std::unordered_set<std::uint32_t> late_slots_;
  mutable TimePoint late_at_ = TimePoint::min();
  mutable std::uint64_t late_revision_ = 0;
  GroupEntry ungrouped_;  // the tasks without a group
  std::vector<std::uint32_t> changed_;
  std::array<OrderedSet<Standing>, priority_count> standing_;  // to groups, by effective priority
  ByTime later_;                                               // slots that are not due, by start
  OrderedSet<std::uint64_t> late_;  // slots past their start_by, by number
  ByTime wakes_;                    // groups to be placed anew then
};

}  // namespace millrace::embedded
