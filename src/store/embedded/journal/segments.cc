#include "store/embedded/journal/segments.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/ensure.h"
#include "store/embedded/journal/format.h"

namespace millrace::embedded {
namespace {

constexpr std::size_t max_open = 64;  // a journal may have more files than a process may open

}  // namespace

// The lock is not held while the disk works: others read other segments meanwhile.
Result<std::size_t> Segments::read(std::uint64_t segment, std::uint64_t offset,
                                   std::span<char> into) {
  const auto open = file_of(segment);
  if (!open) return std::unexpected(open.error());
  return read_all(disk_, (*open)->file, offset, into);
}

void Segments::forget(std::uint64_t segment) {
  std::shared_ptr<Open> gone;  // closed without the lock
  const Lock lock(mutex_);
  ++forgotten_;
  const auto found = open_.find(segment);
  if (found == open_.end()) return;
  gone = std::move(found->second);
  open_.erase(found);
}

std::shared_ptr<Segments::Open> Segments::find(std::uint64_t segment) {
  const auto found = open_.find(segment);
  if (found == open_.end()) return nullptr;
  found->second->used = ++asked_;
  return found->second;
}

std::shared_ptr<Segments::Open> Segments::push_out() {
  if (open_.size() < max_open) return nullptr;
  const auto oldest =
      std::ranges::min_element(open_, {}, [](const auto& entry) { return entry.second->used; });
  auto file = std::move(oldest->second);
  open_.erase(oldest);
  return file;
}

Result<std::shared_ptr<Segments::Open>> Segments::file_of(std::uint64_t segment) {
  std::uint64_t forgotten = 0;
  {
    const Lock lock(mutex_);
    if (auto open = find(segment)) return open;
    forgotten = forgotten_;
  }
  const auto file = disk_.open(segment_name(segment), Disk::Access::read);
  if (!file) return std::unexpected(file.error());
  auto open = std::make_shared<Open>(disk_, *file);
  std::shared_ptr<Open> pushed_out;  // closed without the lock
  const Lock lock(mutex_);
  // Another thread may have opened it as well, and what was being forgotten must not be kept.
  if (forgotten != forgotten_ || open_.contains(segment)) return open;
  pushed_out = push_out();
  open->used = ++asked_;
  open_.emplace(segment, open);
  return open;
}

Segments::Pin::Pin(Segments& segments, std::uint64_t first) : segments_(segments), first_(first) {
  const Lock lock(segments_.mutex_);
  segments_.pins_.insert(first_);
}

Segments::Pin::~Pin() {
  const Lock lock(segments_.mutex_);
  const auto pin = segments_.pins_.find(first_);
  ensure(pin != segments_.pins_.end(), "a segment was unpinned more often than it was pinned");
  segments_.pins_.erase(pin);
}

std::uint64_t Segments::first_pinned() {
  const Lock lock(mutex_);
  return pins_.empty() ? std::numeric_limits<std::uint64_t>::max() : *pins_.begin();
}

}  // namespace millrace::embedded
