#include "app/stores.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>

#include "core/seed.h"
#include "disk/real_disk.h"
#include "store/embedded/journal/format.h"
#include "store/embedded/journal/journal.h"
#include "store/embedded/memory.h"
#include "store/embedded/snapshot/snapshot.h"
#include "store/store.h"

namespace millrace {
namespace {

// A store to be read must exist: an empty one is probably a mistyped name.
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

Result<std::unique_ptr<Disk>> open_disk(const std::string& directory, Access access) {
  return open_directory(directory,
                        access == Access::read ? DirectoryMode::existing : DirectoryMode::make);
}

Result<std::unique_ptr<Store>> open_journal_at(const StoreUrl& url, Access access,
                                               const Progress& progress,
                                               const OpeningWarning& warn) {
  auto disk = open_disk(url.path, access);
  if (!disk) return std::unexpected(std::move(disk.error()));
  if (access == Access::read) {
    auto there = check_there_is(**disk, "journal", [](const std::string& each) {
      return embedded::segment_number(each).has_value();
    });
    if (!there) return std::unexpected(std::move(there.error()));
  }
  JournalOptions options{.sync = sync_of(url.sync),
                         .hash_seed = random_seed(),
                         .read_only = access == Access::read,
                         .progress = progress,
                         .warn = warn};
  if (url.interval) options.interval = *url.interval;
  return open_journal(std::move(*disk), std::move(options));
}

Result<std::unique_ptr<Store>> open_snapshot_at(const StoreUrl& url, Access access,
                                                const OpeningWarning& warn) {
  const std::filesystem::path file(url.path);
  const std::string folder = file.parent_path().string();
  auto disk = open_disk(folder.empty() ? "." : folder, access);
  if (!disk) return std::unexpected(std::move(disk.error()));
  const std::string name = file.filename().string();
  if (access == Access::read) {
    auto there =
        check_there_is(**disk, name, [&](const std::string& each) { return each == name; });
    if (!there) return std::unexpected(std::move(there.error()));
  }
  return open_memory_with_snapshot(
      std::move(*disk), name,
      {.hash_seed = random_seed(), .read_only = access == Access::read, .warn = warn});
}

}  // namespace

PostgresOptions postgres_options(const StoreUrl& url) {
  // PostgreSQL keeps 63 bytes of a name, and the end of a host name says least.
  std::array<char, 33> host = {};
  if (gethostname(host.data(), host.size() - 1) != 0) host = {'?'};
  return {.url = url.server,
          .schema = url.schema,
          .listen_url = url.listen_url,
          .application_name = fmt::format("millrace {} {}", host.data(), getpid()),
          .prepare = url.prepare,
          .migrate = url.migrate,
          .vacuum = url.vacuum,
          .readers = url.readers};
}

Result<std::unique_ptr<Store>> open_store(Clock& clock, const StoreUrl& url, Access access,
                                          const Progress& progress, const OpeningWarning& warn) {
  if (url.kind == StoreKind::postgres) {
    PostgresOptions options = postgres_options(url);
    options.read_only = access == Access::read;
    if (access == Access::serve) options.wait = url.wait;
    options.warn = warn;
    return open_postgres(std::move(options), clock);
  }
  if (url.kind == StoreKind::journal) return open_journal_at(url, access, progress, warn);
  if (!url.path.empty()) return open_snapshot_at(url, access, warn);
  if (access == Access::serve) return open_memory();
  return fail(ErrorCode::invalid,
              "memory: starts empty and ends with its process, so there is nothing to move; "
              "write memory:?snapshot=FILE");
}

std::optional<DiskSpace> space_of(const StoreUrl& url) {
  std::filesystem::path path(url.path);
  if (url.kind == StoreKind::postgres || path.empty()) return std::nullopt;
  if (url.kind == StoreKind::memory) path = path.parent_path();
  std::error_code error;
  const auto space = std::filesystem::space(path.empty() ? "." : path, error);
  if (error) return std::nullopt;
  return DiskSpace{.free = space.available, .total = space.capacity};
}

}  // namespace millrace
