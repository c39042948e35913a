// How many tasks came into a state and left it.
#pragma once

#include <millrace/task.h>
#include <compare>
#include <cstdint>
#include <map>

#include "core/transition.h"

namespace millrace::book {

// What retention counts separately from completed and cancelled tasks.
constexpr bool is_dead_letter(TaskState state) {
  return state == TaskState::failed || state == TaskState::dead;
}

// Counters beside the states: final tasks with a rule of their own, which the rules of their queue
// do not count.
inline constexpr std::int16_t own_finished = state_count;
inline constexpr std::int16_t own_dead = state_count + 1;

class Tally {
 public:
  struct Key {
    std::uint16_t queue;
    std::int16_t state;  // a TaskState, own_finished or own_dead
    std::uint8_t priority;
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  void enter(std::uint16_t queue, TaskState state, std::uint8_t priority, bool keeps_itself) {
    add(queue, state, priority, keeps_itself, 1);
  }
  void leave(std::uint16_t queue, TaskState state, std::uint8_t priority, bool keeps_itself) {
    add(queue, state, priority, keeps_itself, -1);
  }
  // Some of the numbers may be zero.
  const std::map<Key, std::int64_t>& changes() const { return changes_; }

 private:
  void add(std::uint16_t queue, TaskState state, std::uint8_t priority, bool keeps_itself,
           std::int64_t change) {
    changes_[{queue, static_cast<std::int16_t>(state), priority}] += change;
    if (!keeps_itself || !is_final(state)) return;
    changes_[{queue, is_dead_letter(state) ? own_dead : own_finished, 0}] += change;
  }

  std::map<Key, std::int64_t> changes_;
};

}  // namespace millrace::book
