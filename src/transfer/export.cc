#include "transfer/export.h"

#include <string>
#include <utility>

#include "transfer/exporter.h"

namespace millrace::transfer {

Result<ExportReport> export_store(Reader& reader, std::ostream& out, TimePoint now,
                                  const ExportProgress& progress) {
  Exporter exporter;
  std::string text;
  std::uint64_t told = 0;
  while (true) {
    const auto more = exporter.read(reader, now);
    if (!more) return std::unexpected(more.error());
    if (!*more) break;
    exporter.write(text);
    out << text;
    text.clear();
    if (!out) {
      return fail(ErrorCode::unavailable,
                  "the output cannot be written; is the disk full, or was the reader closed?");
    }
    if (progress && exporter.seen() != told) {
      told = exporter.seen();
      progress(told, exporter.total());
    }
  }
  out.flush();
  if (!out) {
    return fail(ErrorCode::unavailable, "the output cannot be written; is the disk full?");
  }
  return exporter.report();
}

}  // namespace millrace::transfer
