#include "tests/sim/sim_view.h"

#include <fmt/format.h>
#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace millrace::test {

SimView::SimView(SimDisk& machine) : machine_(machine), generation_(machine.generation_) {}

SimView::~SimView() {
  const Lock guard(machine_.mutex_);
  if (dead()) return;
  if (owns_) machine_.owned_ = false;
  if (shares_) --machine_.readers_;
  for (const auto& [number, file] : files_) --inode(file).opened;
  machine_.free_nameless();
}

template <class T>
Result<T> SimView::through(DiskCall call, const std::string& name, const auto& whole,
                           const auto& half) {
  const Lock guard(machine_.mutex_);
  if ((call == DiskCall::write || call == DiskCall::sync) && machine_.meanwhile_ &&
      name.ends_with(machine_.meanwhile_ending_)) {
    std::exchange(machine_.meanwhile_, nullptr)();
  }
  if (dead()) return fail(ErrorCode::unavailable, "sim: this process is dead");
  const auto ruling = machine_.rule(call);
  if (ruling.fate == SimDisk::Fate::go) return whole();
  half(ruling.fate == SimDisk::Fate::crash);
  if (ruling.fate == SimDisk::Fate::crash) {
    machine_.crash(machine_.crash_plan_->seed);
    return fail(ErrorCode::unavailable, "sim: the power is gone");
  }
  return refused(call, name, ruling.code);
}

std::unexpected<Error> SimView::refused(DiskCall call, const std::string& name,
                                        ErrorCode code) const {
  const auto* reason =
      code == ErrorCode::limited ? "No space left on device" : "Input/output error";
  return fail(code, fmt::format("sim/{}: cannot {}: {}", name, name_of(call), reason));
}

SimView::OpenFile& SimView::opened(File file) {
  const Lock guard(machine_.mutex_);
  const auto found = files_.find(static_cast<int>(file));
  // Not a fault of the disk but of the store that uses it.
  if (found == files_.end()) throw std::logic_error("a file is used that is not open");
  return found->second;
}

void SimView::put(const OpenFile& file, SimDisk::Write write) {
  auto& target = inode(file);
  SimDisk::apply(target, target.visible, write);
  target.pending.push_back(std::move(write));
}

void SimView::put_name(SimDisk::Naming naming) {
  SimDisk::name_it(machine_.visible_names_, naming);
  machine_.pending_names_.push_back(std::move(naming));
}

Result<void> SimView::lock(bool shared) {
  const auto whole = [&]() -> Result<void> {
    if (machine_.owned_ || (!shared && machine_.readers_ > 0)) {
      return fail(ErrorCode::conflict, "sim is in use by another process; stop it first");
    }
    if (shared) ++machine_.readers_;
    (shared ? shares_ : owns_) = true;
    if (!shared) machine_.owned_ = true;
    return {};
  };
  return through<void>(DiskCall::lock, "lock", whole, [](bool /*crash*/) {});
}

Result<std::vector<Disk::Entry>> SimView::list() {
  const auto whole = [&]() -> Result<std::vector<Entry>> { return machine_.files(); };
  return through<std::vector<Entry>>(DiskCall::list, "", whole, [](bool /*crash*/) {});
}

Result<Disk::File> SimView::open(std::string_view name, Access access) {
  const bool creating = access == Access::create;
  const std::string text(name);
  const auto create = [&] {
    const auto number = ++machine_.last_inode_;
    machine_.inodes_[number];
    put_name({.name = text, .to = number, .also_gone = {}});
    return number;
  };
  const auto whole = [&]() -> Result<File> {
    auto found = machine_.visible_names_.find(name);
    if (creating == (found != machine_.visible_names_.end())) {
      return fail(creating ? ErrorCode::conflict : ErrorCode::not_found,
                  fmt::format("sim/{}: cannot open: {}", name,
                              creating ? "File exists" : "No such file or directory"));
    }
    const auto number = creating ? create() : found->second;
    ++machine_.inodes_.at(number).opened;
    files_[++last_file_] = {.inode = number, .name = text, .writable = access != Access::read};
    return File{last_file_};
  };
  const auto half = [&](bool crash) {
    if (crash && creating && !machine_.visible_names_.contains(name)) create();
  };
  return through<File>(creating ? DiskCall::create : DiskCall::open, text, whole, half);
}

void SimView::close(File file) {
  const Lock guard(machine_.mutex_);
  if (!dead()) {
    --inode(opened(file)).opened;
    machine_.free_nameless();
  }
  files_.erase(static_cast<int>(file));
}

