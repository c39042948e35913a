#include "store/embedded/journal/log_loader.h"

#include <algorithm>
#include <utility>

#include "store/embedded/bytes.h"
#include "store/embedded/codec.h"
#include "store/embedded/journal/blob_reader.h"
#include "store/embedded/records.h"

namespace millrace::embedded {
namespace {

// Tasks that are listed together mostly lie together: one read loads many. A gap wider than this is
// skipped.
constexpr std::size_t most_at_once = 256U << 10U;
constexpr std::size_t widest_gap = 16U << 10U;

// The first bytes of notes, which say how large the result is; most results are smaller.
constexpr std::size_t front_of_notes = 4U << 10U;

}  // namespace

LogLoader::Lack LogLoader::lack_of(const Blob& blob, TaskCopy& copy) const {
  const Place place = blob.place();
  return {.at = {full_number(place.segment, written_), place.offset},
          .size = blob_head + place.size,
          .copy = &copy};
}

std::vector<LogLoader::Lack> LogLoader::lacks_of(std::span<TaskCopy> copies) const {
  std::vector<Lack> lacks;
  for (TaskCopy& copy : copies) {
    if (copy.needs_body()) {
      Lack& lack = lacks.emplace_back(lack_of(copy.slot.body, copy));
      lack.is_body = true;
      lack.in_part = copy.skips_payload();
    }
    if (copy.needs_notes()) {
      lacks.push_back(lack_of(copy.slot.notes, copy));
      lacks.back().in_part = copy.skips_result();
    }
  }
  std::ranges::sort(lacks, {},
                    [](const Lack& lack) { return std::pair(lack.at.segment, lack.at.offset); });
  return lacks;
}

ReadCost LogLoader::load(std::span<TaskCopy> copies) {
  read_ = {};
  const std::vector<Lack> lacks = lacks_of(copies);
  // How far the window may reach: over all blobs that follow closely.
  std::vector<std::size_t> following(lacks.size());
  for (std::size_t i = lacks.size(); i-- > 0;) {
    following[i] = lacks[i].size;
    if (i + 1 == lacks.size() || lacks[i].in_part) continue;
    const Lack& next = lacks[i + 1];
    const std::uint64_t end = lacks[i].at.offset + lacks[i].size;
    const bool close = next.at.segment == lacks[i].at.segment && !next.in_part &&
                       next.at.offset <= end + widest_gap;
    if (close) following[i] = next.at.offset + following[i + 1] - lacks[i].at.offset;
  }
  for (std::size_t i = 0; i < lacks.size(); ++i) {
    if (!lacks[i].in_part) {
      load_whole(lacks[i], following[i]);
    } else if (lacks[i].is_body) {
      load_without_payload(lacks[i]);
    } else {
      load_without_result(lacks[i]);
    }
  }
  return read_;
}

void LogLoader::load_whole(const Lack& lack, std::size_t following) {
  const std::uint64_t number = lack.copy->slot.number;
  ByteReader in(window(lack.at, lack.size, following));
  const auto bytes = read_blob(in, number);
  if (!bytes) throw damaged(lack.at, number);
  const Wanted& wanted = lack.copy->wanted;
  if (lack.is_body) {
    lack.copy->body = wanted.payload ? std::string(*bytes) : without_payload(*bytes);
  } else {
    const bool all = wanted.notes == Wanted::Notes::all;
    lack.copy->notes = all ? std::string(*bytes) : without_result(*bytes);
  }
}

LogLoader::Begin LogLoader::read_begin(const Lack& lack, std::size_t most) {
  Begin begin{.bytes = read(lack.at, std::min<std::size_t>(blob_head + most, lack.size))};
  ByteReader in(begin.bytes);
  embedded::read(in, begin.size);
  const bool fits = in.good() && begin.size + std::uint64_t{blob_head} <= lack.size &&
                    begin.bytes.size() >= blob_head;
  if (!fits) throw damaged(lack.at, lack.copy->slot.number);
  begin.bytes.erase(0, blob_head);
  return begin;
}

// The checksum covers all the bytes, so it cannot be checked here: task_of() compares what it
// decodes with what the slot knows.
void LogLoader::load_without_payload(const Lack& lack) {
  const auto [bytes, size] = read_begin(lack, longest_front);
  const BodyLayout layout = body_layout(bytes, size);
  const std::size_t rest = layout.front + layout.payload;
  const Position rest_at{lack.at.segment, lack.at.offset + blob_head + rest};
  lack.copy->body = without_payload(std::string_view(bytes).substr(0, layout.front),
                                    rest == size ? "" : read(rest_at, size - rest));
}

// The same holds here; of notes the slot knows nothing, but they must be whole as far as they are
// shown.
void LogLoader::load_without_result(const Lack& lack) {
  const auto [bytes, size] = read_begin(lack, front_of_notes);
  const std::size_t from = result_end(bytes, size);
  const std::size_t to = std::min<std::size_t>(size, from + longest_brief);
  const Position rest_at{lack.at.segment, lack.at.offset + blob_head + from};
  lack.copy->notes = behind_empty_result(to <= bytes.size() ? bytes.substr(from, to - from)
                                                            : read(rest_at, to - from));
}

Result<std::string> LogLoader::try_read(const Position& at, std::size_t size) {
  std::string bytes(size, '\0');
  const auto got = segments_.read(at.segment, at.offset, bytes);
  read_ += {.bytes = got.value_or(0), .reads = 1};
  if (!got) return std::unexpected(got.error());
  bytes.resize(*got);
  return bytes;
}

std::string LogLoader::read(const Position& at, std::size_t size) {
  auto bytes = try_read(at, size);
  if (!bytes) throw unreadable(at, bytes.error());
  return std::move(*bytes);
}

// At least `size` bytes from `at` on, unless what was written ends before. Where a wide window
// cannot be read, a bad place in it may lie elsewhere.
std::string_view LogLoader::window(const Position& at, std::size_t size, std::size_t following) {
  const bool inside = at.segment == window_at_.segment && at.offset >= window_at_.offset &&
                      at.offset + size <= window_at_.offset + window_.size();
  if (!inside) {
    std::size_t wanted = std::max(size, std::min(following, most_at_once));
    if (at.segment == written_.segment) {
      wanted =
          std::min<std::size_t>(wanted, written_.offset - std::min(at.offset, written_.offset));
    }
    auto wide = try_read(at, wanted);
    if (!wide && wanted <= size) throw unreadable(at, wide.error());
    window_ = wide ? std::move(*wide) : read(at, size);
    window_at_ = at;
  }
  return std::string_view(window_).substr(at.offset - window_at_.offset);
}

}  // namespace millrace::embedded
