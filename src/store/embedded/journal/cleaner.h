// Makes old segments unnecessary: whatever the oldest segment has that is still needed is written
// again at the end of the log, a little with every commit, and then the file can go.
//
// Segments are cleaned oldest first, and only so. Then only two things in a segment can be needed:
// a task that still exists and lies at this very place, and an entry of the small state. A `change`
// of a task lies behind its `task` record and is part of what is written again; a `gone` is needed
// only while an older segment has the task.
#pragma once

#include <millrace/result.h>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "store/embedded/journal/format.h"
#include "store/embedded/journal/segments.h"
#include "store/embedded/records.h"
#include "store/embedded/state.h"

namespace millrace::embedded {

class Cleaner {
 public:
  explicit Cleaner(Segments& segments) : segments_(segments) {}

  struct Step {
    Records carried;                       // to be appended as one commit
    std::optional<std::uint64_t> cleaned;  // all segments below this one are done
  };

  // Looks at about `budget` bytes of segment `first`, whose last group ends at `end`. REQUIRES: the
  // log no longer writes to it.
  Result<Step> step(const State& state, std::uint64_t first, std::uint64_t end,
                    std::uint64_t budget);

 private:
  void begin(std::uint64_t segment);
  // The records of the next group; empty at the end.
  Result<std::string_view> next_group(std::uint64_t end);
  Result<void> load(std::size_t size);
  void look_ahead(const State& state, int records);
  void carry(const State& state, const RecordView& record, Records& out);

  Segments& segments_;
  std::uint64_t segment_ = 0;  // being cleaned; 0: none
  std::string bytes_;          // of it, from offset_ on
  std::uint64_t offset_ = 0;
  std::uint64_t group_size_ = 0;  // of the group at the front of bytes_
  std::string_view records_;      // of that group, those not looked at yet
  std::string_view ahead_;        // the same, a little further on
  std::set<SmallChange> things_;  // written again from this segment
};

}  // namespace millrace::embedded
