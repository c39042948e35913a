// What a read copies of a task while it has its turn, and how it makes a task of that afterwards.
#pragma once

#include <millrace/task.h>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
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
  // `filtered`: what was put decides whether the task is on the list.
  static Wanted of_list(Detail detail, bool filtered) {
    if (detail == Detail::state) return {.head = filtered};
    return detail == Detail::full ? Wanted{true, Notes::all} : Wanted{false, Notes::brief};
  }
};

struct TaskCopy {
  Slot slot = {};
  std::string queue = {};
  std::string worker = {};
  // Bytes as codec.h has them; without the payload and the result where they are not wanted. Empty
  // while only the log has them: then the slot says where.
  std::string body = {};
  std::string notes = {};
  Wanted wanted = {};

  bool needs_body() const { return body.empty() && wanted.head; }
  bool needs_notes() const {
    return notes.empty() && slot.notes && wanted.notes != Wanted::Notes::none;
  }

  // A large blob whose payload or result is not wanted is read in two parts, without that; below
  // this size, reading all of it with its checksum costs no more.
  static constexpr std::uint32_t large_blob = 64U << 10U;
  bool skips_payload() const { return !wanted.payload && slot.body.place().size > large_blob; }
  bool skips_result() const {
    return wanted.notes == Wanted::Notes::brief && slot.notes.place().size > large_blob;
  }
};

// What was read, or will have to be.
struct ReadCost {
  std::size_t bytes = 0;
  std::uint32_t reads = 0;  // of a disk, one after the other

  ReadCost& operator+=(const ReadCost& more) {
    bytes += more.bytes;
    reads += more.reads;
    return *this;
  }
};

// Fills in what only the log has, and says what it took. The loader keeps the segments that the
// copies name for as long as it lives, and is called without a turn. Throws what
// State::Options::read_log throws.
using LoadFromLog = std::move_only_function<ReadCost(std::span<TaskCopy> copies)>;

// REQUIRES: a turn.
TaskCopy copy_task(const State& state, const Slot& slot, Wanted wanted);

// REQUIRES: nothing is missing any more. nullopt: the bytes are not those of this task.
std::optional<Task> task_of(TaskCopy&& copy);

// What it took to copy, and what loading the rest will take: at most that many reads, because
// tasks that lie together are read together, and about that many bytes.
ReadCost cost_of(const TaskCopy& copy);

}  // namespace millrace::embedded
