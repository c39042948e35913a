#include "store/embedded/journal/segments.h"

#include <algorithm>

#include "store/embedded/journal/format.h"

namespace millrace::embedded {
namespace {

constexpr std::size_t max_open = 64;  // a journal may have more files than a process may open

}  // namespace

Segments::~Segments() {
  for (const auto& [number, open] : open_) disk_.close(open.file);
}

Result<std::size_t> Segments::read(std::uint64_t segment, std::uint64_t offset,
                                   std::span<char> into) {
  const std::lock_guard lock(mutex_);
  const auto file = file_of(segment);
  if (!file) return std::unexpected(file.error());
  return read_all(disk_, *file, offset, into);
}

void Segments::forget(std::uint64_t segment) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(segment);
  if (found == open_.end()) return;
  disk_.close(found->second.file);
  open_.erase(found);
}

Result<Disk::File> Segments::file_of(std::uint64_t segment) {
  const auto found = open_.find(segment);
  if (found != open_.end()) {
    found->second.used = ++reads_;
    return found->second.file;
  }
  if (open_.size() >= max_open) {
    const auto oldest =
        std::ranges::min_element(open_, {}, [](const auto& entry) { return entry.second.used; });
    disk_.close(oldest->second.file);
    open_.erase(oldest);
  }
  const auto file = disk_.open(segment_name(segment), Disk::Access::read);
  if (file) open_.emplace(segment, Open{*file, ++reads_});
  return file;
}

}  // namespace millrace::embedded
