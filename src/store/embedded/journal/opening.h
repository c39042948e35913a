// Reads a journal from disk: finds the segments that count, checks every byte of them, and rebuilds
// the state. Changes nothing on disk.
#pragma once

#include <millrace/result.h>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "disk/disk.h"
#include "store/embedded/journal/blob_reader.h"
#include "store/embedded/journal/format.h"
#include "store/embedded/journal/last_segment.h"
#include "store/embedded/journal/log.h"
#include "store/embedded/journal/segments.h"
#include "store/embedded/state.h"

namespace millrace::embedded {

struct Opened {
  Log::Start start;                     // where to go on
  std::vector<Disk::Entry> spares;      // files held ready
  std::vector<std::string> unneeded;    // files to remove: cleaned segments, some barely begun
  std::vector<std::uint64_t> segments;  // that were read
  std::uint64_t bytes = 0;              // of groups
  std::uint64_t groups = 0;
  std::optional<LastSegment> last;  // what the file `last` says
  std::uint64_t cut = 0;            // bytes of a torn end that do not count
  // The end of the last segment that may be in the system's memory only. The process that goes on
  // from here must write it again first, because no later sync makes up for one that failed.
  Position unproven = {};
  std::string unproven_bytes;
};

// `progress(done, total)` in bytes. `blobs` is the one that the state reads through.
Result<Opened> read_journal(Segments& segments, BlobReader& blobs, State& state,
                            const std::function<void(std::uint64_t, std::uint64_t)>& progress);

}  // namespace millrace::embedded
