// Gathers tasks and restores them into a store in batches.
#pragma once

#include <millrace/result.h>
#include <millrace/task.h>
#include <cstddef>
#include <string>
#include <vector>

#include "core/values.h"
#include "store/fwd.h"
#include "transfer/import.h"

namespace millrace::transfer {

class Batch {
 public:
  Batch(Store& store, TimePoint now, ImportReport& report);

  // `place` names the task in errors ("line 17"), `bytes` is its approximate size. Restores a full
  // batch.
  Result<void> add(Task task, std::string place, std::size_t bytes);

  // Restores the rest and makes it durable. The error is that of the first refused task; the tasks
  // beside it are restored.
  Result<void> finish();

 private:
  Store& store_;
  const TimePoint now_;
  ImportReport& report_;
  const std::size_t most_;
  std::vector<Task> tasks_;
  std::vector<std::string> places_;
  std::size_t bytes_ = 0;
};

}  // namespace millrace::transfer
