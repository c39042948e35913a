#include "store/embedded/journal/cleaner.h"

#include <fmt/format.h>

#include <algorithm>

#include "store/embedded/bytes.h"

namespace millrace::embedded {
namespace {

constexpr std::size_t read_step = 256U << 10U;

}  // namespace

void Cleaner::begin(std::uint64_t segment) {
  segment_ = segment;
  bytes_.clear();
  offset_ = segment_head_size;
  group_size_ = 0;
  records_ = {};
  things_.clear();
}

Result<Cleaner::Step> Cleaner::step(const State& state, std::uint64_t first, std::uint64_t end,
                                    std::uint64_t budget) {
  if (segment_ != first) begin(first);
  Step step;
  std::uint64_t seen = 0;
  while (seen < budget) {
    if (records_.empty()) {
      const auto group = next_group(end);
      if (!group) return std::unexpected(group.error());
      if (group->empty()) {
        step.cleaned = first + 1;
        write_cleaned(step.carried.bytes, first + 1);
        break;
      }
      ahead_ = records_ = *group;
      look_ahead(state, 12);
    }
    look_ahead(state, 1);
    const auto record = next_record(records_);
    if (!record) records_ = {};  // a good checksum says that this cannot happen
    if (!record) continue;
    seen += record->whole.size();
    carry(state, *record, step.carried);
  }
  return step;
}

// The tasks of the coming records will be looked up soon.
void Cleaner::look_ahead(const State& state, int records) {
  for (; records > 0; --records) {
    const auto record = next_record(ahead_);
    if (!record) return;
    if (record->kind != RecordKind::task) continue;
    if (const auto head = task_head(*record)) state.expect(head->id);
  }
}

// Brings `size` bytes from offset_ on into bytes_.
Result<void> Cleaner::load(std::size_t size) {
  if (bytes_.size() >= size) return {};
  const std::size_t had = bytes_.size();
  bytes_.resize(std::max(size, had + read_step));
  const auto got = segments_.read(segment_, offset_ + had, std::span(bytes_).subspan(had));
  if (!got) return std::unexpected(got.error());
  bytes_.resize(had + *got);
  return {};
}

Result<std::string_view> Cleaner::next_group(std::uint64_t end) {
  bytes_.erase(0, group_size_);
  offset_ += group_size_;
  group_size_ = 0;
  if (offset_ >= end) return std::string_view();
  if (auto loaded = load(group_head_size); !loaded) return std::unexpected(loaded.error());
  if (auto loaded = load(group_size(bytes_)); !loaded) return std::unexpected(loaded.error());
  const auto group = read_group(bytes_, {segment_, offset_});
  if (!group) {
    return fail(ErrorCode::corrupt, fmt::format("{} at offset {}: the group there is damaged",
                                                segment_name(segment_), offset_));
  }
  group_size_ = group->size();
  return group->records;
}

void Cleaner::carry(const State& state, const RecordView& record, Records& out) {
  if (record.kind == RecordKind::task) {
    const auto head = task_head(record);
    const auto at = head ? state.find(head->id) : no_slot;
    if (at == no_slot || state.slot(at).number != head->number) return;
    const Place place = state.blobs.logged(state.slot(at).body).place();
    const std::uint64_t here =
        offset_ + static_cast<std::uint64_t>(record.whole.data() - bytes_.data()) + head->body;
    if (place.segment == segment_ % Place::max_segments && place.offset == here) {
      write_task(state, at, out);
    }
    return;
  }
  const auto thing = thing_of(record);
  if (thing && things_.insert(*thing).second) write_thing(state, *thing, out.bytes);
}

}  // namespace millrace::embedded
