// Moves processors between queues: gathers what workers and queues report, lets
// core/assignment.h decide, and has instructions ready for the next beat of each worker.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "broker/books.h"
#include "broker/broker.h"
#include "broker/service.h"
#include "core/assignment.h"
#include "core/mutex.h"
#include "core/values.h"
#include "store/fwd.h"

namespace millrace {

class Manager final : public Service {
 public:
  // A worker that has not reported for this long is not counted on.
  static constexpr Duration silence = std::chrono::seconds(30);
  static constexpr Duration round_every = std::chrono::seconds(5);

  explicit Manager(Books& books) : books_(books) {}

  Result<TimePoint> run_once(Store& store, TimePoint now) override;

  // For a worker with this report; empty if it already does what it should.
  Instructions instructions(const WorkerReport& report);

  // What each worker was assigned in the last round, and gets with its next beat.
  std::map<std::string, std::vector<Assignment>> assignments();

  // How many processors would keep waiting times short, whether there are workers or not.
  std::uint64_t desired();

 private:
  // What a worker had done of a queue when it last reported.
  struct Sum {
    std::uint64_t handled = 0;
    Duration busy_time{};
  };
  // What is known of a queue from round to round.
  struct KnownQueue {
    RecentRate arrivals = {};
    RecentMean service = {};
    std::uint64_t ready = 0;
    std::uint64_t taken = 0;
    bool known = false;
    bool there = false;  // in this round
  };
  using Names = std::map<std::string, std::size_t, std::less<>>;  // places among the loads

  void learn(const std::vector<WorkerReport>& reports);
  std::vector<QueueLoad> loads(const std::vector<QueueCounts>& counts, TimePoint now);
  QueueLoad load_of(const QueueCounts& counts, KnownQueue& past, TimePoint now) const;
  void assign(const std::vector<WorkerReport>& reports, const AssignmentPlan& plan);

  Books& books_;
  // Used only where services run.
  std::map<std::string, std::map<std::string, Sum, std::less<>>> sums_;  // by worker and queue
  std::map<std::string, KnownQueue, std::less<>> known_;
  TimePoint last_round_{};
  bool scarce_ = false;

  Mutex mutex_{LockRank::leaf};
  std::map<std::string, std::vector<Assignment>> assigned_ GUARDED_BY(mutex_);  // by worker
  std::uint64_t desired_ GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace
