#include "store/postgres/rates.h"

#include <string>

#include "store/embedded/bytes.h"
#include "store/postgres/sql.h"

namespace millrace::store_postgres {
namespace {

void fields(auto& window, const auto& visit) {
  for (auto& used : window.used) visit(used);
  visit(window.newest), visit(window.width);
}

RateWindow read_window(std::optional<std::string_view> bytes) {
  RateWindow window;
  embedded::ByteReader in(bytes.value_or(std::string_view()));
  fields(window, [&](auto& field) { embedded::read(in, field); });
  return in.good() ? window : RateWindow{};
}

void write_window(const embedded::QueueEntry& queue, std::int16_t kind, const RateWindow& window,
                  Batch& batch) {
  std::string bytes;
  embedded::Appender out(bytes);
  fields(window, [&](const auto& field) { embedded::write(out, field); });
  batch.add(sql::UseRate{
      .queue = std::int32_t{queue.index}, .kind = kind, .used = postgres::Bytes{bytes}});
}

}  // namespace

void read_used(const postgres::Rows& rows, book::Book& book) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto index = static_cast<std::uint16_t>(rows.get<std::int32_t>(i, 0));
    book.use_counts(index, rows.get<std::uint64_t>(i, 1), rows.get<std::uint64_t>(i, 2));
    embedded::QueueEntry& queue = book.state().queue_at(index);
    queue.puts = read_window(rows.field(i, 3));
    queue.takes = read_window(rows.field(i, 4));
  }
}

void write_used(const embedded::QueueEntry& queue, Batch& batch) {
  if (queue.settings().put_rate) write_window(queue, sql::words::put_rate, queue.puts, batch);
  if (queue.settings().process_rate)
    write_window(queue, sql::words::process_rate, queue.takes, batch);
}

}  // namespace millrace::store_postgres
