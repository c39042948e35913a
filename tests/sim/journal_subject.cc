#include "store/embedded/journal/journal_store.h"
#include "store/embedded/records.h"
#include "tests/sim/subject.h"

namespace millrace::test {

namespace {

SyncMode mode_of(SyncRule rule) {
  switch (rule) {
    case SyncRule::always:
      return SyncMode::always;
    case SyncRule::interval:
      return SyncMode::interval;
    case SyncRule::never:
      return SyncMode::none;
  }
  return SyncMode::always;
}

}  // namespace

Result<Subject> open_journal_subject(std::unique_ptr<Disk> disk, const SubjectOptions& options) {
  auto store = std::make_unique<embedded::JournalStore>(
      std::move(disk), JournalOptions{.sync = mode_of(options.sync),
                                      .interval = options.interval,
                                      .segment_size = options.segment_size,
                                      .cache_size = options.cache_size,
                                      .hash_seed = options.hash_seed});
  if (auto opened = store->open(); !opened) return std::unexpected(opened.error());
  auto* state = &store->state();
  const auto read = [state]() -> Result<std::string> {
    try {
      std::string bytes;
      embedded::write_state(*state, bytes);
      return bytes;
    } catch (const embedded::Unreadable& unreadable) {
      return std::unexpected(unreadable.error);
    }
  };
  // A commit may be larger than the room left on a full disk: then the flush waits, and nothing
  // fails.
  return Subject{.store = std::move(store),
                 .state = read,
                 .boot = boot_of(*state),
                 .flushes_when_full = false};
}

}  // namespace millrace::test
