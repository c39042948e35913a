#include "transfer/upload.h"

#include <algorithm>
#include <random>
#include <utility>
#include <variant>

#include "api/wire/archive.h"
#include "core/uuid.h"
#include "transfer/import.h"
#include "transfer/kind.h"
#include "transfer/line.h"
#include "transfer/line_fields.h"
#include "transfer/queue_state.h"

namespace millrace::transfer {

Result<void> Upload::begin() {
  const auto beginning = lines_.peek(look_ahead);
  if (!beginning) return std::unexpected(beginning.error());
  const auto kind = kind_of(*beginning);
  if (!kind) return std::unexpected(kind.error());
  return *kind == Kind::document ? read_document() : Result<void>();
}

Result<void> Upload::read_document() {
  document_kind_ = true;
  auto tasks = read_queue_state(lines_, queue_, now_);
  if (!tasks) return std::unexpected(std::move(tasks.error()));
  wire::append_line(document_, header_key,
                    wire::HeaderFields{.format = format_number, .minor = minor_number});
  UuidSource ids(std::random_device{}());
  wire::append_line(document_, "queue",
                    Queue{.settings = {.name = queue_, .id = ids.next(now_)}, .created_at = now_});
  for (const PlacedTask& each : *tasks) wire::append_line(document_, "task", each.task);
  left_ = document_;
  return {};
}

// Makes the next line what is left; false: there is none.
Result<bool> Upload::next() {
  if (document_kind_) return false;
  const auto line = lines_.next();
  if (!line) return std::unexpected(line.error());
  if (!*line) return false;
  left_ = **line;
  if (lines_.line() == 1 && left_.starts_with(byte_order_mark)) {
    left_.remove_prefix(byte_order_mark.size());
  }
  line_end_ = true;
  count(left_);
  return true;
}

// Without taking them apart: an export begins its lines alike.
void Upload::count(std::string_view line) {
  if (line.starts_with("{\"task\":")) {
    ++read_.tasks;
  } else if (line.starts_with("{\"queue\":")) {
    ++read_.queues;
  } else if (line.starts_with("{\"memo\":")) {
    ++read_.memos;
    if (line.starts_with("{\"memo\":{\"key\":\"key/")) ++keys_;
  } else if (line.starts_with("{\"schedule\":")) {
    ++read_.schedules;
  } else if (line.starts_with("{\"end\":")) {
    end_ = line;
  }
}

Result<std::size_t> Upload::fill(std::span<char> room) {
  std::size_t filled = 0;
  while (filled < room.size() && !over_) {
    if (left_.empty() && std::exchange(line_end_, false)) {
      room[filled++] = '\n';
      continue;
    }
    if (left_.empty()) {
      const auto more = next();
      if (!more) return std::unexpected(more.error());
      over_ = !*more;
      continue;
    }
    const std::size_t part = std::min(left_.size(), room.size() - filled);
    std::copy_n(left_.data(), part, room.data() + filled);
    left_.remove_prefix(part);
    filled += part;
  }
  return filled;
}

Result<void> Upload::check_end() const {
  if (document_kind_) return {};
  if (end_.empty()) return std::unexpected(cut_short(lines_.line()));
  const auto line = read_line(end_, true);
  if (!line) return std::unexpected(line.error());
  const End* end = std::get_if<End>(&*line);
  return end == nullptr ? Result<void>() : compare(end->counts, read_);
}

}  // namespace millrace::transfer
