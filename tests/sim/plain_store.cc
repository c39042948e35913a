#include "tests/sim/plain_store.h"

#include <fmt/format.h>
#include <algorithm>
#include <cstring>

#include "core/crc32c.h"
#include "store/embedded/records.h"
#include "store/embedded/replay.h"
#include "store/embedded/state_machine.h"
#include "store/faulty.h"

namespace millrace::test {

namespace {

constexpr const char* file_name = "state";
constexpr const char* new_name = "state.new";

struct Head {
  std::uint32_t checksum = 0;  // of everything after it
  std::uint32_t epoch = 0;
  std::uint64_t size = 0;  // of the records
};

std::string written(std::uint32_t epoch, const std::string& records) {
  const Head head{.checksum = 0, .epoch = epoch, .size = records.size()};
  std::string bytes(sizeof(Head), '\0');
  std::memcpy(bytes.data(), &head, sizeof(Head));
  bytes += records;
  const auto checksum = crc32c(0, std::string_view(bytes).substr(sizeof(std::uint32_t)));
  std::memcpy(bytes.data(), &checksum, sizeof(checksum));
  return bytes;
}

class PlainStore final : public ForwardingStore {
 public:
  PlainStore(std::unique_ptr<Disk> disk, std::uint32_t epoch, PlainDefect defect)
      : ForwardingStore(static_cast<Store&>(gate_)),
        disk_(std::move(disk)),
        machine_({.epoch = epoch}),
        gate_(machine_),
        defect_(defect) {}

  embedded::State& state() { return machine_.state(); }

  Result<void> flush() override {
    if (auto open = ForwardingStore::flush(); !open) return open;
    if (defect_ == PlainDefect::late_answer && !late_) {
      late_ = true;
      return {};
    }
    late_ = false;
    auto saved = save();
    // A state that cannot be written now stays in memory; the old file is still whole.
    full_ = !saved && saved.error().code == ErrorCode::limited;
    if (full_ && defect_ != PlainDefect::dies_when_full) return saved;
    if (saved || defect_ == PlainDefect::blind_to_sync) return {};
    failed_ = true;
    gate_.plan({.error = {.code = ErrorCode::unavailable, .message = saved.error().message},
                .lasting = true});
    saved.error().code = ErrorCode::unavailable;
    return saved;
  }
  Result<std::vector<Result<Put>>> put(std::span<const NewTask> tasks, TimePoint now) override {
    if (full_) full_ = !save();
    if (full_) return fail(ErrorCode::limited, "the disk is full");
    return ForwardingStore::put(tasks, now);
  }
  Result<std::vector<Queue>> queues(const std::optional<QueueRef>& queue) override {
    if (failed_ && defect_ == PlainDefect::reads_after_failure) return machine_.queues(queue);
    return ForwardingStore::queues(queue);
  }
  Result<std::vector<Result<TaskState>>> remove(std::span<const TaskId> tasks,
                                                TimePoint now) override {
    if (defect_ == PlainDefect::forgets_removals) {
      embedded::write_state(machine_.state(), before_removal_);
      auto removed = ForwardingStore::remove(tasks, now);
      forgot_ = true;
      return removed;
    }
    return ForwardingStore::remove(tasks, now);
  }
  Traits traits() const override {
    auto traits = ForwardingStore::traits();
    traits.durability = Durability::synced;
    traits.loss_window = Duration::zero();
    return traits;
  }

  Result<void> save() {
    std::string records;
    embedded::write_state(machine_.state(), records);
    if (std::exchange(forgot_, false)) records = std::exchange(before_removal_, {});
    const auto bytes = written(machine_.state().options().epoch, records);
    const bool in_place = defect_ == PlainDefect::in_place && has_file_;
    if (!in_place) std::ignore = disk_->remove(new_name);
    const auto file = disk_->open(in_place ? file_name : new_name,
                                  in_place ? Disk::Access::write : Disk::Access::create);
    if (!file) return std::unexpected(file.error());
    auto done = disk_->write(*file, 0, bytes);
    if (done && defect_ != PlainDefect::no_sync) done = disk_->sync(*file);
    disk_->close(*file);
    if (done && !in_place) done = disk_->rename(new_name, file_name);
    if (done && defect_ != PlainDefect::no_directory_sync) done = disk_->sync_directory();
    has_file_ = has_file_ || done.has_value();
    return done;
  }

