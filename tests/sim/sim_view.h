// One process's view of a SimDisk, which is given to the store under test.
#pragma once

#include <map>

#include "tests/sim/sim_disk.h"

namespace millrace::test {

class SimView final : public Disk {
 public:
  explicit SimView(SimDisk& machine);
  SimView(const SimView&) = delete;
  SimView& operator=(const SimView&) = delete;
  ~SimView() override;

  std::string path() const override { return "sim"; }
  Result<void> lock(bool shared) override;
  Result<std::vector<Entry>> list() override;
  Result<File> open(std::string_view name, Access access) override;
  void close(File file) override;
  Result<void> allocate(File file, std::uint64_t size) override;
  Result<void> write(File file, std::uint64_t offset, std::string_view bytes) override;
  Result<std::size_t> read(File file, std::uint64_t offset, std::span<char> into) override;
  Result<void> sync(File file) override;
  Result<void> sync_directory() override;
  Result<void> rename(std::string_view from, std::string_view to) override;
  Result<void> remove(std::string_view name) override;

 private:
  using Lock = std::scoped_lock<std::recursive_mutex>;
  struct OpenFile {
    SimDisk::InodeNumber inode = 0;
    std::string name;  // it was opened by, for messages
    bool writable = false;
  };

  bool dead() const { return machine_.down_ || generation_ != machine_.generation_; }
  // Makes the call unless this process is dead or a fault is planned for it. `half` does a part of
  // a call that fails or that the crash interrupts.
  template <class T>
  Result<T> through(DiskCall call, const std::string& name, const auto& whole, const auto& half);
  OpenFile& opened(File file);
  SimDisk::Inode& inode(const OpenFile& file) { return machine_.inodes_.at(file.inode); }
  std::unexpected<Error> refused(DiskCall call, const std::string& name, ErrorCode code) const;
  void put(const OpenFile& file, SimDisk::Write write);
  void put_name(SimDisk::Naming naming);

  SimDisk& machine_;
  std::uint64_t generation_;
  std::map<int, OpenFile> files_;
  int last_file_ = 0;
  bool owns_ = false;
  bool shares_ = false;
};

}  // namespace millrace::test
