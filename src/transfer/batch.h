// Tasks on their way into a store, many at a time.
#pragma once

#include <millrace/result.h>
#include <millrace/task.h>
#include <cstddef>
#include <string>
#include <vector>

#include "store/store.h"
#include "transfer/import.h"

namespace millrace::transfer {

class Batch {
 public:
  Batch(Store& store, TimePoint now, ImportReport& report);

  // `place` is how an error calls the task ("line 17"), `bytes` about its size. Restores what was
  // gathered when that is enough.
  Result<void> add(Task task, std::string place, std::size_t bytes);

  // Restores what was gathered, and makes it durable. The first task that was refused is the error;
  // those beside it are in.
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
