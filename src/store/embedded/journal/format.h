// The bytes of the log; docs/journal-format.md explains them. Every number here is on disk.
//
//   segment = head, group, group, ...      one file
//   head    = "MILLRACE", format number, checksum of the two
//   group   = head of 36 bytes, records    one commit, or a part of one
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::embedded {

inline constexpr std::uint32_t journal_format = 2;
inline constexpr std::uint32_t oldest_journal_format = 1;  // that is still read
inline constexpr std::size_t segment_head_size = 16;
inline constexpr std::size_t group_head_size = 36;

struct Position {
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
  friend auto operator<=>(const Position&, const Position&) = default;
};

// ---- Files -------------------------------------------------------------------------------------

std::string segment_name(std::uint64_t number);  // 0000000042.journal
std::optional<std::uint64_t> segment_number(std::string_view name);

std::string spare_name(std::uint64_t number);  // spare-0000000007
std::optional<std::uint64_t> spare_number(std::string_view name);

// ---- The head of a segment ---------------------------------------------------------------------

std::string segment_head();

// The format number in a head; nullopt: these bytes are not a head.
std::optional<std::uint32_t> format_of(std::string_view bytes);

// ---- Groups ------------------------------------------------------------------------------------

struct Group {
  std::uint64_t sequence = 0;  // counts all groups of the journal, without gaps
  std::uint64_t durable = 0;   // the last group known to be on disk when this one was written
  // Drawn for each use of a file, so that groups left by an unfinished earlier use are not read.
  std::uint32_t salt = 0;
  bool more = false;  // the next group belongs to the same commit
  std::string_view records;

  std::size_t size() const { return group_head_size + records.size(); }
};

// Room for a group's head; the records follow. `seal` fills it in.
void begin_group(std::string& out);

// Writes head and checksum of the group that begins at `group` and whose first byte will be at
// `at`. The checksum depends on the position, so that bytes of an earlier use of the file, or in
// the wrong place, are not taken for a group.
void seal_group(char* group, const Group& head, const Position& at);

// The group that `bytes` begin with; nullopt: there is no whole one.
std::optional<Group> read_group(std::string_view bytes, const Position& at);

// How many bytes the group seems to take that `bytes` begin with; unchecked.
std::size_t group_size(std::string_view bytes);

// Whether these bytes look like the beginning of group `sequence` that was cut off.
bool begins_group(std::string_view bytes, std::uint64_t sequence);

// A group of which not every byte is there.
struct BadGroup {
  std::uint64_t sequence = 0;
  bool exact = true;                                 // false: the number is this or a later one
  std::optional<std::uint32_t> salt = std::nullopt;  // of this use of the file, where it is known
};

// Looks behind a bad group for a good one that was written when the bad one was known to be on
// disk: then the bad one is damage, not a torn end. `bytes` begin at `at`, where the bad one is.
bool was_durable(std::string_view bytes, const Position& at, const BadGroup& bad);

// ---- Records of the log itself -----------------------------------------------------------------

// The first record of every segment.
struct Begin {
  std::uint32_t epoch = 0;
  Position after = {};      // where the log before this segment ends
  std::uint64_t first = 0;  // the first segment that is still needed
};

void write_begin(std::string& out, const Begin& begin);
std::optional<Begin> read_begin(std::string_view records);

void write_cleaned(std::string& out, std::uint64_t first);
// The payload of a record of kind `cleaned`.
std::optional<std::uint64_t> read_cleaned(std::string_view payload);

}  // namespace millrace::embedded
