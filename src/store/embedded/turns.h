// Which thread may touch the state now: the one thread that changes it, or a reader for a short
// step.
//
// What holds, however many readers there are:
//
//   * A change waits for one step at most, the one that it finds under way or the one that is owed:
//     steps that come while a change waits let it go first.
//   * A step lets most_passes changes go first at most, for each step that waits before it; then
//   the
//     next turn is its own. Steps are served in order of arrival.
//
// Changes may pass a waiting step at all because a thread that sleeps needs a while to get going,
// and every put would wait for that.
//
// Readers hold a turn for microseconds and load what is on disk between two turns.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "core/mutex.h"

namespace millrace::embedded {

class Turns {
 public:
  static constexpr unsigned most_passes = 8;

  class [[nodiscard]] Change {
   public:
    explicit Change(Turns& turns) : turns_(turns) { turns_.begin_change(); }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;
    ~Change() { turns_.end(); }

   private:
    Turns& turns_;
  };

  class [[nodiscard]] Step {
   public:
    explicit Step(Turns& turns) : turns_(turns) { turns_.begin_step(); }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;
    ~Step() { turns_.end(); }

   private:
    Turns& turns_;
  };

  // For tests: steps that were given so far, and what waits now.
  std::uint64_t steps() {
    const Lock lock(mutex_);
    return served_;
  }
  std::uint64_t steps_waiting() {
    const Lock lock(mutex_);
    return arrived_ - served_;
  }
  int changes_waiting() {
    const Lock lock(mutex_);
    return changes_waiting_;
  }

 private:
  // A thread that makes a change may begin another turn inside it: the journal's change contains
  // the state machine's.
  bool is_mine() const {
    return owner_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }

  void begin_change() {
    if (is_mine()) {
      ++depth_;
      return;
    }
    {
      const Lock lock(mutex_);
      if (taken_ || owes_step()) {
        ++changes_waiting_;
        may_change_.wait(mutex_, [this]() REQUIRES(mutex_) { return !taken_ && !owes_step(); });
        --changes_waiting_;
      }
      taken_ = true;
      if (served_ != arrived_) ++passes_;
    }
    owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    depth_ = 1;
  }

  void begin_step() {
    if (is_mine()) {
      ++depth_;
      return;
    }
    const Lock lock(mutex_);
    const std::uint64_t place = arrived_++;
    if (taken_ || changes_waiting_ != 0 || place != served_) {
      may_step_.wait(mutex_, [&]() REQUIRES(mutex_) {
        return !taken_ && place == served_ && (changes_waiting_ == 0 || owes_step());
      });
    }
    taken_ = true;
    ++served_;
    passes_ = 0;
  }

  void end() {
    if (is_mine()) {
      if (--depth_ != 0) return;
      owner_.store({}, std::memory_order_relaxed);
    }
    const Lock lock(mutex_);
    taken_ = false;
    if (changes_waiting_ != 0 && !owes_step()) {
      may_change_.notify_one();
    } else if (served_ != arrived_) {
      may_step_.notify_all();  // only the first of them may go, and it is not known which it is
    }
  }

  bool owes_step() const REQUIRES(mutex_) { return passes_ >= most_passes; }

  Mutex mutex_{LockRank::leaf};  // of what follows; held for a few instructions
  Condition may_change_;
  Condition may_step_;
  bool taken_ GUARDED_BY(mutex_) = false;
  int changes_waiting_ GUARDED_BY(mutex_) = 0;
  std::uint64_t arrived_ GUARDED_BY(mutex_) = 0;  // steps that asked for a turn
  std::uint64_t served_ GUARDED_BY(mutex_) = 0;   // those that were given one
  unsigned passes_ GUARDED_BY(mutex_) = 0;        // changes since then, while a step waited

  std::atomic<std::thread::id> owner_ = {};  // the thread that changes now
  int depth_ = 0;                            // guarded by being the owner
};

}  // namespace millrace::embedded
