// The yardstick of everything durable: one write and one sync of bytes with a checksum, in
// zero-filled segments like the journal's, nothing else.
#pragma once

#include <fmt/format.h>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/require.h"
#include "core/crc32c.h"
#include "disk/real_disk.h"

namespace millrace::bench {

class BareLog {
 public:
  static constexpr std::size_t segment_size = 32U << 20U;

  explicit BareLog(const std::string& directory, std::size_t segments = 8)
      : disk_(std::move(open_directory(directory, DirectoryMode::existing).value())),
        files_(segments) {
    const std::string zeros(1U << 20U, '\0');
    for (std::size_t i = 0; i < files_.size(); ++i) {
      files_[i] = disk_->open(fmt::format("{}", i), Disk::Access::create).value();
      require(disk_->allocate(files_[i], segment_size).has_value(), "allocate");
      for (std::size_t at = 0; at < segment_size; at += zeros.size()) {
        require(disk_->write(files_[i], at, zeros).has_value(), "write");
      }
      require(disk_->sync(files_[i]).has_value(), "sync");
    }
    require(disk_->sync_directory().has_value(), "sync");
  }

  // The first four bytes are made the checksum.
  void append(std::string& bytes) {
    if (offset_ + bytes.size() > segment_size) {
      current_ = (current_ + 1) % files_.size();
      offset_ = 0;
    }
    const std::uint32_t checksum = crc32c(static_cast<std::uint32_t>(offset_), bytes);
    std::memcpy(bytes.data(), &checksum, sizeof(checksum));
    require(disk_->write(files_[current_], offset_, bytes).has_value(), "write");
    require(disk_->sync(files_[current_]).has_value(), "sync");
    offset_ += bytes.size();
  }

 private:
  std::unique_ptr<Disk> disk_;
  std::vector<Disk::File> files_;
  std::size_t current_ = 0;
  std::uint64_t offset_ = 0;
};

}  // namespace millrace::bench
