#include "store/embedded/journal/opening.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "store/embedded/records.h"
#include "store/embedded/replay.h"

namespace millrace::embedded {
namespace {

std::unexpected<Error> corrupt(const Position& at, std::string_view what) {
  return fail(ErrorCode::corrupt,
              fmt::format("{} at offset {}: {}", segment_name(at.segment), at.offset, what));
}

struct SegmentFile {
  std::uint64_t size = 0;
  Begin begin;
  std::uint64_t sequence = 0;  // of the first group
  std::uint32_t salt = 0;
};

class Opening {
 public:
  Opening(Segments& segments, BlobReader& blobs, State& state,
          const std::function<void(std::uint64_t, std::uint64_t)>& progress)
      : disk_(segments.disk()),
        segments_(segments),
        blobs_(blobs),
        replay_(state),
        progress_(progress) {}

  Result<Opened> run();

 private:
  // A commit that is not complete yet.
  struct Part {
    std::string records;
    Replay::Origin origin;
  };

  Result<void> list();
  Result<void> check_last();
  Result<void> read_begins();
  Result<std::optional<SegmentFile>> read_begin_of(std::uint64_t number, std::uint64_t size);
  Result<void> find_needed();
  Result<std::uint64_t> last_mark(std::uint64_t number, const SegmentFile& file);
  Result<void> find_ends();
  Result<void> replay_segment(std::uint64_t number, const SegmentFile& file);
  Result<void> replay_group(const Group& group, const Position& at);
  Result<void> end_of_log(std::string_view left, const Position& at, std::uint32_t salt);
  Result<void> check_barely_begun();
  Result<std::string_view> load(std::uint64_t number, std::uint64_t size);

  Disk& disk_;
  Segments& segments_;
  BlobReader& blobs_;
  Replay replay_;
  const std::function<void(std::uint64_t, std::uint64_t)>& progress_;

  Opened opened_;
  std::map<std::uint64_t, std::uint64_t> sizes_;
  std::map<std::uint64_t, SegmentFile> files_;
  std::set<std::uint64_t> unreadable_;           // do not begin as a segment must
  std::map<std::uint64_t, std::uint64_t> ends_;  // of all but the last
  std::string bytes_;                            // of the segment at hand
  std::uint64_t total_ = 0;

