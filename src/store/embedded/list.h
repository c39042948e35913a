// One page of a list, collected in short turns: what may match is copied while a turn lasts, and
// loaded and looked at between two turns.
#pragma once

#include <millrace/result.h>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/values.h"
#include "store/embedded/state.h"
#include "store/embedded/task_copy.h"

namespace millrace::embedded {

// An error if the request makes no sense.
Result<void> check_list(const ListRequest& request);

class ListWalk {
 public:
  explicit ListWalk(const ListRequest& request);

  // Copies of the next tasks that may match, newest first. REQUIRES: a turn. `not_found`: there is
  // no such queue.
  Result<std::vector<TaskCopy>> step(const State& state);
  // Adds one of the copies, once loaded; call in their order. `read` is what loading it cost.
  // False: the page is full, and the remaining copies are not wanted.
  bool add(Task task, std::size_t read);

  bool ended() const { return ended_; }
  TaskPage page() { return std::move(page_); }

 private:
  bool may_match(const Slot& slot) const;
  bool matches(const Task& task) const;
  bool is_full() const;

  const ListRequest& request_;
  std::uint32_t type_ = 0;  // hashes of the names asked for
  std::uint16_t client_ = 0;
  std::uint16_t group_ = 0;
  std::optional<TaskNumber> before_;  // where the next step begins
  TaskNumber last_;                   // of the last task that was added
  std::size_t bytes_ = 0;
  bool ended_ = false;
  TaskPage page_;
};

}  // namespace millrace::embedded
