// The file `last`: which segment a journal had at the least, and how large its segments are.
//
// The end of a log says nothing about itself: without this file, a last segment that is missing or
// was cut off would be taken for one that a crash left unfinished. The file is written when a
// segment was begun, before anything in that segment is acknowledged, and when the journal is
// closed. On a full disk it may be behind the log. It is never ahead, so an old one is still true.
#pragma once

#include <millrace/result.h>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "disk/disk.h"

namespace millrace::embedded {

struct LastSegment {
  std::uint64_t segment = 0;  // which is on disk, and so is its name
  std::uint64_t size = 0;     // bytes of its file and of those after it, at the least
  std::uint64_t end = 0;      // of its last group, where the journal was closed; 0: it was not
  friend bool operator==(const LastSegment&, const LastSegment&) = default;
};

inline constexpr std::string_view last_segment_file = "last";
inline constexpr std::string_view new_last_segment_file = "last.new";  // until it is complete

std::string last_segment_text(const LastSegment& last);
// nullopt: the text is damaged.
std::optional<LastSegment> read_last_segment(std::string_view text);

// Replaces the file in one step, which is durable once the directory is synced. After an error the
// old one is still there.
Result<void> write_last_segment(Disk& disk, const LastSegment& last);
// `corrupt` if the file is damaged. REQUIRES: it exists, with this size.
Result<LastSegment> load_last_segment(Disk& disk, std::uint64_t size);

}  // namespace millrace::embedded
