#include "transfer/upload.h"

#include <algorithm>
#include <utility>

#include "api/wire/archive.h"
#include "core/seed.h"
#include "core/uuid.h"
#include "transfer/format.h"
#include "transfer/kind.h"
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
  UuidSource ids(random_seed());
  wire::append_line(document_, "queue",
                    Queue{.settings = {.name = queue_, .id = ids.next(now_)}, .created_at = now_});
  for (const PlacedTask& each : *tasks) wire::append_line(document_, "task", each.task);
  wire::append_line(document_, "end", wire::EndFields{{.queues = 1, .tasks = tasks->size()}});
  left_ = document_;
  return {};
}

// Reads the next line into `left_`; false: there is none.
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
  if (left_.starts_with("{\"memo\":{\"key\":\"key/")) ++keys_;
  return true;
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

}  // namespace millrace::transfer
