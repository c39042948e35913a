#include "store/embedded/snapshot/snapshot_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/crc32c.h"
#include "store/embedded/bytes.h"

namespace millrace::embedded {
namespace {

constexpr std::string_view magic = "MILLSNAP";
constexpr std::uint32_t format_number = 2;
constexpr std::uint32_t oldest_format = 1;  // that is still read
constexpr std::size_t sum_at = 8 + 4 + 4 + 8;
constexpr std::size_t head_size = sum_at + 4;

// The checksum of the head without the sum, and of what follows.
std::uint32_t sum_of(std::string_view bytes) {
  return crc32c(crc32c(0, bytes.substr(0, sum_at)), bytes.substr(head_size));
}

std::string path_of(const Disk& disk, std::string_view name) {
  return fmt::format("{}/{}", disk.path(), name);
}

std::string temporary(std::string_view name) {
  return fmt::format("{}.new", name);
}

Result<std::string> read_file(Disk& disk, std::string_view name, std::uint64_t size) {
  const auto file = disk.open(name, Disk::Access::read);
  if (!file) return std::unexpected(file.error());
  std::string bytes(size, '\0');
  const auto read = read_all(disk, *file, 0, bytes);
  disk.close(*file);
  if (!read) return std::unexpected(read.error());
  bytes.resize(*read);
  return bytes;
}

}  // namespace

std::string snapshot_bytes(std::uint32_t epoch, std::string_view records) {
  std::string bytes;
  bytes.reserve(head_size + records.size());
  Appender to(bytes);
  to.raw(magic.data(), magic.size());
  write(to, format_number), write(to, epoch);
  write(to, static_cast<std::uint64_t>(records.size())), write(to, std::uint32_t{0});
  to.raw(records.data(), records.size());
  const std::uint32_t sum = sum_of(bytes);
  std::memcpy(bytes.data() + sum_at, &sum, sizeof(sum));
  return bytes;
}

Result<Snapshot> snapshot_from(std::string_view bytes) {
  ByteReader in(bytes);
  const std::string_view found = in.raw(magic.size());
  std::uint32_t format = 0;
  std::uint64_t size = 0;
  std::uint32_t sum = 0;
  Snapshot snapshot;
  read(in, format), read(in, snapshot.epoch), read(in, size), read(in, sum);
  if (!magic.starts_with(found.substr(0, magic.size())) || (!bytes.empty() && found.empty())) {
    return fail(ErrorCode::corrupt,
                "is not a snapshot of Millrace. Bring in a queue-state.json or an export with "
                "`millrace import`");
  }
  if (in.good() && (format < oldest_format || format > format_number)) {
    return fail(ErrorCode::corrupt,
                fmt::format("has format {}, and this Millrace knows formats {} to {}; open it with "
                            "the version that wrote it",
                            format, oldest_format, format_number));
  }
  if (!in.good() || in.left() != size) {
    return fail(ErrorCode::corrupt,
                fmt::format("has been cut off or added to: {} bytes", bytes.size()));
  }
  if (sum != sum_of(bytes)) {
    return fail(ErrorCode::corrupt, "has been damaged: its checksum does not match its bytes");
  }
  snapshot.records = in.raw(size);
  return snapshot;
}

Result<std::optional<Snapshot>> read_snapshot(Disk& disk, std::string_view name) {
  const auto entries = disk.list();
  if (!entries) return std::unexpected(entries.error());
  const auto entry = std::ranges::find(*entries, name, &Disk::Entry::name);
  if (entry == entries->end()) return std::nullopt;
  const auto bytes = read_file(disk, name, entry->size);
  if (!bytes) return std::unexpected(bytes.error());
  auto snapshot = snapshot_from(*bytes);
  if (snapshot) return std::move(*snapshot);
  return fail(snapshot.error().code,
              fmt::format("{} {}. Nothing was changed. Put a good copy in its place, or move it "
                          "away to begin with an empty store",
                          path_of(disk, name), snapshot.error().message));
}

Result<void> write_snapshot(Disk& disk, std::string_view name, std::string_view bytes) {
  const std::string beside = temporary(name);
  if (auto removed = disk.remove(beside);
      !removed && removed.error().code != ErrorCode::not_found) {
    return removed;
  }
  const auto file = disk.open(beside, Disk::Access::create);
  if (!file) return std::unexpected(file.error());
  auto done = disk.write(*file, 0, bytes);
  if (done) done = disk.sync(*file);
  disk.close(*file);
  if (done) done = disk.rename(beside, name);
  if (done) done = disk.sync_directory();
  return done;
}

}  // namespace millrace::embedded