 private:
  std::unique_ptr<Disk> disk_;
  embedded::StateMachine machine_;
  FaultyStore gate_;  // shut after a failure
  PlainDefect defect_;
  std::string before_removal_;
  bool has_file_ = false;
  bool late_ = false;
  bool full_ = false;
  bool failed_ = false;
  bool forgot_ = false;
};

struct Loaded {
  std::uint32_t epoch = 0;
  std::string records;
};

Result<Loaded> load(Disk& disk, PlainDefect defect) {
  const auto file = disk.open(file_name, Disk::Access::read);
  if (!file && file.error().code == ErrorCode::not_found) return Loaded{};
  if (!file) return std::unexpected(file.error());
  std::string bytes;
  for (std::string part(64 * 1024, '\0');;) {
    const auto got = read_all(disk, *file, bytes.size(), part);
    if (!got) return std::unexpected(got.error());
    bytes.append(part, 0, *got);
    if (*got < part.size()) break;
  }
  disk.close(*file);
  Head head;
  std::memcpy(&head, bytes.data(), std::min(bytes.size(), sizeof(Head)));
  const bool whole = bytes.size() >= sizeof(Head) && bytes.size() - sizeof(Head) >= head.size;
  const auto covered =
      std::string_view(bytes).substr(std::min(sizeof(std::uint32_t), bytes.size()),
                                     whole ? sizeof(Head) - sizeof(std::uint32_t) + head.size : 0);
  if (defect != PlainDefect::no_checksum && (!whole || crc32c(0, covered) != head.checksum)) {
    return fail(ErrorCode::corrupt,
                fmt::format("{}/{}: damaged at offset 0", disk.path(), file_name));
  }
  return Loaded{.epoch = head.epoch,
                .records = bytes.substr(std::min(sizeof(Head), bytes.size()), head.size)};
}

}  // namespace

Result<Subject> open_plain(std::unique_ptr<Disk> disk, const SubjectOptions& /*options*/,
                           PlainDefect defect) {
  if (auto locked = disk->lock(false); !locked) return std::unexpected(locked.error());
  const auto loaded = load(*disk, defect);
  if (!loaded) return std::unexpected(loaded.error());
  const auto epoch = defect == PlainDefect::same_epoch ? 1 : loaded->epoch + 1;
  auto store = std::make_unique<PlainStore>(std::move(disk), epoch, defect);
  embedded::Replay replay(store->state());
  if (auto applied = replay.apply(loaded->records); !applied) {
    if (defect != PlainDefect::no_checksum) return std::unexpected(applied.error());
  }
  if (auto indexed = replay.finish(); !indexed) return std::unexpected(indexed.error());
  // The epoch must be durable before the first token of this boot is.
  if (auto saved = store->save(); !saved && saved.error().code != ErrorCode::limited) {
    return std::unexpected(saved.error());
  }
  auto* state = &store->state();
  return Subject{.store = std::move(store),
                 .state = [state]() -> Result<std::string> {
                   std::string bytes;
                   embedded::write_state(*state, bytes);
                   return bytes;
                 },
                 .boot = boot_of(*state),
                 .flushes_when_full = false};
}

const std::vector<NamedDefect>& plain_defects() {
  static const std::vector<NamedDefect> all = {
      {"no_sync", PlainDefect::no_sync},
      {"no_directory_sync", PlainDefect::no_directory_sync},
      {"late_answer", PlainDefect::late_answer},
      {"no_checksum", PlainDefect::no_checksum},
      {"same_epoch", PlainDefect::same_epoch},
      {"in_place", PlainDefect::in_place},
      {"blind_to_sync", PlainDefect::blind_to_sync},
      {"reads_after_failure", PlainDefect::reads_after_failure},
      {"forgets_removals", PlainDefect::forgets_removals},
      {"dies_when_full", PlainDefect::dies_when_full},
  };
  return all;
}

}  // namespace millrace::test
