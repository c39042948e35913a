// What a store answered to one step, made comparable with what another store answered.
//
// Stores choose their own tokens, task numbers and memo versions. Here a token is replaced by its
// rank among the leases of its task (1, 2, …), a memo's version by its rank among the writes of its
// key, and numbers by 0: each side checks alone that they name the right task and grow. Errors are
// equal if they have the same code and both or neither have a retry_after.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/values.h"

namespace millrace::test {

struct Failure {
  ErrorCode code = ErrorCode::internal;
  bool hint = false;  // retry_after was given

  friend bool operator==(const Failure&, const Failure&) = default;
};

// A word between the values, and complaints of a side about its own store.
struct Note {
  std::string text;

  friend bool operator==(const Note&, const Note&) = default;
};

// All calls of advance() until nothing was left to do, together.
struct Progress {
  std::size_t promoted = 0;
  std::size_t removed = 0;
  std::size_t lifted = 0;
  // A queue was being removed: the store decides whether its tasks are promoted first.
  bool emptying = false;
  std::optional<TimePoint> next = std::nullopt;
};

using Item = std::variant<Failure, Note, Put, Settled, Extended, Lease, Overdue, Progress, Task,
                          TaskState, Queue, QueueCounts, Group, Schedule, Memo>;
using Answer = std::vector<Item>;

// Where the two differ, in words; nullopt if they agree. `expected` is the reference's answer.
std::optional<std::string> disagreement(const Answer& expected, const Answer& got);

}  // namespace millrace::test
