// What a read copies of a task while it has its turn, and how it makes a task of that afterwards.
#pragma once

#include <millrace/task.h>
#include <functional>
#include <span>
#include <string>

#include "core/values.h"
#include "store/embedded/slot.h"

namespace millrace::embedded {

class State;

// Which parts of a task a read gives back.
struct Wanted {
  enum class Notes : std::uint8_t {
    none,
    brief,  // error, progress and delivery
    all,
  };
  bool payload = false;
  Notes notes = Notes::none;
  bool head = true;

  static Wanted of(Parts parts) {
    if (!parts.head) return {.head = false};
    return {parts.payload, parts.notes ? Notes::all : Notes::none};
  }
  static Wanted of_list(bool full) { return {full, full ? Notes::all : Notes::brief}; }
};

struct TaskCopy {
  Slot slot = {};
  std::string queue = {};
  std::string worker = {};
  // Bytes as codec.h has them; those of a body are without the payload where it is not wanted.
  // Empty while only the log has them: then the slot says where.
  std::string body = {};
  std::string notes = {};
  Wanted wanted = {};

  bool needs_body() const { return body.empty() && wanted.head; }
  bool needs_notes() const {
    return notes.empty() && slot.notes && wanted.notes != Wanted::Notes::none;
  }
};

// Fills in what only the log has. The loader keeps the segments that the copies name for as long as
// it lives, and is called without a turn. Throws what State::Options::read_log throws.
using LoadFromLog = std::move_only_function<void(std::span<TaskCopy> copies)>;

// REQUIRES: a turn.
TaskCopy copy_task(const State& state, const Slot& slot, Wanted wanted);

// REQUIRES: nothing is missing any more. nullopt: the bytes are not those of this task.
std::optional<Task> task_of(TaskCopy&& copy);

// Bytes that were read for it.
inline std::size_t bytes_of(const TaskCopy& copy) {
  return copy.body.size() + copy.notes.size();
}

}  // namespace millrace::embedded
