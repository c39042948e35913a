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
  Store* asked = store.get();
  return Subject{.store = std::move(store),
                 .state = [state, asked]() -> Result<std::string> {
                   std::string bytes;
                   embedded::write_state(*state, bytes);
                   // Payloads are read back from the disk; whether they could be, it says now.
                   if (auto good = asked->queues(std::nullopt); !good) {
                     return std::unexpected(good.error());
                   }
                   return bytes;
                 },
                 .boot = boot_of(*state)};
}

}  // namespace millrace::test
