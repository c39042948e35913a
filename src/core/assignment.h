// The manager's rules: how many processors of which worker may work on which queue. A pure function
// of statistics; broker/manager.h gathers the statistics and passes the result to the workers.
//
// An assignment is a bound, not a reservation: a free processor still turns to any queue of its
// worker that has tasks, as long as fewer processors than the bound work on it. While there are
// enough processors, the only bounds are those that keep slow tasks from holding every processor.
// When there are too few, processors are shared out so that the expected time to start, times the
// weight of the queue, is the same for all queues.
#pragma once

#include <millrace/time.h>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millrace {

// What is known of a queue.
struct QueueLoad {
  std::string queue = {};
  std::uint64_t ready = 0;  // tasks that could start now
  double arrivals = 0;      // tasks per second
  double service = 0;       // seconds that a task takes on average; 0: not known
  std::uint32_t weight = 1;
  std::optional<std::uint32_t> most = std::nullopt;  // running at once, on all workers together
  Duration oldest{};    // how long the oldest of the ready tasks has waited
  bool paused = false;  // nothing may start
};

// What a worker can do.
struct WorkerCapacity {
  struct QueueShare {
    std::size_t queue = 0;   // its place among the loads
    std::uint32_t most = 0;  // processors that may ever work on it
    std::uint32_t now = 0;   // that may at present
  };
  std::uint32_t processors = 0;
  std::vector<QueueShare> shares = {};
};

// The mean duration of tasks, with the past fading: a round counts half as much as the one six
// rounds later.
class RecentMean {
 public:
  // The tasks that ended since the last round.
  void add(double seconds, std::uint64_t tasks) {
    constexpr double kept = 0.89;
    sum_ = sum_ * kept + seconds;
    count_ = count_ * kept + static_cast<double>(tasks);
  }
  double value() const { return count_ > 0 ? sum_ / count_ : 0; }

 private:
  double sum_ = 0;
  double count_ = 0;
};

// Tasks per second over the last few rounds.
class RecentRate {
 public:
  void add(std::uint64_t tasks, double seconds) {
    if (seconds <= 0) return;
    const double rate = static_cast<double>(tasks) / seconds;
    value_ = known_ ? (value_ + rate) / 2 : rate;
    known_ = true;
  }
  double value() const { return value_; }

 private:
  double value_ = 0;
  bool known_ = false;
};

struct AssignmentRules {
  // How far ahead a round looks: tasks that arrive in this time count as waiting.
  Duration horizon = std::chrono::seconds(10);
  // How long tasks may wait; the desired number of processors keeps waits below this.
  Duration target = std::chrono::seconds(10);
  // Shorter waits than this are not worth a change.
  Duration patience = std::chrono::seconds(5);
};

struct AssignmentPlan {
  std::vector<std::vector<std::uint32_t>> most = {};  // by worker and queue
  bool scarce = false;                                // there is more work than processors
  std::uint64_t desired = 0;  // processors that would keep waiting times below the target
};

AssignmentPlan plan_assignment(const std::vector<QueueLoad>& queues,
                               const std::vector<WorkerCapacity>& workers,
                               const AssignmentRules& rules = {});

}  // namespace millrace
