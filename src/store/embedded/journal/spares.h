// Files held ready to become segments: allocated, so that the disk cannot be full when one is
// needed, and filled with zeros, because writing into such space is faster.
//
// May be used from several threads.
#pragma once

#include <millrace/result.h>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/mutex.h"
#include "disk/disk.h"

namespace millrace::embedded {

class Spares {
 public:
  static constexpr std::size_t wanted = 3;
  // Of these, the last is for the next opening, which writes a file before it can free one.
  static constexpr std::size_t for_opening = 1;

  Spares(Disk& disk, std::uint64_t size) : disk_(disk), size_(size) {}

  // Takes over what an earlier process left: good spares stay, others are removed.
  Result<void> adopt(const std::vector<Disk::Entry>& entries);

  std::size_t ready() const { return ready_; }

  // Why there are not enough spares; nullopt while there are, or before the first attempt to make
  // one. is_short() says whether there is a shortage. Neither waits for a disk.
  std::optional<Error> shortage() const;
  bool is_short() const { return short_; }

  // Sees to it that enough spares are ready, and fills up to `budget` bytes with zeros. A spare
  // that cannot be had is not a failure of this call; shortage() tells.
  void refill(std::uint64_t budget);

  // Makes one more, now; the error says why not.
  Result<void> make();

  // Gives one away under the new name, once its whole size is on disk: so a segment that is shorter
  // was cut off. Bytes that it is to begin with are on disk before, too. A file that has the name
  // is replaced in one step. REQUIRES: ready() > 0.
  Result<void> rename_to(const std::string& name, std::string_view bytes = {});

  // A file that is no longer needed becomes a spare, or goes if there are enough.
  Result<void> recycle(const std::string& name, std::uint64_t size);

 private:
  struct Spare {
    std::string name;
    std::uint64_t filled = 0;  // bytes of it that were written before
    bool synced = false;       // its size is on disk
  };

  void counted() REQUIRES(mutex_);
  Result<void> make_locked() REQUIRES(mutex_);
  Result<void> fill_locked(Spare& spare, std::uint64_t budget) REQUIRES(mutex_);
  Result<void> sync_locked(const Spare& spare, std::string_view bytes) REQUIRES(mutex_);

  Disk& disk_;
  std::uint64_t size_;
  Mutex mutex_{LockRank::store_files};  // held while files are made, filled and renamed
  std::deque<Spare> spares_ GUARDED_BY(mutex_);
  std::atomic<std::size_t> ready_ = 0;  // their number, for callers that must not wait
  std::uint64_t last_number_ GUARDED_BY(mutex_) = 0;
  mutable Mutex shortage_mutex_;
  std::optional<Error> shortage_ GUARDED_BY(shortage_mutex_);
  std::atomic<bool> short_ = false;
};

}  // namespace millrace::embedded
