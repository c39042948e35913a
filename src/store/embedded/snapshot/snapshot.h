// The `memory:?snapshot=FILE` store: everything in memory, saved to one file at intervals.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/values.h"
#include "disk/disk.h"
#include "store/fwd.h"

namespace millrace {

struct SnapshotOptions {
  // While something changes, the store is saved once per interval. Not sooner, since the
  // whole state is written; and not "after the last change", which a busy queue would put off for
  // ever.
  Duration interval{1000};
  std::uint64_t hash_seed = 0;  // secret, another one each time: see JournalOptions
  bool read_only = false;       // nothing is saved, and a flush() after a change fails
  // Called with what an operator should know: a snapshot that cannot be written.
  std::function<void(std::string_view)> warn = nullptr;
};

// Opens the snapshot `name` on that disk, or an empty store if there is none. Tasks, queues,
// schedules and memos are as they were when it was saved, but what was running is queued again. A
// file that is damaged or not a snapshot is an error and stays as it is: an operator who loses
// tasks must hear of it.
//
// advance() decides when to save, so it must be called about every second; flush() writes, and
// returns an error if it cannot, until a later one can. Closing the store saves it.
Result<std::unique_ptr<Store>> open_memory_with_snapshot(std::unique_ptr<Disk> disk,
                                                         std::string name, SnapshotOptions options);

}  // namespace millrace
