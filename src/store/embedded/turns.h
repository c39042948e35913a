// Which thread may touch the state now: the one thread that changes it, or a reader for a short
// step.
//
// A change waits for one step of a reader at most: a reader that comes while a change waits lets it
// go first. Readers hold a turn for microseconds and load what is on disk between two turns.
#pragma once

#include <atomic>
#include <thread>

#include "core/mutex.h"

namespace millrace::embedded {

class Turns {
 public:
  class [[nodiscard]] Change {
   public:
    explicit Change(Turns& turns) : turns_(turns) { turns_.begin_change(); }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;
    ~Change() { turns_.end_change(); }

   private:
    Turns& turns_;
  };

  class [[nodiscard]] Step {
   public:
    explicit Step(Turns& turns) : turns_(turns) { turns_.begin_step(); }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;
    ~Step() { turns_.end_step(); }

   private:
    Turns& turns_;
  };

 private:
  // A thread that makes a change may begin another one inside it: the journal's contains the state
  // machine's.
  bool is_mine() const {
    return owner_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }

  // Clang cannot follow a lock that one thread may take several times.
  void begin_change() NO_THREAD_SAFETY_ANALYSIS {
    if (is_mine()) {
      ++depth_;
      return;
    }
    waiting_.fetch_add(1);
    mutex_.lock();
    if (waiting_.fetch_sub(1) == 1) waiting_.notify_all();
    owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    depth_ = 1;
  }
  void end_change() NO_THREAD_SAFETY_ANALYSIS {
    if (--depth_ != 0) return;
    owner_.store({}, std::memory_order_relaxed);
    mutex_.unlock();
  }

  void begin_step() NO_THREAD_SAFETY_ANALYSIS {
    if (is_mine()) {
      ++depth_;
      return;
    }
    for (;;) {
      mutex_.lock();
      const int changes = waiting_.load();
      if (changes == 0) return;
      mutex_.unlock();
      waiting_.wait(changes);
    }
  }
  void end_step() NO_THREAD_SAFETY_ANALYSIS {
    if (is_mine()) {
      --depth_;
      return;
    }
    mutex_.unlock();
  }

  Mutex mutex_{LockRank::turn};
  std::atomic<int> waiting_ = 0;             // changes that wait for their turn
  std::atomic<std::thread::id> owner_ = {};  // the thread that changes now
  int depth_ = 0;                            // guarded by being the owner
};

}  // namespace millrace::embedded
