// The store under test, as the simulator sees it.
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
#include "store/embedded/state.h"
#include "store/store.h"

namespace millrace::test {

// When a flush is durable.
enum class SyncRule : std::uint8_t {
  always,    // when it returned
  interval,  // when a later flush came at least that much later
  never,     // not known; but a process that dies alone loses nothing it flushed
};

struct SubjectOptions {
  SyncRule sync = SyncRule::always;
  Duration interval{100};
  std::size_t segment_size = 32 * 1024;
  std::size_t cache_size = 4 * 1024;
  std::uint64_t hash_seed = 1;  // another one at each opening
};

// What a store knows from its opening, not from the commits it kept.
struct Boot {
  std::uint32_t epoch = 1;
  std::uint64_t hash_seed = 0;
  std::uint16_t next_queue = 0;
  // The last numbers given. They may be ahead: numbers are never used twice, but may be left out.
  std::uint64_t number = 0;
  std::uint64_t token = 0;
  std::uint64_t memo_version = 0;
};

Boot boot_of(const embedded::State& state);

struct Subject {
  std::unique_ptr<Store> store;
  // Everything it holds, as embedded::write_state() writes it; an error if some of it cannot be
  // read.
  std::function<Result<std::string>()> state;
  Boot boot;
  bool flushes_when_full = true;  // a full disk refuses puts and nothing else
};

using OpenSubject =
    std::function<Result<Subject>(std::unique_ptr<Disk> disk, const SubjectOptions& options)>;

// The journal, which the simulator is for.
Result<Subject> open_journal_subject(std::unique_ptr<Disk> disk, const SubjectOptions& options);

}  // namespace millrace::test
