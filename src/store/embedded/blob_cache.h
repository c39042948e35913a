// Which blobs are in memory although the log has them too: the newest ones, up to a limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "store/embedded/blobs.h"

namespace millrace::embedded {

class BlobCache {
 public:
  // `limit` is in bytes. A blob counts from add() until newer bytes push it out, even if its task
  // has gone.
  explicit BlobCache(std::size_t limit) : limit_(limit) {}

  // REQUIRES: the blob is in memory and logged.
  void add(std::uint32_t slot, Blob blob) {
    const std::uint32_t size = Blobs::size_of(blob);
    entries_.push_back({slot, size, blob});
    bytes_ += size;
  }

  // Evicts the oldest until the rest fits. `blobs_of(slot)` gives the addresses of body
  // and notes; `is_written(place)` says whether the log can be read there already.
  void trim(Blobs& blobs, const auto& blobs_of, const auto& is_written) {
    while (bytes_ > limit_) {
      const Entry& oldest = entries_.front();
      if (entries_.size() > look_ahead) fetch(entries_[look_ahead], blobs_of);
      for (Blob* blob : blobs_of(oldest.slot)) {
        if (*blob != oldest.blob) continue;  // gone or changed since
        const Blob there = blobs.logged(*blob);
        if (!there) continue;  // another blob at the same address; it will have an entry of its own
        if (!is_written(there.place())) return;
        blobs.evict(*blob);
      }
      bytes_ -= oldest.size;
      entries_.pop_front();
    }
  }

 private:
  struct Entry {
    std::uint32_t slot = 0;
    std::uint32_t size = 0;
    Blob blob;
  };

  // An evicted blob has not been touched for long: it is prefetched before its turn comes.
  static constexpr std::size_t look_ahead = 8;
  [[gnu::always_inline]] static void fetch(const Entry& entry, const auto& blobs_of) {
    __builtin_prefetch(blobs_of(entry.slot)[0]);
    __builtin_prefetch(entry.blob.at());
    __builtin_prefetch(entry.blob.at() + entry.size);
  }

  std::size_t limit_;
  std::size_t bytes_ = 0;
  std::deque<Entry> entries_;
};

}  // namespace millrace::embedded
