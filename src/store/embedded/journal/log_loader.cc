#include "store/embedded/journal/log_loader.h"

#include <fmt/format.h>

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

// From this size on, a payload that is not wanted is left out; below it, reading the whole blob
// with its checksum costs no more.
constexpr std::uint32_t large_blob = 64U << 10U;

[[noreturn]] void throw_damaged(const Position& at, std::uint64_t number) {
  throw Unreadable{
      {.code = ErrorCode::corrupt,
       .message = fmt::format("{} at offset {}: the bytes of task number {} are damaged",
                              segment_name(at.segment), at.offset, number)}};
}

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
      lack.without_payload = !copy.wanted.payload && lack.size > large_blob;
    }
    if (copy.needs_notes()) lacks.push_back(lack_of(copy.slot.notes, copy));
  }
  std::ranges::sort(lacks, {},
                    [](const Lack& lack) { return std::pair(lack.at.segment, lack.at.offset); });
  return lacks;
}

void LogLoader::load(std::span<TaskCopy> copies) {
  const std::vector<Lack> lacks = lacks_of(copies);
  // How far the window may reach: over all blobs that follow closely.
  std::vector<std::size_t> following(lacks.size());
  for (std::size_t i = lacks.size(); i-- > 0;) {
    following[i] = lacks[i].size;
    if (i + 1 == lacks.size() || lacks[i].without_payload) continue;
    const Lack& next = lacks[i + 1];
    const std::uint64_t end = lacks[i].at.offset + lacks[i].size;
    const bool close = next.at.segment == lacks[i].at.segment && !next.without_payload &&
                       next.at.offset <= end + widest_gap;
    if (close) following[i] = next.at.offset + following[i + 1] - lacks[i].at.offset;
  }
  for (std::size_t i = 0; i < lacks.size(); ++i) {
    if (lacks[i].without_payload) {
      load_without_payload(lacks[i]);
    } else {
      load_whole(lacks[i], following[i]);
    }
  }
}

void LogLoader::load_whole(const Lack& lack, std::size_t following) {
  const std::uint64_t number = lack.copy->slot.number;
  ByteReader in(window(lack.at, lack.size, following));
  const auto bytes = read_blob(in, number);
  if (!bytes) throw_damaged(lack.at, number);
  if (!lack.is_body) {
    lack.copy->notes = *bytes;
  } else if (lack.copy->wanted.payload) {
    lack.copy->body = *bytes;
  } else {
    lack.copy->body = without_payload(*bytes);
  }
}

// The checksum covers all the bytes, so it cannot be checked here: task_of() compares what it
// decodes with what the slot knows.
void LogLoader::load_without_payload(const Lack& lack) {
  const std::string begin = read(lack.at, blob_head + longest_front);
  ByteReader in(begin);
  std::uint32_t size = 0;
  embedded::read(in, size);
  if (!in.good() || size + blob_head > lack.size || begin.size() < blob_head) {
    throw_damaged(lack.at, lack.copy->slot.number);
  }
  const auto bytes = std::string_view(begin).substr(blob_head);
  const BodyLayout layout = body_layout(bytes, size);
  const std::size_t rest = layout.front + layout.payload;
  const Position rest_at{lack.at.segment, lack.at.offset + blob_head + rest};
  lack.copy->body = embedded::without_payload(bytes.substr(0, layout.front),
                                              rest == size ? "" : read(rest_at, size - rest));
}

std::string LogLoader::read(const Position& at, std::size_t size) {
  std::string bytes(size, '\0');
  const auto got = segments_.read(at.segment, at.offset, bytes);
  if (!got) throw Unreadable{got.error()};
  bytes.resize(*got);
  return bytes;
}

// At least `size` bytes from `at` on, unless what was written ends before.
std::string_view LogLoader::window(const Position& at, std::size_t size, std::size_t following) {
  const bool inside = at.segment == window_at_.segment && at.offset >= window_at_.offset &&
                      at.offset + size <= window_at_.offset + window_.size();
  if (!inside) {
    std::size_t wanted = std::max(size, std::min(following, most_at_once));
    if (at.segment == written_.segment) {
      wanted =
          std::min<std::size_t>(wanted, written_.offset - std::min(at.offset, written_.offset));
    }
    window_at_ = at;
    window_ = read(at, wanted);
  }
  return std::string_view(window_).substr(at.offset - window_at_.offset);
}

}  // namespace millrace::embedded
