#include "store/embedded/groups.h"

#include "core/crc32c.h"
#include "core/ensure.h"

namespace millrace::embedded {

std::uint64_t Groups::hash(std::uint16_t queue, std::string_view name) {
  return mix(crc32c(queue, name) | std::uint64_t{queue} << 32U);
}

std::uint32_t Groups::find(std::uint16_t queue, std::string_view name) const {
  if (!index_ || name.empty()) return no_group;
  const auto found = index_->find(hash(queue, name), [&](std::uint32_t handle) {
    return entries_[handle].queue == queue && entries_[handle].name == name;
  });
  return found == SlotIndex::none ? no_group : found;
}

std::uint32_t Groups::make(std::uint16_t queue, std::string_view name) {
  if (const auto found = find(queue, name); found != no_group) return found;
  std::uint32_t handle = 0;
  if (free_.empty()) {
    handle = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back();
  } else {
    handle = free_.back();
    free_.pop_back();
  }
  entries_[handle].name = name;
  entries_[handle].queue = queue;
  if (!index_) index_ = std::make_unique<SlotIndex>();
  index_->insert(hash(queue, name), handle);
  if (of_queue_.size() <= queue) of_queue_.resize(std::size_t{queue} + 1);
  if (!of_queue_[queue]) of_queue_[queue] = std::make_unique<ByHandle>();
  of_queue_[queue]->insert(handle, handle);
  ++size_;
  return handle;
}

void Groups::remove(std::uint32_t handle) {
  GroupEntry& entry = entries_[handle];
  ensure(entry.tasks == 0 && !entry.stands, "a group is removed that has tasks");
  index_->erase(hash(entry.queue, entry.name), handle);
  of_queue_[entry.queue]->erase(handle);
  if (of_queue_[entry.queue]->empty()) of_queue_[entry.queue].reset();
  entry = GroupEntry{};
  free_.push_back(handle);
  --size_;
}

const Groups::ByHandle& Groups::of(std::uint16_t queue) const {
  static const ByHandle none;
  return queue < of_queue_.size() && of_queue_[queue] ? *of_queue_[queue] : none;
}

std::size_t Groups::memory() const {
  std::size_t bytes = entries_.size() * sizeof(GroupEntry) + (index_ ? index_->memory() : 0);
  for (const GroupEntry& entry : entries_) bytes += entry.due.memory();
  for (const auto& set : of_queue_) bytes += set ? set->memory() : 0;
  return bytes;
}

void GroupMarks::write(std::uint32_t slot, std::uint32_t value) {
  const std::size_t at = slot / block;
  if (at >= blocks_.size() || !blocks_[at]) {
    if (value == 0) return;
    if (at >= blocks_.size()) blocks_.resize(at + 1);
    blocks_[at] = std::make_unique<Block>();
  }
  (*blocks_[at])[slot % block] = value;
}

std::size_t GroupMarks::memory() const {
  std::size_t bytes = blocks_.capacity() * sizeof(blocks_[0]);
  for (const auto& each : blocks_) bytes += each ? sizeof(Block) : 0;
  return bytes;
}

}  // namespace millrace::embedded
