#include "store/postgres/rates.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "store/embedded/bytes.h"
#include "store/embedded/record_fields.h"
#include "store/postgres/format.h"
#include "store/postgres/session.h"
#include "store/postgres/sql.h"

namespace millrace::store_postgres {
namespace {

// The first programs wrote these fields alone, without the number of a format, and read them
// without looking at what comes after. So the number stands behind them, where such a program that
// runs beside this one does not see it. A later format may have any length but that of the fields.
std::string bytes_of(const RateWindow& window, bool with_format) {
  std::string bytes;
  embedded::Appender out(bytes);
  embedded::write(out, window);
  if (with_format) embedded::write(out, first_format);
  return bytes;
}

// Why it cannot be read; empty: it was.
std::string read_window(postgres::Field bytes, RateWindow& window) {
  static const std::size_t size = bytes_of({}, false).size();
  window = {};
  if (!bytes) return {};
  const std::uint8_t format =
      bytes->size() == size || bytes->empty() ? 1 : static_cast<std::uint8_t>(bytes->back());
  if (format > first_format) {
    return fmt::format(
        "have format {}, and this program reads formats up to {}: a newer version "
        "of Millrace has written them; upgrade this server",
        format, first_format);
  }
  if (format == 0 || (bytes->size() != size && bytes->size() != size + 1)) return "are damaged";
  embedded::ByteReader in(*bytes);
  embedded::read(in, window);
  return {};
}

void write_window(const embedded::QueueEntry& queue, std::int16_t kind, const RateWindow& window,
                  Batch& batch) {
  const std::string bytes = bytes_of(window, true);
  batch.add(sql::UseRate{
      .queue = std::int32_t{queue.index}, .kind = kind, .used = postgres::Bytes{bytes}});
}

}  // namespace

Result<void> UnreadableRates::check(const embedded::QueueEntry* queue,
                                    std::string_view doing) const {
  const auto found = queue == nullptr ? queues_.end() : queues_.find(queue->index);
  if (found == queues_.end()) return {};
  return std::unexpected(to_error(unreadable(found->second), doing));
}

UnreadableRates read_used(const postgres::Rows& rows, book::Book& book) {
  using At = sql::UsedColumns;
  UnreadableRates unreadable;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto index = static_cast<std::uint16_t>(rows.get<std::int32_t>(i, At::queue));
    book.use_counts(index, rows.get<std::uint64_t>(i, At::waiting),
                    rows.get<std::uint64_t>(i, At::running));
    embedded::QueueEntry& queue = book.state().queue_at(index);
    std::string why;
    if (queue.settings().put_rate) why = read_window(rows.field(i, At::puts), queue.puts);
    if (queue.settings().process_rate && why.empty()) {
      why = read_window(rows.field(i, At::takes), queue.takes);
    }
    if (why.empty()) continue;
    unreadable.add(index, fmt::format("rates of queue \"{}\" {}", queue.settings().name, why));
  }
  return unreadable;
}

void write_used(const embedded::QueueEntry& queue, Batch& batch) {
  if (queue.settings().put_rate) write_window(queue, sql::words::put_rate, queue.puts, batch);
  if (queue.settings().process_rate)
    write_window(queue, sql::words::process_rate, queue.takes, batch);
}

}  // namespace millrace::store_postgres
