#include "store/embedded/journal/blob_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "store/embedded/bytes.h"
#include "store/embedded/records.h"

namespace millrace::embedded {
namespace {

constexpr std::size_t window_size = 64U << 10U;
constexpr std::size_t small_window_size = 4U << 10U;  // where reads jump about
// More segments than the bytes that may wait to be written can fill, however small segments are.
constexpr std::uint64_t most_unwritten_segments = Place::max_segments / 64;

}  // namespace

Unreadable unreadable(const Position& at, const Error& cause) {
  return {{.code = ErrorCode::unavailable,
           .message = fmt::format("{} at offset {}: {}", segment_name(at.segment), at.offset,
                                  cause.message),
           .retry_after = std::chrono::seconds(1)}};
}

Unreadable damaged(const Position& at, std::uint64_t number) {
  return {{.code = ErrorCode::corrupt,
           .message = fmt::format("{} at offset {}: the bytes of task number {} are damaged",
                                  segment_name(at.segment), at.offset, number)}};
}

std::uint64_t full_number(std::uint32_t segment, const Position& written) {
  const std::uint64_t newest = written.segment + most_unwritten_segments;
  return newest - (newest - segment) % Place::max_segments;
}

bool BlobReader::is_written(const Place& place) const {
  return Position{full_number(place.segment, written_), place.offset + blob_head + place.size} <=
         written_;
}

std::string_view BlobReader::read(Blob blob, std::uint64_t number) {
  const Place place = blob.place();
  const Position at{full_number(place.segment, written_), place.offset};
  const auto bytes = window(at, blob_head + place.size);
  if (!bytes) throw unreadable(at, bytes.error());
  ByteReader in(*bytes);
  if (const auto good = read_blob(in, number)) return *good;
  throw damaged(at, number);
}

// At least `size` bytes from `at` on, unless what was written ends before.
Result<std::string_view> BlobReader::window(const Position& at, std::size_t size) {
  const bool inside = at.segment == window_at_.segment && at.offset >= window_at_.offset &&
                      at.offset + size <= window_at_.offset + window_.size();
  if (!inside) {
    const std::uint64_t end = window_at_.offset + window_.size();
    const bool onwards =
        at.segment == window_at_.segment && at.offset >= end && at.offset - end < window_size;
    std::size_t wanted = std::max(size, onwards ? window_size : small_window_size);
    if (at.segment == written_.segment) {
      wanted =
          std::min<std::size_t>(wanted, written_.offset - std::min(at.offset, written_.offset));
    }
    window_.resize(wanted);
    window_at_ = at;
    const auto got = segments_.read(at.segment, at.offset, window_);
    if (!got) {
      window_.clear();
      return std::unexpected(got.error());
    }
    window_.resize(*got);
  }
  return std::string_view(window_).substr(at.offset - window_at_.offset);
}

}  // namespace millrace::embedded