  std::optional<std::uint64_t> sequence_;  // of the last group read
  std::uint64_t durable_ = 0;              // the highest that a group spoke of
  Position written_ = {};                  // the end of the last commit
  std::vector<Part> parts_;
  Position commit_at_ = {};  // where the commit being read began
  std::uint64_t commit_sequence_ = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>>
      groups_;  // of the last segment: number, offset
};

Result<Opened> Opening::run() {
  for (auto step : {&Opening::list, &Opening::check_last, &Opening::read_begins,
                    &Opening::find_needed, &Opening::find_ends}) {
    if (auto done = (this->*step)(); !done) return std::unexpected(done.error());
  }
  for (const auto& [number, file] : files_) {
    if (auto done = replay_segment(number, file); !done) return std::unexpected(done.error());
    opened_.start.epoch = std::max(opened_.start.epoch, file.begin.epoch + 1);
  }
  if (auto done = check_barely_begun(); !done) return std::unexpected(done.error());
  blobs_.set_written(written_);
  if (auto done = replay_.finish(); !done) return std::unexpected(done.error());
  if (!files_.empty()) {
    opened_.start.first = files_.begin()->first;
    opened_.start.next = files_.rbegin()->first + 1;
  }
  return std::move(opened_);
}

Result<void> Opening::list() {
  const auto entries = disk_.list();
  if (!entries) return std::unexpected(entries.error());
  for (const Disk::Entry& entry : *entries) {
    if (const auto number = segment_number(entry.name)) sizes_.emplace(*number, entry.size);
    if (spare_number(entry.name)) opened_.spares.push_back(entry);
    if (entry.name == new_last_segment_file) opened_.unneeded.push_back(entry.name);
    if (entry.name != last_segment_file) continue;
    auto last = load_last_segment(disk_, entry.size);
    if (!last) return std::unexpected(last.error());
    opened_.last = *last;
  }
  return {};
}

// A segment gets its name only when its whole size is on disk, so a missing or short one is damage,
// not what a crash left. A journal of an older version has no file `last` and is not checked.
Result<void> Opening::check_last() {
  if (!opened_.last) return {};
  const LastSegment& last = *opened_.last;
  if (sizes_.empty() || sizes_.rbegin()->first < last.segment) {
    return fail(
        ErrorCode::corrupt,
        fmt::format("{}/{} is missing, and it was the last segment when the journal was "
                    "used before. Bring the file back from a copy; without it, tasks that "
                    "were acknowledged are lost. To open what is left, remove {}/{} first",
                    disk_.path(), segment_name(last.segment), disk_.path(), last_segment_file));
  }
  const auto& [number, size] = *sizes_.rbegin();
  if (size >= last.size) return {};
  return corrupt({number, size},
                 fmt::format("the file ends there, and segments of this journal have {} bytes: its "
                             "end was cut off. Bring the file back from a copy; without it, tasks "
                             "that were acknowledged are lost",
                             last.size));
}

Result<std::string_view> Opening::load(std::uint64_t number, std::uint64_t size) {
  if (bytes_.size() < size) bytes_.resize(size);
  const auto got = segments_.read(number, 0, std::span(bytes_).first(size));
  if (!got) return std::unexpected(got.error());
  return std::string_view(bytes_).substr(0, *got);
}

// nullopt: it does not begin as a segment must.
Result<std::optional<SegmentFile>> Opening::read_begin_of(std::uint64_t number,
                                                          std::uint64_t size) {
  constexpr std::uint64_t enough = 4096;  // what a segment begins with is small
  const auto bytes = load(number, std::min(size, enough));
  if (!bytes) return std::unexpected(bytes.error());
  const auto format = format_of(*bytes);
  if (format && (*format < oldest_journal_format || *format > journal_format)) {
    return fail(ErrorCode::unavailable,
                fmt::format("{}/{} has format {}, and this program reads formats {} to {}: it was "
                            "written by a {} version of Millrace",
                            disk_.path(), segment_name(number), *format, oldest_journal_format,
                            journal_format, *format > journal_format ? "newer" : "much older"));
  }
  const auto group =
      !format ? std::nullopt
              : read_group(bytes->substr(segment_head_size), {number, segment_head_size});
  const auto begin = group ? read_begin(group->records) : std::nullopt;
  if (!begin) return std::nullopt;
  return SegmentFile{size, *begin, group->sequence, group->salt};
}

Result<void> Opening::read_begins() {
  for (const auto& [number, size] : sizes_) {
    const auto file = read_begin_of(number, size);
    if (!file) return std::unexpected(file.error());
    if (*file) {
      files_.emplace(number, **file);
    } else {
      unreadable_.insert(number);
    }
  }
  return {};
}

// The first segment that counts, as far as this one knows: the beginning of each segment says what
// was cleaned, and after that only the last one does.
Result<std::uint64_t> Opening::last_mark(std::uint64_t number, const SegmentFile& file) {
  const auto bytes = load(number, file.size);
  if (!bytes) return std::unexpected(bytes.error());
  std::uint64_t first = file.begin.first;
  std::uint64_t first_if_complete = first;
  Position at{number, segment_head_size};
  for (std::uint64_t sequence = file.sequence;; ++sequence) {
    const auto group = read_group(bytes->substr(at.offset), at);
    if (!group || group->salt != file.salt || group->sequence != sequence) return first;
    std::string_view records = group->records;
    while (const auto record = next_record(records)) {
      if (record->kind != RecordKind::cleaned) continue;
      const auto cleaned = read_cleaned(record->payload);
      if (!cleaned) return corrupt(at, "the group there makes no sense");
      first_if_complete = *cleaned;
    }
    if (!group->more) first = first_if_complete;
    at.offset += group->size();
  }
}

// All segments from the first that counts to the last must be there and be readable. Before them
// there may be some that were cleaned; if their files are already used again, they are not segments
// any more. After them there may be one that a crash left barely begun.
Result<void> Opening::find_needed() {
  if (files_.empty()) return {};
  const std::uint64_t last = files_.rbegin()->first;
  const auto first = last_mark(last, files_.rbegin()->second);
  if (!first) return std::unexpected(first.error());
  for (const auto& [number, size] : sizes_) {
    if (number >= *first) break;
    opened_.unneeded.push_back(segment_name(number));
    files_.erase(number);
    unreadable_.erase(number);
  }
  for (std::uint64_t number = *first; number <= last; ++number) {
    if (files_.contains(number)) continue;
    if (unreadable_.contains(number)) {
      return corrupt({number, 0}, "the beginning of the file is damaged");
    }
    return fail(ErrorCode::corrupt,
                fmt::format("{}/{} is missing", disk_.path(), segment_name(number)));
  }
  return {};
}

// A segment begins only when the one before it is on disk, so only the last file may be one that
// never became a segment. If its beginning was on disk and is damaged now, a later group tells.
Result<void> Opening::check_barely_begun() {
  for (const std::uint64_t number : unreadable_) {
    const auto bytes = load(number, sizes_.at(number));
    if (!bytes) return std::unexpected(bytes.error());
    const BadGroup first{.sequence = sequence_.value_or(0) + 1, .exact = sequence_.has_value()};
    const bool was_begun = opened_.last && number <= opened_.last->segment;
    if (was_begun || number != sizes_.rbegin()->first || was_durable(*bytes, {number, 0}, first)) {
      return corrupt({number, 0}, "the beginning of the file is damaged");
    }
    opened_.unneeded.push_back(segment_name(number));
  }
  return {};
}

// The next segment says where this one ends: bytes behind that are a torn end that was cut.
Result<void> Opening::find_ends() {
  if (files_.empty()) return {};
  Position end{files_.rbegin()->first, 0};
  for (auto at = files_.rbegin(); at != files_.rend(); ++at) {
    const auto& [number, file] = *at;
    total_ += file.size;
    if (number == files_.rbegin()->first) {
      end = file.begin.after;
      continue;
    }
    if (end.segment > number) return corrupt({number + 1, 0}, "the segment before it is unknown");
    const bool counts = end.segment == number;
    ends_[number] = counts ? end.offset : 0;
    if (counts) end = file.begin.after;
  }
  return {};
}

Result<void> Opening::replay_segment(std::uint64_t number, const SegmentFile& file) {
  const bool last = !ends_.contains(number);
  const std::uint64_t end = last ? file.size : ends_.at(number);
  opened_.start.segments[number] = {.size = file.size, .end = last ? 0 : end};
  opened_.segments.push_back(number);
  if (end == 0) return {};  // nothing in it was ever complete
  const auto bytes = load(number, end);
  if (!bytes) return std::unexpected(bytes.error());
  if (!sequence_) sequence_ = file.sequence - 1;
  if (!last && bytes->size() < end) return corrupt({number, bytes->size()}, "the file is cut off");
  Position at{number, segment_head_size};
  while (at.offset < end) {
    const auto group = read_group(bytes->substr(at.offset), at);
    const bool next = group && group->salt == file.salt && group->sequence == *sequence_ + 1;
    if (!next && !last) return corrupt(at, "the group there is damaged");
    if (!next) break;
    if (last) groups_.emplace_back(group->sequence, at.offset);
    if (auto good = replay_group(*group, at); !good) return good;
    at.offset += group->size();
  }
  opened_.bytes += at.offset;
  if (progress_) progress_(std::min(total_, opened_.bytes), total_);
  return last ? end_of_log(bytes->substr(at.offset), at, file.salt) : Result<void>{};
}

Result<void> Opening::replay_group(const Group& group, const Position& at) {
  ++opened_.groups;
  sequence_ = group.sequence;
  durable_ = std::max(durable_, group.durable);
  const Replay::Origin origin{
      .segment = static_cast<std::uint32_t>(at.segment % Place::max_segments),
      .offset = static_cast<std::uint32_t>(at.offset + group_head_size)};
  if (parts_.empty()) {
    commit_at_ = at;
    commit_sequence_ = group.sequence;
  }
  // A segment may begin in the middle of a commit; then its first group waits for the end as well.
  const bool begins = at.offset == segment_head_size;
  if (begins ? !parts_.empty() : group.more) {
    parts_.push_back({std::string(group.records), origin});
    return {};
  }
  const auto apply = [&](std::string_view records, const Replay::Origin& from) -> Result<void> {
    auto applied = replay_.apply(records, &from);
    return applied ? applied : corrupt(at, applied.error().message);
  };
  for (const Part& part : std::exchange(parts_, {})) {
    if (auto applied = apply(part.records, part.origin); !applied) return applied;
  }
  return apply(group.records, origin);
}

Result<void> Opening::end_of_log(std::string_view left, const Position& at, std::uint32_t salt) {
  const std::uint64_t next = *sequence_ + 1;
  if (was_durable(left, at, {.sequence = next, .salt = salt}))
    return corrupt(at, "the group there is damaged");
  const auto& last = opened_.last;
  if (last && last->segment == at.segment && at.offset < last->end) {
    return corrupt(
        at, fmt::format("the group there is damaged: the log was closed at offset {}", last->end));
  }
  if (begins_group(left, next)) opened_.cut += std::min(group_size(left), left.size());
  opened_.start.end = at;
  opened_.start.sequence = *sequence_;
  if (!parts_.empty()) {
    for (const Part& part : parts_) opened_.cut += part.records.size();
    opened_.start.end = commit_at_;
    opened_.start.sequence = commit_sequence_ - 1;
  }
  written_ = opened_.start.end;
  opened_.start.segments[at.segment].end = at.offset;
  // Everything before the last segment was synced when the last one began.
  for (const auto& [sequence, offset] : groups_) {
    if (sequence <= durable_) continue;
    const bool begins = offset == segment_head_size;
    opened_.unproven = {at.segment, begins ? 0 : offset};
    opened_.unproven_bytes.assign(bytes_, opened_.unproven.offset,
                                  at.offset - opened_.unproven.offset);
    break;
  }
  return {};
}

}  // namespace

Result<Opened> read_journal(Segments& segments, BlobReader& blobs, State& state,
                            const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  try {
    return Opening(segments, blobs, state, progress).run();
  } catch (const Unreadable& unreadable) {
    return std::unexpected(unreadable.error);
  }
}

}  // namespace millrace::embedded
