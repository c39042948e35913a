// Which tasks have these numbers. There is no index for that, so the sets of all queues are looked
// at, over several turns.
#pragma once

#include <millrace/ids.h>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "core/values.h"
#include "store/embedded/state.h"

namespace millrace::embedded {

class NumberSearch final : public TaskWatch {
 public:
  // Of these refs, the ones that are numbers.
  explicit NumberSearch(std::span<const TaskRef> tasks);

  // REQUIRES: a turn, and that this watches the state since the first.
  void step(const State& state);
  bool ended() const { return missing_ == 0 || looked_at_all_; }

  // nullopt: there is none.
  std::optional<TaskId> found(TaskNumber number) const;

  // A task that moves on to a set that was looked at before.
  void entered(const Slot& slot) override;

 private:
  void look_at(const State& state, const QueueEntry& queue);
  void note(std::optional<TaskId>& into, const TaskId& id);

  static constexpr std::size_t lookups_per_turn = 2000;

  std::map<std::uint64_t, std::optional<TaskId>> wanted_;
  std::size_t missing_ = 0;
  std::size_t next_queue_ = 0;
  std::size_t lookups_ = 0;  // in this turn
  bool looked_at_all_ = false;
};

}  // namespace millrace::embedded
