// The journal store: the embedded state machine behind an append-only log on disk.
#pragma once

#include <millrace/result.h>
#include <millrace/time.h>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/values.h"
#include "disk/disk.h"
#include "store/fwd.h"

namespace millrace {

// When a flush() is durable.
enum class SyncMode : std::uint8_t {
  always,    // when it returns
  interval,  // at the latest JournalOptions::interval later, as long as calls go on
  none,      // (`never`) when the system sees fit; a crash of the process alone loses nothing
};

struct JournalOptions {
  static constexpr std::size_t usual_cache = 64U << 20U;

  SyncMode sync = SyncMode::always;
  Duration interval{100};                 // of SyncMode::interval
  std::size_t segment_size = 32U << 20U;  // bytes of a file of the log
  std::size_t cache_size = usual_cache;   // bytes of the newest payloads and results kept in memory
  // A secret number, another one each time. It keeps outsiders from choosing colliding ids and
  // guessing tokens, and old groups, left in a file by an unfinished earlier use, from being read.
  std::uint64_t hash_seed = 0;
  bool read_only = false;  // every change is refused; several may read at once
  // Called while opening, now and then: bytes replayed so far, and of how many.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = nullptr;
  // Called with what an operator should know: a torn tail that was cut, a disk that is full.
  std::function<void(std::string_view)> warn = nullptr;
};

// Opens or begins a journal. The disk must not be locked yet.
Result<std::unique_ptr<Store>> open_journal(std::unique_ptr<Disk> disk, JournalOptions options);

}  // namespace millrace
