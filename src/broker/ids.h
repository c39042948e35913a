// Ids for tasks and queues, from one source for all threads.
#pragma once

#include <millrace/task.h>
#include <millrace/time.h>
#include <cstdint>
#include <vector>

#include "core/mutex.h"
#include "core/uuid.h"

namespace millrace {

class Ids {
 public:
  // Two processes over one store must have different seeds.
  explicit Ids(std::uint64_t seed) : source_(seed) {}

  Uuid next(TimePoint now) {
    const Lock lock(mutex_);
    return source_.next(now);
  }

  // Gives an id to each task that has none.
  void fill(std::vector<NewTask>& tasks, TimePoint now) {
    const Lock lock(mutex_);
    for (NewTask& task : tasks) {
      if (task.id.value.is_nil()) task.id = {source_.next(now)};
    }
  }

 private:
  Mutex mutex_{LockRank::leaf};
  UuidSource source_ GUARDED_BY(mutex_);
};

}  // namespace millrace
