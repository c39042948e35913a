// How a log goes on from what an earlier process left.
#include <fmt/format.h>

#include <utility>

#include "core/ensure.h"
#include "store/embedded/journal/log.h"

namespace millrace::embedded {

Result<void> Log::start(const State& state, const Start& start) {
  const Lock flushing(flushing_);
  const bool renews = must_renew(start);
  std::optional<Chunk> copy;
  // The log may end before its last segment: then no commit in that one is complete.
  if (renews && start.end.segment + 1 == start.next) {
    auto read = copy_of_last(start);
    if (!read) return std::unexpected(read.error());
    copy = std::move(*read);
  }
  std::vector<Chunk> chunks;
  {
    const Lock lock(mutex_);
    sequence_ = start.sequence;
    epoch_ = start.epoch;
    first_ = start.first;
    freed_ = start.first;
    cleaned_written_ = start.first;
    written_sequence_ = durable_sequence_ = start.sequence;
    end_ = {start.next - (renews ? 2 : 1), 0};
    every_ = start.segments;
    every_.erase(end_.segment + 1);
    for (const auto& [number, segment] : every_) size_ += segment.size;
    copy ? begin_with(std::move(*copy)) : begin_segment(state, start.end);
    chunks = std::exchange(pending_, {});
    unwritten_ = 0;
  }
  if (auto done = renews ? write_renewed(chunks.front()) : write(chunks); !done) return done;
  kept_spares_ = Spares::for_opening;
  if (auto synced = sync(); !synced) return synced;
  // Comes first: the space of the file that was replaced is just enough for another spare.
  spares_.refill(0);
  return note_begun();
}

// Only where there is no space for a full reserve: it writes up to a whole segment.
bool Log::must_renew(const Start& start) const {
  if (!spares_.is_short() || spares_.ready() == 0 || start.next == start.first) return false;
  return start.end.segment + 1 < start.next || start.end.offset <= options_.segment_size;
}

// Everything in the last segment that counts, at the same places, as begun in the new epoch.
Result<Log::Chunk> Log::copy_of_last(const Start& start) {
  Chunk chunk;
  chunk.at = {start.end.segment, 0};
  chunk.last_sequence = start.sequence;
  chunk.bytes.resize(start.end.offset);
  const auto got = segments_.read(chunk.at.segment, 0, chunk.bytes);
  if (!got) return std::unexpected(got.error());
  Position at{chunk.at.segment, segment_head_size};
  const auto damaged = [&] {
    return fail(ErrorCode::corrupt, fmt::format("{} at offset {}: the group there is damaged",
                                                segment_name(at.segment), at.offset));
  };
  while (at.offset < start.end.offset) {
    const auto group = read_group(std::string_view(chunk.bytes).substr(at.offset), at);
    if (!group) return damaged();
    chunk.groups.push_back({.at = at.offset, .more = group->more});
    at.offset += group->size();
  }
  const std::size_t records = segment_head_size + group_head_size;
  auto begin = read_begin(std::string_view(chunk.bytes).substr(records));
  at.offset = segment_head_size;
  if (!begin) return damaged();
  begin->epoch = start.epoch;
  std::string record;
  write_begin(record, *begin);
  chunk.bytes.replace(records, record.size(), record);
  return chunk;
}

void Log::begin_with(Chunk chunk) {
  enter_segment();
  ensure(chunk.at == end_, "another segment than the last was copied");
  end_.offset = chunk.bytes.size();
  pending_.push_back(std::move(chunk));
}

// The new file takes the place of the old one in one step, when all of it is on disk: whatever goes
// wrong, one of the two is there. Both hold the same commits.
Result<void> Log::write_renewed(Chunk& chunk) {
  seal(chunk);
  segments_.forget(chunk.at.segment);
  if (auto begun = begin_file(chunk, chunk.bytes); !begun) return begun;
  written_sequence_ = chunk.last_sequence;
  const Lock lock(mutex_);
  written_ = {chunk.at.segment, chunk.bytes.size()};
  return {};
}

}  // namespace millrace::embedded
