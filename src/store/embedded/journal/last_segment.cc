#include "store/embedded/journal/last_segment.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>

#include "core/crc32c.h"

namespace millrace::embedded {
namespace {

// Reads the number behind `word`, and removes both from the text.
bool take_number(std::string_view& text, std::string_view word, std::uint64_t& number) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

}  // namespace

std::string last_segment_text(const LastSegment& last) {
  const std::string fields =
      fmt::format("segment {} size {} end {}", last.segment, last.size, last.end);
  return fmt::format("{} checksum {:08x}\n", fields, crc32c(0, fields));
}

std::optional<LastSegment> read_last_segment(std::string_view text) {
  LastSegment last;
  std::string_view left = text;
  const bool whole = take_number(left, "segment ", last.segment) &&
                     take_number(left, " size ", last.size) && take_number(left, " end ", last.end);
  // The checksum is part of the text that must come out again.
  if (!whole || text != last_segment_text(last)) return std::nullopt;
  return last;
}

Result<void> write_last_segment(Disk& disk, const LastSegment& last) {
  const auto file = disk.open(new_last_segment_file, Disk::Access::create);
  if (!file) return std::unexpected(file.error());
  auto done = disk.write(*file, 0, last_segment_text(last));
  if (done) done = disk.sync(*file);
  disk.close(*file);
  if (done) done = disk.rename(new_last_segment_file, last_segment_file);
  if (done) return {};
  // A file that stayed would be in the way of the next try.
  if (auto removed = disk.remove(new_last_segment_file); !removed) return removed;
  return done;
}

Result<LastSegment> load_last_segment(Disk& disk, std::uint64_t size) {
  constexpr std::uint64_t most = 1024;  // the file is one line
  std::string text(std::min(size, most), '\0');
  const auto file = disk.open(last_segment_file, Disk::Access::read);
  if (!file) return std::unexpected(file.error());
  const auto got = read_all(disk, *file, 0, std::span(text));
  disk.close(*file);
  if (!got) return std::unexpected(got.error());
  const auto last = size <= most ? read_last_segment(text.substr(0, *got)) : std::nullopt;
  if (last) return *last;
  return fail(
      ErrorCode::corrupt,
      fmt::format("{}/{} at offset 0: the file is damaged. It says which segment is the last, "
                  "and holds no tasks. Compare the segments with a copy or run verify on "
                  "one, then remove this file and open the journal again",
                  disk.path(), last_segment_file));
}

}  // namespace millrace::embedded
