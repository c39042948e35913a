#include "store/embedded/journal/spares.h"

#include <algorithm>
#include <tuple>

#include "core/mutex.h"
#include "store/embedded/journal/format.h"

namespace millrace::embedded {
namespace {

constexpr std::uint64_t fill_step = 256U << 10U;

}  // namespace

Result<void> Spares::adopt(const std::vector<Disk::Entry>& entries) {
  const Lock lock(mutex_);
  for (const Disk::Entry& entry : entries) {
    const auto number = spare_number(entry.name);
    if (!number) continue;
    last_number_ = std::max(last_number_, *number);
    if (entry.size == size_ && spares_.size() < wanted) {
      spares_.push_back({.name = entry.name, .filled = size_});
    } else if (auto removed = disk_.remove(entry.name); !removed) {
      return removed;
    }
  }
  counted();
  return {};
}

void Spares::counted() {
  ready_ = spares_.size();
  const Lock lock(shortage_mutex_);
  if (spares_.size() >= wanted) shortage_.reset();
  short_ = shortage_.has_value();
}

std::optional<Error> Spares::shortage() const {
  const Lock lock(shortage_mutex_);
  return shortage_;
}

void Spares::refill(std::uint64_t budget) {
  const Lock lock(mutex_);
  while (spares_.size() < wanted && make_locked()) {
  }
  if (budget == 0) return;
  for (Spare& spare : spares_) {
    if (spare.filled == size_) continue;
    // Failing to write zeros is not a loss: the space is allocated all the same.
    if (!fill_locked(spare, budget)) spare.filled = size_;
    return;
  }
}

Result<void> Spares::make() {
  const Lock lock(mutex_);
  return make_locked();
}

Result<void> Spares::make_locked() {
  const std::string name = spare_name(++last_number_);
  const auto file = disk_.open(name, Disk::Access::create);
  auto made = file ? disk_.allocate(*file, size_) : Result<void>(std::unexpected(file.error()));
  if (file) disk_.close(*file);
  if (made) {
    spares_.push_back({.name = name});
    counted();
    return {};
  }
  // If that fails, too: a file of the wrong size is removed on opening.
  if (file) std::ignore = disk_.remove(name);
  if (spares_.size() < wanted) {
    const Lock lock(shortage_mutex_);
    shortage_ = made.error();
  }
  counted();
  return made;
}

Result<void> Spares::fill_locked(Spare& spare, std::uint64_t budget) {
  const auto file = disk_.open(spare.name, Disk::Access::write);
  if (!file) return std::unexpected(file.error());
  const std::string zeros(std::min({fill_step, budget, size_ - spare.filled}), '\0');
  Result<void> done;
  for (std::uint64_t used = 0; done && used < budget && spare.filled < size_;) {
    const auto part = std::min<std::uint64_t>(zeros.size(), size_ - spare.filled);
    done = disk_.write(*file, spare.filled, std::string_view(zeros).substr(0, part));
    spare.filled += part;
    used += part;
  }
  // Each piece begins its sync at once: syncing all of them at the end would hold up a commit.
  disk_.begin_sync(*file);
  disk_.close(*file);
  return done;
}

Result<void> Spares::sync_locked(const Spare& spare, std::string_view bytes) {
  const auto file = disk_.open(spare.name, Disk::Access::write);
  if (!file) return std::unexpected(file.error());
  auto synced = bytes.empty() ? Result<void>{} : disk_.write(*file, 0, bytes);
  if (synced) synced = disk_.sync(*file);
  disk_.close(*file);
  return synced;
}

Result<void> Spares::rename_to(const std::string& name, std::string_view bytes) {
  const Lock lock(mutex_);
  // The one with the most zeros.
  const auto best = std::ranges::max_element(spares_, {}, &Spare::filled);
  if (!best->synced || !bytes.empty()) {
    auto synced = sync_locked(*best, bytes);
    if (!synced) {
      // What a failed sync leaves behind must not be used, not even by the next process.
      std::ignore = disk_.remove(best->name);
      spares_.erase(best);
      counted();
      return synced;
    }
    best->synced = true;
  }
  auto renamed = disk_.rename(best->name, name);
  if (renamed) spares_.erase(best);
  counted();
  return renamed;
}

Result<void> Spares::recycle(const std::string& name, std::uint64_t size) {
  const Lock lock(mutex_);
  if (spares_.size() >= wanted || size != size_) return disk_.remove(name);
  const std::string spare = spare_name(++last_number_);
  auto renamed = disk_.rename(name, spare);
  if (!renamed) return renamed;
  spares_.push_back({.name = spare, .filled = size_, .synced = true});
  counted();
  return {};
}

}  // namespace millrace::embedded
