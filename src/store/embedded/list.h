// One page of a list, collected in short turns: what may match is copied while a turn lasts, and
// loaded and looked at between two turns.
#pragma once

#include <millrace/result.h>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/values.h"
#include "store/embedded/newest_first.h"
#include "store/embedded/state.h"
#include "store/embedded/task_copy.h"

namespace millrace::embedded {

// An error if the request makes no sense.
Result<void> check_list(const ListRequest& request);

class ListWalk {
 public:
  // What a page may read, from memory and from a disk. A page ends with the step in which it
  // reaches one of these; a step asks for no more than is left of them, and one task.
  static constexpr ReadCost most_read{.bytes = 16U << 20U, .reads = 512};

  explicit ListWalk(const ListRequest& request);

  // Copies of the next tasks that may match, newest first; none does not mean the end. REQUIRES: a
  // turn, and that the tasks watch the state since the first. `not_found`: there is no such queue.
  Result<std::vector<TaskCopy>> step(const State& state);
  // What loading the copies of a step took. Call before add().
  void loaded(const ReadCost& cost);
  // Adds one of the copies, once loaded; call in their order. False: the page is full, and the
  // remaining copies are not wanted.
  bool add(Task task);

  bool ended() const { return ended_; }
  TaskPage page() { return std::move(page_); }
  TaskWatch& tasks() { return tasks_; }

 private:
  NewestFirst::Next peek(const State& state);
  NewestFirst::Next peek_waiting(const State& state);
  void pop();
  bool may_match(const Slot& slot) const;
  bool matches(const Task& task) const;
  bool matches_for_sure() const;
  std::size_t most_copies();
  bool is_full() const { return page_.tasks.size() == request_.limit; }
  void end_step(std::uint64_t next, std::size_t copies);

  const ListRequest& request_;
  std::uint32_t type_ = 0;  // hashes of the names asked for
  std::uint16_t client_ = 0;
  std::uint16_t group_ = 0;
  NewestFirst tasks_;
  // Of those that wait for a task: the queue they must be in, and below which number to go on.
  std::optional<std::uint16_t> queue_;
  std::uint64_t below_ = 0;
  std::uint64_t newest_ = 0;  // that peek() has found last
  bool begun_ = false;
  std::size_t eager_ = 32;  // how many copies the next step makes although fewer are wanted
  TaskNumber last_;         // of the last task that was added
  ReadCost read_;
  bool ended_ = false;
  TaskPage page_;
};

}  // namespace millrace::embedded
