// What happened to tasks is told here, and nowhere else: the figures count it, and whoever watches
// the events hears of it. Only once it is stored.
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
#include "broker/events.h"
#include "broker/figures.h"
#include "broker/lease_book.h"

namespace millrace {

// Which task; the names are those of whoever tells.
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

// As About, for whoever must wait before he may tell.
struct ToldTask {
  TaskId id = {};
  std::string queue = {};
  std::string type = {};
  std::string client_id = {};
  std::uint8_t priority = default_priority;
};
template <class T>
ToldTask told_of(const T& task) {
  return {task.id, task.queue, task.type, task.client_id, task.priority};
}

// In which state a task is that is put now.
TaskState state_of_new(const NewTask& task, TimePoint now);

// One lock of each for all that a request brings; the locks come after that of the queues and
// before that of the leases.
class Telling {
 public:
  Telling(Books& books, TimePoint now)
      : now_(now), events_(books.events), figures_(books.figures, now) {}

  void put(const About& task, TaskState state);
  // Its task was there, or its unique key was held.
  void existing(std::string_view queue, std::string_view type);
  void refused(ErrorCode code) { figures_.refused(code); }
  void late_report() { figures_.late_report(); }
  // `waited` from ready to taken.
  void taken(const About& task, std::string_view worker, Duration waited);
  // A run ended with this event, after so long; a wait that ended, and a lost lease, have no run.
  void ended(const About& task, Event event, TaskState state, std::optional<Duration> run,
             std::string_view error_code = {});
  // What nobody counts.
  void happened(const About& task, Happened what, TaskState state,
                std::optional<double> progress = std::nullopt);

  Tally& of(std::string_view queue) { return figures_.of(queue); }

 private:
  void count(const Figures::Line& line, Counted what);

  const TimePoint now_;
  // Wakes those who wait when it goes: so it goes last.
  EventRing::Writing events_;
  Figures::Writing figures_;
};

// Tasks that are put with something else, as follow-ups are: to be told of once that is stored.
// Whether they were there before nobody says, so they are told of as new ones.
class NewOnes {
 public:
  NewOnes() = default;
  NewOnes(const std::vector<NewTask>& tasks, const QueueBook& queues, TimePoint now);
  void tell(Telling& telling) const;

 private:
  struct One {
    ToldTask task = {};
    TaskState state = TaskState::queued;
  };
  std::vector<One> tasks_;
};

// What a service did, told when it is stored.
class Untold {
 public:
  void put(NewOnes tasks, TimePoint now);
  // `lost`: the lease of its holder was, whatever came of the task.
  void ended(const Lease& lease, const Settlement& settlement, TaskState state, bool lost,
             TimePoint now);

  void tell(Books& books);
  void drop() { ended_.clear(), put_.clear(); }

 private:
  struct Ended {
    ToldTask task = {};
    Event event = Event::lose;
    TaskState state = TaskState::queued;
    bool lost = false;
    std::string error_code = {};
  };
  TimePoint at_{};
  std::vector<Ended> ended_;
  std::vector<NewOnes> put_;
};

}  // namespace millrace
