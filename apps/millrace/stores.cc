#include "apps/millrace/stores.h"

#include <fmt/format.h>
#include <algorithm>
#include <filesystem>
#include <functional>
#include <random>

#include "disk/real_disk.h"
#include "store/embedded/journal/format.h"
#include "store/embedded/journal/journal.h"
#include "store/embedded/journal/verify.h"
#include "store/embedded/memory.h"
#include "store/embedded/snapshot/snapshot.h"

namespace millrace {
namespace {

std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

// Reading where nothing was ever written is a mistyped name, not an empty store.
Result<void> check_there_is(Disk& disk, std::string_view what,
                            const std::function<bool(const std::string&)>& wanted) {
  const auto entries = disk.list();
  if (!entries) return std::unexpected(entries.error());
  if (std::ranges::any_of(*entries, wanted, &Disk::Entry::name)) return {};
  return fail(ErrorCode::not_found, fmt::format("{} holds no {}", disk.path(), what));
}

SyncMode sync_of(UrlSync sync) {
  switch (sync) {
    case UrlSync::always:
      return SyncMode::always;
    case UrlSync::interval:
      return SyncMode::interval;
    case UrlSync::none:
      return SyncMode::none;
  }
  return SyncMode::always;
}

Result<std::unique_ptr<Disk>> open_disk(const std::string& directory, cli::Access access) {
  return open_directory(
      directory, access == cli::Access::read ? DirectoryMode::existing : DirectoryMode::make);
}

Result<std::unique_ptr<Store>> open_journal_at(const StoreUrl& url, cli::Access access,
                                               const cli::Progress& progress,
                                               const cli::Notice& notice) {
  auto disk = open_disk(url.path, access);
  if (!disk) return std::unexpected(std::move(disk.error()));
  if (access == cli::Access::read) {
    auto there = check_there_is(**disk, "journal", [](const std::string& each) {
      return embedded::segment_number(each).has_value();
    });
    if (!there) return std::unexpected(std::move(there.error()));
  }
  JournalOptions options{.sync = sync_of(url.sync),
                         .hash_seed = random_seed(),
                         .read_only = access == cli::Access::read,
                         .progress = progress,
                         .notice = notice};
  if (url.interval) options.interval = *url.interval;
  return open_journal(std::move(*disk), std::move(options));
}

Result<std::unique_ptr<Store>> open_snapshot_at(const StoreUrl& url, cli::Access access,
                                                const cli::Notice& notice) {
  const std::filesystem::path file(url.path);
  const std::string folder = file.parent_path().string();
  auto disk = open_disk(folder.empty() ? "." : folder, access);
  if (!disk) return std::unexpected(std::move(disk.error()));
  const std::string name = file.filename().string();
  if (access == cli::Access::read) {
    auto there =
        check_there_is(**disk, name, [&](const std::string& each) { return each == name; });
    if (!there) return std::unexpected(std::move(there.error()));
  }
  return open_memory_with_snapshot(
      std::move(*disk), name,
      {.hash_seed = random_seed(), .read_only = access == cli::Access::read, .notice = notice});
}

}  // namespace

Result<std::unique_ptr<Store>> open_store(const StoreUrl& url, cli::Access access,
                                          const cli::Progress& progress,
                                          const cli::Notice& notice) {
  if (url.kind == StoreKind::journal) return open_journal_at(url, access, progress, notice);
  if (!url.path.empty()) return open_snapshot_at(url, access, notice);
  if (access == cli::Access::serve) return open_memory();
  return fail(ErrorCode::invalid,
              "memory: begins empty and is gone with the process, so there is nothing to move; "
              "write memory:?snapshot=FILE");
}

std::optional<DiskSpace> space_of(const StoreUrl& url) {
  std::filesystem::path path(url.path);
  if (path.empty()) return std::nullopt;
  if (url.kind == StoreKind::memory) path = path.parent_path();
  std::error_code error;
  const auto space = std::filesystem::space(path.empty() ? "." : path, error);
  if (error) return std::nullopt;
  return DiskSpace{.free = space.available, .total = space.capacity};
}

Result<cli::Verified> verify_store(const std::string& directory, const cli::Progress& progress) {
  auto disk = open_directory(directory, DirectoryMode::existing);
  if (!disk) return std::unexpected(std::move(disk.error()));
  const auto report = verify_journal(**disk, progress);
  if (!report) return std::unexpected(report.error());
  cli::Verified verified{.figures = {{"segments", report->segments},
                                     {"groups", report->groups},
                                     {"bytes", report->bytes},
                                     {"tasks", report->tasks},
                                     {"queues", report->queues},
                                     {"schedules", report->schedules},
                                     {"memos", report->memos}},
                         .damage = report->differences};
  if (report->torn != 0) {
    verified.remarks.push_back(
        fmt::format("the last {} bytes are unfinished, as a crash leaves "
                    "them; the next opening cuts them",
                    report->torn));
  }
  return verified;
}

}  // namespace millrace
