// The tasks of some queues and states, newest number first: a merge of their sets that goes on over
// several turns. What changes between two turns does not disturb it.
#pragma once

#include <millrace/ids.h>
#include <millrace/task.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "store/embedded/state.h"

namespace millrace::embedded {

// Among ten thousand queues there are ninety thousand sets, so it takes several turns to begin, and
// none of that is done twice: for each set the merge remembers the number below which it has not
// been looked at. A set is looked up again only when its number is the greatest, so what has left
// it meanwhile does no harm; of what has entered it the state tells.
class NewestFirst final : public TaskWatch {
 public:
  // Numbers below `before`, down to `from`; empty `states`: all.
  NewestFirst(const std::vector<TaskState>& states, std::optional<TaskNumber> before,
              TaskNumber from);

  // All of these are called within turns. A merge that has not ended at the end of a turn must
  // watch the state until it is used again.

  // Before the first turn: leaves out all queues but this one.
  void only(std::uint16_t queue);
  // Begins a turn. False: this turn has done enough, and the next one goes on.
  bool begin_turn(const State& state);

  struct Next {
    enum class Kind : std::uint8_t {
      task,
      none,   // there are no more
      later,  // this turn has done enough; `number` is not below that of the next task
    };
    Kind kind = Kind::none;
    std::uint64_t number = 0;
    std::uint32_t slot = no_slot;
  };
  Next peek(const State& state);
  // Goes on to the next one. REQUIRES: peek() has just found a task.
  void pop();

  void entered(const Slot& slot) override;

 private:
  struct Entry {
    std::uint64_t number = 0;
    std::uint32_t set = 0;
  };
  // Where a set was last looked at in this turn.
  struct Cursor {
    std::uint32_t set = 0;
    const ByNumber* tasks = nullptr;
    ByNumber::Iterator at;
  };

  std::uint32_t set_of(std::uint16_t queue, std::size_t of_state) const {
    return static_cast<std::uint32_t>((queue - first_queue_) * state_count + of_state);
  }
  const ByNumber* tasks_of(const State& state, std::uint32_t set) const;
  bool gather(const State& state);
  bool heed_entered();
  // The newest task of the set below its bound, as a cursor at it; nullptr: none is left.
  const Cursor* locate(const State& state, const Entry& entry);
  // The set of the greatest number has nothing from `number` up any more; 0: nothing at all.
  void lower_top(std::uint64_t number);
  void push(std::uint64_t number, std::uint32_t set);
  void drop_top();
  void make_room(std::size_t sets);
  bool tired() const { return work_ >= work_per_turn; }

  // Entries moved in the heap in one turn; to look up a set, which mostly is in no cache of the
  // processor, counts as several.
  static constexpr std::uint32_t work_per_turn = 2000;
  static constexpr std::uint32_t lookup = 8;

  std::array<bool, state_count> wanted_ = {};
  std::uint64_t before_ = std::numeric_limits<std::int64_t>::max();
  const std::uint64_t from_;
  std::size_t first_queue_ = 0;
  std::optional<std::uint16_t> only_;
  std::size_t gathered_ = 0;  // queues from first_queue_ on that are in the merge
  bool gathered_all_ = false;

  // By set: nothing above this number is still to be seen; 0: nothing at all is.
  std::vector<std::uint64_t> bounds_;
  std::vector<bool> is_raised_;        // by set: its bound, by entered(), is not in the heap yet
  std::vector<std::uint32_t> raised_;  // the sets that are
  std::vector<Entry> heap_;            // an entry that differs from its set's bound is void
  std::array<std::optional<Cursor>, 16> cursors_;
  std::uint32_t work_ = 0;  // in this turn
};

}  // namespace millrace::embedded
