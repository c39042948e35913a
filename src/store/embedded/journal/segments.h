// Reading the files of the log. May be used from several threads.
#pragma once

#include <millrace/result.h>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>

#include "disk/disk.h"

namespace millrace::embedded {

class Segments {
 public:
  explicit Segments(Disk& disk) : disk_(disk) {}
  Segments(const Segments&) = delete;
  Segments& operator=(const Segments&) = delete;
  ~Segments();

  // Reads until `into` is full or the file ends; returns how many bytes.
  Result<std::size_t> read(std::uint64_t segment, std::uint64_t offset, std::span<char> into);

  // Before a file gets another name or goes.
  void forget(std::uint64_t segment);

  Disk& disk() { return disk_; }

 private:
  struct Open {
    Disk::File file{};
    std::uint64_t used = 0;  // when it was last read
  };

  Result<Disk::File> file_of(std::uint64_t segment);

  Disk& disk_;
  std::mutex mutex_;
  std::map<std::uint64_t, Open> open_;
  std::uint64_t reads_ = 0;
};

}  // namespace millrace::embedded
