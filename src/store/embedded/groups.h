// The groups of queues: the tasks of a queue with the same `group`. Every group that a task names
// is counted, whether its queue has rules for groups or not (group_line.h has what rules need).
#pragma once

#include <millrace/ids.h>
#include <millrace/queue.h>
#include <millrace/time.h>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/group_rules.h"
#include "core/rate_window.h"
#include "store/embedded/ordered_set.h"
#include "store/embedded/slot_index.h"

namespace millrace::embedded {

inline constexpr std::uint32_t no_group = 0;

// The place of a task in its group. Less is earlier: the queue's order without ageing, or, in a
// serial group, that of the puts alone.
struct GroupPlace {
  std::uint8_t rank = 0;  // 9 - priority
  TimePoint at = TimePoint::min();
  std::uint64_t number = 0;

  friend auto operator<=>(const GroupPlace&, const GroupPlace&) = default;
};

// Tasks of one group by their places. Most groups have few tasks, which take four bytes each: their
// places are looked up in their slots.
class GroupTasks {
 public:
  bool empty() const { return few_.empty() && (!many_ || many_->empty()); }
  // Calls `place_of` on slots that are in the set.
  void insert(const GroupPlace& place, std::uint32_t slot, const auto& place_of);
  void erase(const GroupPlace& place, const auto& place_of);
  // The first slot whose place is not before this one.
  std::optional<std::uint32_t> first_from(const GroupPlace& place, const auto& place_of) const;
  void clear() {
    few_ = {};
    many_.reset();
  }
  std::size_t memory() const {
    return few_.capacity() * sizeof(std::uint32_t) + (many_ ? many_->memory() : 0);
  }

 private:
  static constexpr std::size_t most_few = 64;

  std::size_t position(const GroupPlace& place, const auto& place_of) const;

  std::vector<std::uint32_t> few_;  // in order
  std::unique_ptr<OrderedSet<GroupPlace>> many_;
};

// Where the task that stands for a group is among those of the other groups.
struct Standing {
  std::uint64_t turn = 0;
  TimePoint at{};
  std::uint64_t number = 0;

  friend auto operator<=>(const Standing&, const Standing&) = default;
};

struct GroupEntry {
  std::string name;
  std::uint16_t queue = 0;
  std::uint32_t tasks = 0;  // of any state
  std::uint32_t waiting = 0;
  std::uint32_t ready = 0;
  std::uint32_t running = 0;

  // What records keep of it.
  std::uint32_t epoch = 0;  // of the queue's rules, that all of this belongs to
  bool recorded = false;
  std::unique_ptr<GroupOverride> override;
  std::unique_ptr<RateWindow> takes;
  std::uint64_t turn = 0;

  // Where it stands: made from the above by its queue's line.
  bool present = false;  // has_tasks() after the last change of a task
  GroupTasks due;        // that may stand for it
  bool changed = false;
  bool stands = false;
  std::uint8_t level = 0;  // effective priority with which it stands
  std::uint32_t head = 0;  // slot of the task that stands for it
  Standing standing;
  TimePoint closed_until = TimePoint::min();  // paused, or its rate is used up
  TimePoint wake = never;                     // when to look at it again

  bool has_tasks() const { return waiting + running != 0; }
};

// All groups of all queues. A handle stays good while a task holds it, or a record is kept.
class Groups {
 public:
  using ByHandle = OrderedSet<std::uint32_t>;

  GroupEntry& at(std::uint32_t handle) { return entries_[handle]; }
  const GroupEntry& at(std::uint32_t handle) const { return entries_[handle]; }
  // no_group: there is none.
  std::uint32_t find(std::uint16_t queue, std::string_view name) const;
  // Makes it if there is none. REQUIRES: the name is not empty.
  std::uint32_t make(std::uint16_t queue, std::string_view name);
  void remove(std::uint32_t handle);

  // Those of a queue, by handle.
  const ByHandle& of(std::uint16_t queue) const;
  // One more than the greatest index of a queue that has some.
  std::size_t queue_places() const { return of_queue_.size(); }
  std::size_t size() const { return size_; }
  std::size_t memory() const;

 private:
  static std::uint64_t hash(std::uint16_t queue, std::string_view name);

  std::deque<GroupEntry> entries_ = std::deque<GroupEntry>(1);  // the first one is no_group
  std::vector<std::uint32_t> free_;
  std::unique_ptr<SlotIndex> index_;  // made with the first group
  std::vector<std::unique_ptr<ByHandle>> of_queue_;
  std::size_t size_ = 0;
};

// To which group the task of a slot belongs, and where it waits; four bytes for each slot, from the
// first task with a group on.
class GroupMarks {
 public:
  enum class Where : std::uint8_t { nowhere = 0, due = 1, later = 2, late = 3 };

  std::uint32_t group(std::uint32_t slot) const { return read(slot) & most; }
  Where where(std::uint32_t slot) const { return static_cast<Where>(read(slot) >> bits); }
  void set_group(std::uint32_t slot, std::uint32_t group) {
    write(slot, group | (read(slot) & ~most));
  }
  void set_where(std::uint32_t slot, Where where) {
    write(slot, group(slot) | static_cast<std::uint32_t>(where) << bits);
  }
  std::size_t memory() const;

 private:
  static constexpr unsigned bits = 30;
  static constexpr std::uint32_t most = (1U << bits) - 1;
  static constexpr std::uint32_t block = 1024;
  using Block = std::array<std::uint32_t, block>;

  std::uint32_t read(std::uint32_t slot) const {
    const std::size_t at = slot / block;
    return at < blocks_.size() && blocks_[at] ? (*blocks_[at])[slot % block] : 0;
  }
  void write(std::uint32_t slot, std::uint32_t value);

  std::vector<std::unique_ptr<Block>> blocks_;
};

// ---- GroupTasks -------------------------------------------------------------------------------

std::size_t GroupTasks::position(const GroupPlace& place, const auto& place_of) const {
  // At the ends is where queues work.
  if (few_.empty() || place_of(few_.back()) < place) return few_.size();
  std::size_t from = 0;
  for (std::size_t count = few_.size(); count != 0;) {
    const std::size_t half = count / 2;
    if (place_of(few_[from + half]) < place) {
      from += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return from;
}

void GroupTasks::insert(const GroupPlace& place, std::uint32_t slot, const auto& place_of) {
  if (many_) return many_->insert(place, slot);
  if (few_.size() < most_few) {
    few_.insert(few_.begin() + static_cast<std::ptrdiff_t>(position(place, place_of)), slot);
    return;
  }
  many_ = std::make_unique<OrderedSet<GroupPlace>>();
  for (const std::uint32_t each : few_) many_->insert(place_of(each), each);
  few_ = {};
  many_->insert(place, slot);
}

void GroupTasks::erase(const GroupPlace& place, const auto& place_of) {
  if (many_) {
    many_->erase(place);
    if (many_->empty()) many_.reset();
    return;
  }
  const std::size_t at = position(place, place_of);
  ensure(at < few_.size() && place_of(few_[at]) == place, "a task is not in its group");
  few_.erase(few_.begin() + static_cast<std::ptrdiff_t>(at));
}

std::optional<std::uint32_t> GroupTasks::first_from(const GroupPlace& place,
                                                    const auto& place_of) const {
  if (many_) {
    const auto found = many_->lower_bound(place);
    return found == many_->end() ? std::nullopt : std::optional((*found).second);
  }
  const std::size_t at = place == GroupPlace{} ? 0 : position(place, place_of);
  return at < few_.size() ? std::optional(few_[at]) : std::nullopt;
}

}  // namespace millrace::embedded
