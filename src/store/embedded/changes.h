// What changed since the records were last taken, by name only. The records are written from the
// state as it is then, so a task that changed ten times in a round is written once.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace millrace::embedded {

// The kinds of records. The numbers are on disk; do not renumber.
enum class RecordKind : std::uint8_t {
  task = 1,    // everything, payload included
  change = 2,  // the whole mutable part
  gone = 3,
  // The small state.
  queue = 4,
  queue_gone = 5,
  schedule = 6,
  schedule_gone = 7,
  memo = 8,
  memo_gone = 9,
  window = 10,  // a unique key held for a time, whatever becomes of its task
  window_gone = 11,
  numbers = 12,  // the last task number, token and memo version given
  // Records of the log itself; they change no state.
  begin = 13,    // what a segment begins with
  cleaned = 14,  // segments that are no longer needed
  // The small state again: what is kept of a group besides its tasks.
  group = 15,
  group_gone = 16,
};

struct TaskChange {
  RecordKind kind = RecordKind::change;
  std::uint32_t slot = 0;  // of task and change
  std::uint64_t number = 0;
  std::uint32_t version = 0;  // of gone
};

// What the small state is made of; a change names one, whether it is still there or not.
enum class Thing : std::uint8_t { queue, schedule, memo, window, group };

struct SmallChange {
  Thing thing = Thing::queue;
  std::uint16_t queue = 0;  // index, of a queue, a window or a group
  std::string key = {};     // of the others

  friend auto operator<=>(const SmallChange&, const SmallChange&) = default;
};

struct Changes {
  bool on = false;
  std::uint64_t revision = 0;  // grows with every change, also while no list is kept
  std::vector<TaskChange> tasks;
  std::vector<SmallChange> small;

  // A thing that changes all the time (a queue with a rate) is mostly the one that was noted last;
  // any other may be noted twice.
  void note(SmallChange change) {
    ++revision;
    if (on && (small.empty() || small.back() != change)) small.push_back(std::move(change));
  }
};

}  // namespace millrace::embedded
