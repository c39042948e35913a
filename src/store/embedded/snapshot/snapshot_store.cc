#include "store/embedded/snapshot/snapshot_store.h"

#include <fmt/format.h>

#include <utility>

#include "core/mutex.h"
#include "store/embedded/records.h"
#include "store/embedded/replay.h"
#include "store/embedded/snapshot/snapshot_file.h"
#include "store/embedded/verbs.h"
#include "store/store.h"

namespace millrace::embedded {

SnapshotStore::SnapshotStore(std::unique_ptr<Disk> disk, std::string name, SnapshotOptions options,
                             std::unique_ptr<StateMachine> machine)
    : ForwardingStore(*machine),
      disk_(std::move(disk)),
      name_(std::move(name)),
      options_(std::move(options)),
      machine_(std::move(machine)),
      captured_(revision()) {}

SnapshotStore::~SnapshotStore() {
  if (options_.read_only) return;
  const bool unsaved = waiting_.has_value() || captured_ != revision();
  if (!unsaved) return;
  if (auto saved = save(); !saved && options_.warn) {
    options_.warn(
        fmt::format("the last changes are lost, because the snapshot cannot be "
                    "written: {}",
                    saved.error().message));
  }
}

std::string SnapshotStore::bytes() {
  std::string records;
  write_state(machine_->state(), records);
  captured_ = revision();
  return snapshot_bytes(machine_->state().options().epoch, records);
}

Result<void> SnapshotStore::save() {
  {
    const Lock lock(mutex_);
    waiting_ = bytes();
  }
  return flush();
}

// Called where changes are made, since there the state stands still long enough to be written down.
Result<Advanced> SnapshotStore::advance(TimePoint now, std::size_t limit) {
  auto advanced = ForwardingStore::advance(now, limit);
  if (options_.read_only || captured_ == revision()) return advanced;
  // A clock that was set back must not delay saving.
  if (captured_at_ && now >= *captured_at_ && now - *captured_at_ < options_.interval) {
    return advanced;
  }
  captured_at_ = now;
  std::string made = bytes();
  const Lock lock(mutex_);
  waiting_ = std::move(made);
  return advanced;
}

Result<void> SnapshotStore::flush() {
  if (options_.read_only) {
    if (captured_ == revision()) return {};
    return fail(ErrorCode::conflict,
                fmt::format("{}/{} is open for reading only", disk_->path(), name_));
  }
  const Lock writing(writing_);
  std::optional<std::string> made;
  {
    const Lock lock(mutex_);
    made = std::exchange(waiting_, std::nullopt);
  }
  if (!made) return {};
  auto written = write_snapshot(*disk_, name_, *made);
  if (written) {
    reported_ = false;
    return {};
  }
  if (!std::exchange(reported_, true) && options_.warn) {
    options_.warn(fmt::format("the snapshot cannot be written: {}", written.error().message));
  }
  const Lock lock(mutex_);
  if (!waiting_) waiting_ = std::move(made);  // the next flush tries again
  return written;
}

Traits SnapshotStore::traits() const {
  Traits traits = ForwardingStore::traits();
  traits.name = "snapshot";
  traits.durability = Durability::interval;
  // A crash loses what happened since the last snapshot, and while that one was being written.
  traits.loss_window = 2 * options_.interval;
  return traits;
}

namespace {

Result<std::unique_ptr<StateMachine>> load(Disk& disk, std::string_view name,
                                           const SnapshotOptions& options) {
  auto snapshot = read_snapshot(disk, name);
  if (!snapshot) return std::unexpected(std::move(snapshot.error()));
  const std::uint32_t epoch = *snapshot ? (*snapshot)->epoch + 1 : 1;
  auto machine = std::make_unique<StateMachine>(
      State::Options{.epoch = epoch, .hash_seed = options.hash_seed});
  if (!*snapshot) return machine;
  Replay replay(machine->state());
  auto done = replay.apply((*snapshot)->records);
  if (done) done = replay.finish();
  if (done) {
    queue_running_again(machine->state());
    return machine;
  }
  return fail(done.error().code,
              fmt::format("{}/{} makes no sense though its checksum is right: {}. Nothing was "
                          "changed; please report this",
                          disk.path(), name, done.error().message));
}

}  // namespace
}  // namespace millrace::embedded

namespace millrace {

Result<std::unique_ptr<Store>> open_memory_with_snapshot(std::unique_ptr<Disk> disk,
                                                         std::string name,
                                                         SnapshotOptions options) {
  if (auto locked = disk->lock(options.read_only); !locked) {
    return std::unexpected(std::move(locked.error()));
  }
  auto machine = embedded::load(*disk, name, options);
  if (!machine) return std::unexpected(std::move(machine.error()));
  const bool read_only = options.read_only;
  auto store = std::make_unique<embedded::SnapshotStore>(std::move(disk), std::move(name),
                                                         std::move(options), std::move(*machine));
  if (read_only) return store;
  // The new epoch is on disk before the first lease, so that no token is ever given out twice; and
  // a process that may not write here learns it now.
  if (auto saved = store->save(); !saved) return std::unexpected(std::move(saved.error()));
  return store;
}

}  // namespace millrace
