// The Store contract over the state machine and a file that is replaced at intervals.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/mutex.h"
#include "disk/disk.h"
#include "store/embedded/snapshot/snapshot.h"
#include "store/embedded/state_machine.h"
#include "store/forwarding.h"

namespace millrace::embedded {

class SnapshotStore final : public ForwardingStore {
 public:
  SnapshotStore(std::unique_ptr<Disk> disk, std::string name, SnapshotOptions options,
                std::unique_ptr<StateMachine> machine);
  SnapshotStore(const SnapshotStore&) = delete;
  SnapshotStore& operator=(const SnapshotStore&) = delete;
  ~SnapshotStore() override;

  // Saves what is there now, before anything else happens.
  Result<void> save();

  Result<Advanced> advance(TimePoint now, std::size_t limit) override;
  Result<void> flush() override;
  Traits traits() const override;

 private:
  std::uint64_t revision() { return machine_->state().changes.revision; }
  std::string bytes();

  std::unique_ptr<Disk> disk_;
  const std::string name_;
  const SnapshotOptions options_;
  std::unique_ptr<StateMachine> machine_;

  // For the thread that makes changes.
  std::uint64_t captured_ = 0;  // the revision last made into bytes
  std::optional<TimePoint> captured_at_;

  // Between that thread and the one that flushes.
  Mutex mutex_{LockRank::store_pending};
  std::optional<std::string> waiting_ GUARDED_BY(mutex_);  // bytes to be written

  Mutex writing_{LockRank::store_flush};        // one writer at a time
  bool reported_ GUARDED_BY(writing_) = false;  // the operator was told that nothing can be written
};

}  // namespace millrace::embedded
