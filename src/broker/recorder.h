// The only place that reports what happened to tasks: to the metrics, which count it, and to the
// events, for clients that watch. Only once it is stored.
#pragma once

#include <millrace/ids.h>
#include <millrace/result.h>
#include <millrace/task.h>
#include <millrace/time.h>
#include <millrace/work.h>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "broker/books.h"
#include "broker/broker_metrics.h"
#include "broker/events.h"
#include "broker/lease_book.h"

namespace millrace {

// Which task; it only refers to names that the caller owns.
struct About {
  TaskId id = {};
  std::string_view queue = {};
  std::string_view type = {};
  std::string_view client_id = {};
  std::uint8_t priority = default_priority;
};

template <class T>
About about(const T& task) {
  return {.id = task.id,
          .queue = task.queue,
          .type = task.type,
          .client_id = task.client_id,
          .priority = task.priority};
}

// Like About, with names of its own, for code that must wait before it may report.
struct RecordedTask {
  TaskId id = {};
  std::string queue = {};
  std::string type = {};
  std::string client_id = {};
  std::uint8_t priority = default_priority;
};
template <class T>
RecordedTask recorded_task(const T& task) {
  return {task.id, task.queue, task.type, task.client_id, task.priority};
}

// The state of a task that is put now.
TaskState state_of_new(const NewTask& task, TimePoint now);

// One lock of each for everything that a request brings; they come after the lock of the queues and
// before that of the leases.
class Recorder {
 public:
  Recorder(Books& books, TimePoint now)
      : now_(now), events_(books.events), metrics_(books.metrics, now) {}

  void put(const About& task, TaskState state);
  // Its task existed, or its unique key was held.
  void existing(std::string_view queue, std::string_view type);
  void refused(ErrorCode code) { metrics_.refused(code); }
  void late_report() { metrics_.late_report(); }
  // `waited`: from ready to taken.
  void taken(const About& task, std::string_view worker, Duration waited);
  // A run ended with this event after this time; a wait that ended, and a lost lease, have no run.
  void ended(const About& task, Event event, TaskState state, std::optional<Duration> run,
             std::string_view error_code = {});
  // Events that no figure counts.
  void happened(const About& task, EventKind what, TaskState state,
                std::optional<double> progress = std::nullopt);

  Tally& of(std::string_view queue) { return metrics_.of(queue); }

 private:
  void count(const BrokerMetrics::Row& row, Counted what);

  const TimePoint now_;
  // Wakes waiting readers when it is destroyed, so it is destroyed last.
  EventRing::Writing events_;
  BrokerMetrics::Writing metrics_;
};

// Tasks that are put together with something else, such as follow-ups: reported once that is
// stored. The store does not say whether they existed before, so they are reported as new.
class RecordedPuts {
 public:
  RecordedPuts() = default;
  RecordedPuts(const std::vector<NewTask>& tasks, const QueueBook& queues, TimePoint now);
  void record(Recorder& recorder) const;

 private:
  struct One {
    RecordedTask task = {};
    TaskState state = TaskState::queued;
  };
  std::vector<One> tasks_;
};

// What a service did, reported when it is stored.
class PendingRecords {
 public:
  void put(RecordedPuts tasks, TimePoint now);
  // `lost`: the holder lost the lease, whatever came of the task.
  void ended(const Lease& lease, const Settlement& settlement, TaskState state, bool lost,
             TimePoint now);

  void record(Books& books);
  void drop() { ended_.clear(), put_.clear(); }

 private:
  struct Ended {
    RecordedTask task = {};
    Event event = Event::lose;
    TaskState state = TaskState::queued;
    bool lost = false;
    std::string error_code = {};
  };
  TimePoint at_{};
  std::vector<Ended> ended_;
  std::vector<RecordedPuts> put_;
};

}  // namespace millrace
