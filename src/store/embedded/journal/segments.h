// Reading the files of the log. May be used from several threads. No disk operation is made under
// the lock, because turns and the applier need it.
#pragma once

#include <millrace/result.h>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>

#include "core/mutex.h"
#include "disk/disk.h"

namespace millrace::embedded {

class Segments {
 public:
  explicit Segments(Disk& disk) : disk_(disk) {}
  Segments(const Segments&) = delete;
  Segments& operator=(const Segments&) = delete;
  ~Segments() = default;

  // Reads until `into` is full or the file ends; returns how many bytes.
  Result<std::size_t> read(std::uint64_t segment, std::uint64_t offset, std::span<char> into);

  // Call before a file gets another name or is removed.
  void forget(std::uint64_t segment);

  // While a pin lives, no segment from this one on is removed.
  class [[nodiscard]] Pin {
   public:
    Pin(Segments& segments, std::uint64_t first);
    Pin(const Pin&) = delete;
    Pin& operator=(const Pin&) = delete;
    ~Pin();

   private:
    Segments& segments_;
    const std::uint64_t first_;
  };
  // The first segment that is pinned; the greatest number if none is.
  std::uint64_t first_pinned();

  Disk& disk() { return disk_; }

 private:
  struct Open {
    Open(Disk& on, Disk::File of) : disk(on), file(of) {}
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;
    ~Open() { disk.close(file); }

    Disk& disk;
    const Disk::File file;
    std::uint64_t used = 0;  // when it was last asked for
  };

  Result<std::shared_ptr<Open>> file_of(std::uint64_t segment);
  std::shared_ptr<Open> find(std::uint64_t segment) REQUIRES(mutex_);
  // Makes room for another file; the one it gives back is to be closed without the lock.
  std::shared_ptr<Open> push_out() REQUIRES(mutex_);

  Disk& disk_;
  Mutex mutex_{LockRank::store_files};
  std::map<std::uint64_t, std::shared_ptr<Open>> open_
      GUARDED_BY(mutex_);  // closed once no thread reads it
  std::multiset<std::uint64_t> pins_ GUARDED_BY(mutex_);
  std::uint64_t asked_ GUARDED_BY(mutex_) = 0;
  std::uint64_t forgotten_ GUARDED_BY(mutex_) = 0;  // how often a file was
};

}  // namespace millrace::embedded
