#include "tests/sim/sim_disk.h"

#include <algorithm>
#include <utility>

#include "tests/sim/sim_view.h"

namespace millrace::test {

namespace {

constexpr std::size_t reach(std::uint64_t offset, std::size_t size) {
  return static_cast<std::size_t>(offset) + size;
}

}  // namespace

std::string_view name_of(DiskCall call) {
  switch (call) {
    case DiskCall::lock:
      return "lock";
    case DiskCall::list:
      return "list";
    case DiskCall::open:
      return "open";
    case DiskCall::create:
      return "create";
    case DiskCall::allocate:
      return "allocate";
    case DiskCall::write:
      return "write";
    case DiskCall::read:
      return "read";
    case DiskCall::sync:
      return "sync";
    case DiskCall::sync_directory:
      return "sync_directory";
    case DiskCall::rename:
      return "rename";
    case DiskCall::remove:
      return "remove";
  }
  return "?";
}

bool changes(DiskCall call) {
  return call != DiskCall::lock && call != DiskCall::list && call != DiskCall::open &&
         call != DiskCall::read;
}

SimDisk::SimDisk(const SimDisk& other)
    : inodes_(other.inodes_),
      durable_names_(other.durable_names_),
      visible_names_(other.visible_names_),
      pending_names_(other.pending_names_),
      last_inode_(other.last_inode_),
      down_(other.down_),
      capacity_(other.capacity_) {
  for (auto& [number, inode] : inodes_) inode.opened = 0;
}

std::unique_ptr<Disk> SimDisk::attach() {
  return std::make_unique<SimView>(*this);
}

// ---- The end of processes ---------------------------------------------------------------------

void SimDisk::crash(std::uint64_t seed) {
  Dice dice(seed);
  for (auto& [number, inode] : inodes_) collapse(inode, dice);
  collapse_directory(dice);
  end_processes();
  down_ = true;
}

void SimDisk::kill() {
  end_processes();
}

void SimDisk::restart() {
  down_ = false;
}

void SimDisk::end_processes() {
  ++generation_;
  readers_ = 0;
  owned_ = false;
  for (auto& [number, inode] : inodes_) inode.opened = 0;
  free_nameless();
  forget_plans();
}

void SimDisk::apply(Inode& inode, std::string& to, const Write& write) {
  if (write.extends) {
    if (to.size() < write.offset) to.resize(static_cast<std::size_t>(write.offset), '\0');
  } else if (!write.bytes.empty()) {
    const auto end = reach(write.offset, write.bytes.size());
    if (to.size() < end) to.resize(end, '\0');
    std::ranges::copy(write.bytes, to.begin() + static_cast<std::ptrdiff_t>(write.offset));
  }
  inode.allocated = std::max<std::uint64_t>(inode.allocated, to.size());
}

// A successful sync says that these bytes are there, whatever was in doubt beneath them.
void SimDisk::make_durable(Inode& inode) {
  std::vector<Write> still;
  for (const auto& write : inode.pending) {
    apply(inode, inode.durable, write);
    if (write.extends) continue;
    still.clear();
    const auto end = write.offset + write.bytes.size();
    for (const auto& old : inode.doubtful) {
      const auto old_end = old.offset + old.bytes.size();
      if (old.extends || old_end <= write.offset || end <= old.offset) {
        still.push_back(old);
        continue;
      }
      if (old.offset < write.offset) {
        still.push_back({old.offset, old.bytes.substr(0, write.offset - old.offset)});
      }
      if (old_end > end) still.push_back({end, old.bytes.substr(end - old.offset)});
    }
    inode.doubtful = still;
  }
  inode.pending.clear();
}

namespace {

// The parts of a write that reached the disk.
template <class Write>
void tear(const Write& write, Dice& dice, std::vector<Write>& kept) {
  const auto roll = dice.below(100);
  if (roll < 40 || (write.extends && roll < 60)) {
    kept.push_back(write);
  } else if (roll < 60 || write.extends || write.bytes.empty()) {
    return;
  } else if (roll < 80) {
    const auto length = dice.below(static_cast<std::uint32_t>(write.bytes.size()));
    kept.push_back({write.offset, write.bytes.substr(0, length)});
  } else if (roll < 88) {
    const auto from = dice.below(static_cast<std::uint32_t>(write.bytes.size()));
    kept.push_back({write.offset + from, write.bytes.substr(from)});
  } else {
    for (std::uint64_t at = write.offset; at < write.offset + write.bytes.size();) {
      const auto next = (at / SimDisk::sector + 1) * SimDisk::sector;
      const auto from = static_cast<std::size_t>(at - write.offset);
      if (dice.percent(50)) kept.push_back({at, write.bytes.substr(from, next - at)});
      at = next;
    }
  }
}

}  // namespace

void SimDisk::collapse(Inode& inode, Dice& dice) {
  std::vector<Write> unsure = std::move(inode.doubtful);
  unsure.insert(unsure.end(), inode.pending.begin(), inode.pending.end());
  inode.doubtful.clear();
  inode.pending.clear();
  std::vector<Write> kept;
  // A machine mostly loses all or nothing of a file; defects show in between.
  const auto mood = dice.below(100);
  for (const auto& write : unsure) {
    if (mood < 20) kept.push_back(write);
    if (mood >= 40) tear(write, dice, kept);
  }
  if (dice.percent(25)) {
    for (std::size_t i = kept.size(); i > 1; --i) {
      std::swap(kept[i - 1], kept[dice.below(static_cast<std::uint32_t>(i))]);
    }
  }
  inode.allocated = inode.durable.size();
  for (const auto& write : kept) apply(inode, inode.durable, write);
  inode.visible = inode.durable;
}

// A file never gets a second name: a rename removes the old one.
void SimDisk::name_it(Directory& directory, const Naming& naming) {
  if (!naming.also_gone.empty()) {
    std::erase_if(directory, [&](const auto& entry) { return entry.second == naming.to; });
  }
  if (naming.to) {
    directory.insert_or_assign(naming.name, *naming.to);
  } else {
    directory.erase(naming.name);
  }
}

void SimDisk::collapse_directory(Dice& dice) {
  const auto unsure = std::exchange(pending_names_, {});
  const auto mood = dice.below(100);
  for (const auto& naming : unsure) {
    if (mood < 20 || (mood >= 40 && dice.percent(50))) name_it(durable_names_, naming);
  }
  visible_names_ = durable_names_;
}

// Whether the file may still be there after a crash, or is there now. As on a real disk, the space
// of a file that was removed is used again only once the removal itself is durable.
bool SimDisk::has_name(InodeNumber number) const {
  const auto named = [&](const Directory& directory) {
    return std::ranges::any_of(directory, [&](const auto& each) { return each.second == number; });
  };
  return named(visible_names_) || named(durable_names_) ||
         std::ranges::any_of(pending_names_, [&](const Naming& each) { return each.to == number; });
}

void SimDisk::free_nameless() {
  std::erase_if(inodes_, [&](const auto& entry) {
    return entry.second.opened == 0 && !has_name(entry.first);
  });
}

// ---- Faults -----------------------------------------------------------------------------------

void SimDisk::plan_crash(std::uint64_t n, std::uint64_t seed) {
  crash_plan_ = {.left = n, .seed = seed};
}

void SimDisk::plan_failure(DiskCall call, std::uint64_t n, ErrorCode code) {
  failure_plans_.push_back({.call = call, .left = n, .code = code});
  failed_ = false;
}

void SimDisk::plan_failure(std::uint64_t n, ErrorCode code) {
  failure_plans_.push_back({.call = std::nullopt, .left = n, .code = code});
  failed_ = false;
}

void SimDisk::forget_plans() {
  crash_plan_.reset();
  failure_plans_.clear();
}

bool SimDisk::plans_failure(DiskCall call) const {
  return std::ranges::any_of(failure_plans_,
                             [&](const auto& plan) { return !plan.call || plan.call == call; });
}

SimDisk::Ruling SimDisk::rule(DiskCall call) {
  ++calls_;
  if (crash_plan_ && changes(call) && --crash_plan_->left == 0) return {.fate = Fate::crash};
  for (auto plan = failure_plans_.begin(); plan != failure_plans_.end(); ++plan) {
    if ((plan->call && plan->call != call) || --plan->left != 0) continue;
    const Ruling ruling{.fate = Fate::fail, .code = plan->code};
    failure_plans_.erase(plan);
    failed_ = true;
    return ruling;
  }
  return {};
}

std::uint64_t SimDisk::used() const {
  std::uint64_t bytes = 0;
  for (const auto& [number, inode] : inodes_) {
    if (inode.opened > 0 || has_name(number)) bytes += inode.allocated;
  }
  return bytes;
}

std::uint64_t SimDisk::room() const {
  const auto taken = used();
  return taken < capacity_ ? capacity_ - taken : 0;
}

// ---- Inspecting and damaging ------------------------------------------------------------------

std::vector<Disk::Entry> SimDisk::files() const {
  std::vector<Disk::Entry> entries;
  for (const auto& [name, number] : visible_names_) {
    entries.push_back({name, inodes_.at(number).visible.size()});
  }
  return entries;
}

std::string SimDisk::contents(std::string_view name) const {
  const auto found = visible_names_.find(name);
  return found == visible_names_.end() ? std::string() : inodes_.at(found->second).visible;
}

bool SimDisk::flip(std::string_view name, std::uint64_t offset, unsigned bit) {
  const auto found = visible_names_.find(name);
  if (found == visible_names_.end()) return false;
  auto& inode = inodes_.at(found->second);
  if (offset >= inode.visible.size()) return false;
  const auto at = static_cast<std::size_t>(offset);
  const auto flipped = [&](char byte) { return static_cast<char>(byte ^ (1 << (bit % 8))); };
  inode.visible[at] = flipped(inode.visible[at]);
  if (at < inode.durable.size()) inode.durable[at] = flipped(inode.durable[at]);
  return true;
}

void SimDisk::cut(std::string_view name, std::uint64_t size, bool whole) {
  auto& inode = inodes_.at(visible_names_.find(name)->second);
  const auto before = inode.visible.size();
  inode.visible.resize(static_cast<std::size_t>(size));
  if (whole) inode.visible.resize(before);
  inode.durable = inode.visible;
  inode.pending.clear();
  inode.doubtful.clear();
}

void SimDisk::lose(std::string_view name) {
  const Naming gone{.name = std::string(name), .to = std::nullopt, .also_gone = {}};
  name_it(visible_names_, gone);
  durable_names_ = visible_names_;
  pending_names_.clear();
  free_nameless();
}

}  // namespace millrace::test
