#include "transfer/line.h"

#include <fmt/format.h>
#include <utility>

#include "api/wire/archive.h"
#include "api/wire/groups.h"
#include "core/quote.h"
#include "transfer/line_fields.h"

namespace millrace::transfer {
namespace {

// Even if the header of an unknown format has other fields, its number says who can read it.
Result<Line> header_of(std::string_view value) {
  const auto header = wire::from_archive<wire::HeaderFields>(value, header_key, true);
  if (!header) {
    return fail(ErrorCode::invalid, fmt::format("the first line of the export cannot be read: {}",
                                                header.error().message));
  }
  if (header->format != format_number) {
    return fail(ErrorCode::invalid,
                fmt::format("this export has format {}, but this version reads format {}; import "
                            "it with the version that wrote it, or a newer one",
                            header->format, format_number));
  }
  return Header{.newer = header->minor > minor_number};
}

// The change of a group, which must say something.
Result<Line> group_of(wire::ArchiveLine& line) {
  auto value = line.value<PutGroup>();
  if (!value) return std::unexpected(std::move(value.error()));
  if (!value->now) return fail(ErrorCode::invalid, "group.override is missing", "group.override");
  return std::move(*value);
}

template <class T>
Result<Line> line_of(wire::ArchiveLine& line) {
  auto value = line.value<T>();
  if (!value) return std::unexpected(std::move(value.error()));
  return std::move(*value);
}

}  // namespace

Result<bool> read_task_line(std::string_view text, bool newer, Task& to) {
  if (!text.starts_with("{\"task\":")) return false;
  wire::ArchiveLine line(text, newer);
  if (const auto kind = line.kind(); !kind) return std::unexpected(kind.error());
  if (auto good = line.value_into(to); !good) return std::unexpected(std::move(good.error()));
  return true;
}

Result<Line> read_line(std::string_view text, bool newer) {
  wire::ArchiveLine line(text, newer);
  const auto kind = line.kind();
  if (!kind) return std::unexpected(kind.error());
  if (*kind == "task") return line_of<Task>(line);
  if (*kind == "queue") return line_of<Queue>(line);
  if (*kind == "group") return group_of(line);
  if (*kind == "schedule") return line_of<Schedule>(line);
  if (*kind == "memo") return line_of<Memo>(line);
  if (*kind == header_key) {
    const auto value = line.raw();
    if (!value) return std::unexpected(value.error());
    return header_of(*value);
  }
  if (*kind == "end") {
    auto end = line.value<wire::EndFields>();
    if (!end) return std::unexpected(std::move(end.error()));
    return End{end->counts, std::move(end->left_out)};
  }
  if (newer) return Unknown{};
  return fail(ErrorCode::invalid,
              fmt::format("{} is not known; known are queue, group, schedule, memo, task and end",
                          in_quotes(*kind)));
}

}  // namespace millrace::transfer