Result<void> SimView::allocate(File file, std::uint64_t size) {
  const auto& target = opened(file);
  const auto has_room = [&] {
    const auto has = inode(target).allocated;
    return size <= has || size - has <= machine_.room();
  };
  const auto extend = [&] {
    if (inode(target).visible.size() < size) put(target, {.offset = size, .extends = true});
  };
  const auto whole = [&]() -> Result<void> {
    if (!has_room()) return refused(DiskCall::allocate, target.name, ErrorCode::limited);
    extend();
    return {};
  };
  return through<void>(DiskCall::allocate, target.name, whole, [&](bool crash) {
    if (crash && has_room()) extend();
  });
}

Result<void> SimView::write(File file, std::uint64_t offset, std::string_view bytes) {
  const auto& target = opened(file);
  if (!target.writable) throw std::logic_error("a file is written that was opened to read");
  // What there is space for.
  const auto fitting = [&] {
    const auto has = inode(target).allocated;
    const auto most = has + std::min(machine_.room(), SimDisk::unlimited - has);
    const auto left = offset < most ? most - offset : 0;
    return bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left, bytes.size())));
  };
  const auto whole = [&]() -> Result<void> {
    const auto part = fitting();
    if (!part.empty() || bytes.empty()) put(target, {offset, std::string(part)});
    if (part.size() == bytes.size()) return {};
    return refused(DiskCall::write, target.name, ErrorCode::limited);
  };
  // A failed write may have been done up to any byte.
  const auto half = [&](bool crash) {
    const auto part = fitting();
    const auto most = static_cast<std::uint32_t>(part.size());
    const auto length = crash ? most : machine_.dice_.below(most + 1);
    put(target, {offset, std::string(part.substr(0, length))});
  };
  return through<void>(DiskCall::write, target.name, whole, half);
}

Result<std::size_t> SimView::read(File file, std::uint64_t offset, std::span<char> into) {
  const auto& target = opened(file);
  const auto whole = [&]() -> Result<std::size_t> {
    const auto& bytes = inode(target).visible;
    if (offset >= bytes.size() || into.empty()) return 0U;
    auto length = std::min<std::size_t>(into.size(), bytes.size() - offset);
    if (machine_.short_reads_ && machine_.dice_.percent(50)) {
      length = 1 + machine_.dice_.below(static_cast<std::uint32_t>(length));
    }
    std::ranges::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset),
                        static_cast<std::ptrdiff_t>(length), into.begin());
    return length;
  };
  return through<std::size_t>(DiskCall::read, target.name, whole, [](bool /*crash*/) {});
}

Result<void> SimView::sync(File file) {
  const auto& target = opened(file);
  const auto whole = [&]() -> Result<void> {
    SimDisk::make_durable(inode(target));
    return {};
  };
  const auto half = [&](bool crash) {
    auto& bytes = inode(target);
    if (crash) {
      if (machine_.dice_.percent(50)) SimDisk::make_durable(bytes);
      return;
    }
    // The system reports the error once and takes the pages for clean from then on.
    std::ranges::move(bytes.pending, std::back_inserter(bytes.doubtful));
    bytes.pending.clear();
  };
  return through<void>(DiskCall::sync, target.name, whole, half);
}

// A failed call has done nothing; the next one may succeed.
Result<void> SimView::sync_directory() {
  const auto whole = [&]() -> Result<void> {
    for (const auto& naming : machine_.pending_names_) {
      SimDisk::name_it(machine_.durable_names_, naming);
    }
    machine_.pending_names_.clear();
    machine_.free_nameless();
    return {};
  };
  return through<void>(DiskCall::sync_directory, "", whole, [&](bool crash) {
    if (crash && machine_.dice_.percent(50)) std::ignore = whole();
  });
}

Result<void> SimView::rename(std::string_view from, std::string_view to) {
  const auto whole = [&]() -> Result<void> {
    const auto found = machine_.visible_names_.find(from);
    if (found == machine_.visible_names_.end()) {
      return fail(ErrorCode::not_found,
                  fmt::format("sim/{}: cannot rename: No such file or directory", from));
    }
    if (from == to) return {};
    put_name({.name = std::string(to), .to = found->second, .also_gone = std::string(from)});
    machine_.free_nameless();
    return {};
  };
  return through<void>(DiskCall::rename, std::string(from), whole, [&](bool crash) {
    if (crash) std::ignore = whole();
  });
}

Result<void> SimView::remove(std::string_view name) {
  const auto whole = [&]() -> Result<void> {
    if (!machine_.visible_names_.contains(name)) {
      return fail(ErrorCode::not_found,
                  fmt::format("sim/{}: cannot remove: No such file or directory", name));
    }
    put_name({.name = std::string(name), .to = std::nullopt, .also_gone = {}});
    machine_.free_nameless();
    return {};
  };
  return through<void>(DiskCall::remove, std::string(name), whole, [&](bool crash) {
    if (crash) std::ignore = whole();
  });
}

}  // namespace millrace::test
