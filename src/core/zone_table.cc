#include "core/zone_table.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace millrace {
namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;

// RFC 9636 asks for offsets inside these; real ones are within a day.
constexpr seconds offset_least = -std::chrono::hours{25};
constexpr seconds offset_most = std::chrono::hours{26};

std::unexpected<Error> corrupt(std::string_view what) {
  return fail(ErrorCode::corrupt, fmt::format("zone file: {}", what));
}

// The counts of a header, in the order of the file.
struct Counts {
  std::uint32_t universal_marks = 0;
  std::uint32_t standard_marks = 0;
  std::uint32_t leap_seconds = 0;
  std::uint32_t changes = 0;
  std::uint32_t types = 0;
  std::uint32_t name_bytes = 0;

  std::uint64_t body_bytes(std::uint64_t time_bytes) const {
    return changes * (time_bytes + 1) + types * std::uint64_t{6} + name_bytes +
           leap_seconds * (time_bytes + 4) + standard_marks + universal_marks;
  }
};

struct Header {
  char version = '\0';
  Counts counts;
};

// Never reads past the end: missing bytes read as nothing, and `whole` tells.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  bool whole() const { return whole_; }
  std::size_t left() const { return rest_.size(); }

  std::span<const std::byte> take(std::uint64_t count) {
    if (count > rest_.size()) {
      whole_ = false;
      rest_ = {};
      return {};
    }
    const auto taken = rest_.first(static_cast<std::size_t>(count));
    rest_ = rest_.subspan(static_cast<std::size_t>(count));
    return taken;
  }

  // Big-endian, two's complement, 1 to 8 bytes.
  std::int64_t number(std::size_t bytes) {
    const auto taken = take(bytes);
    if (taken.empty()) return 0;
    std::uint64_t value = (taken[0] & std::byte{0x80}) != std::byte{0} ? ~std::uint64_t{0} : 0;
    for (const std::byte b : taken) value = value << 8 | std::to_integer<std::uint64_t>(b);
    return static_cast<std::int64_t>(value);
  }

  std::uint32_t count() { return static_cast<std::uint32_t>(number(4)); }

  std::string_view text(std::uint64_t count) {
    const auto taken = take(count);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }

 private:
  std::span<const std::byte> rest_;
  bool whole_ = true;
};

Result<Header> read_header(ByteReader& in) {
  const std::string_view magic = in.text(4);
  if (magic != "TZif") return corrupt("it does not begin with TZif");
  Header header{.version = static_cast<char>(in.number(1)), .counts = {}};
  in.take(15);
  Counts& counts = header.counts;
  counts.universal_marks = in.count();
  counts.standard_marks = in.count();
  counts.leap_seconds = in.count();
  counts.changes = in.count();
  counts.types = in.count();
  counts.name_bytes = in.count();
  if (!in.whole()) return corrupt("it ends inside the header");
  if (header.version != '\0' && (header.version < '2' || header.version > '4'))
    return corrupt("its version is not 1 to 4");
  return header;
}

// Adds a change that the rest of the code can rely on: later than the last one, another offset, and
// not before the beginning of zone time (some files open with a change at the Big Bang).
void add_change(ZoneTable& table, sys_seconds at, seconds offset) {
  const seconds before = table.changes.empty() ? table.first_offset : table.changes.back().offset;
  if (at <= zone_time_begin) {
    table.first_offset = offset;
  } else if (offset != before && at < zone_time_end) {
    table.changes.push_back({at, offset});
  }
}

Result<ZoneTable> read_body(ByteReader& in, const Counts& counts, std::size_t time_bytes) {
  if (counts.leap_seconds != 0) return corrupt("it counts leap seconds; use a zone without right/");
  if (counts.types == 0 || counts.types > 256) return corrupt("it has no local time types");
  if (counts.body_bytes(time_bytes) > in.left()) return corrupt("it ends inside the data");

  std::vector<sys_seconds> times(counts.changes);
  for (sys_seconds& time : times) time = sys_seconds{seconds{in.number(time_bytes)}};
  if (std::ranges::adjacent_find(times, std::ranges::greater_equal{}) != times.end())
    return corrupt("its changes are not in order");
  const auto type_of_change = in.take(counts.changes);

  std::array<seconds, 256> offsets{};
  for (std::uint32_t i = 0; i < counts.types; ++i) {
    offsets[i] = seconds{in.number(4)};
    in.take(2);  // whether it is summer time, and where its name is: not needed
    if (offsets[i] <= offset_least || offsets[i] >= offset_most)
      return corrupt(fmt::format("an offset of {} seconds", offsets[i].count()));
  }

  ZoneTable table;
  table.first_offset = offsets[0];
  for (std::uint32_t i = 0; i < counts.changes; ++i) {
    const auto type = std::to_integer<std::size_t>(type_of_change[i]);
    if (type >= counts.types) return corrupt("a change to a type that is not there");
    add_change(table, times[i], offsets[type]);
  }
  if (!times.empty()) table.rule_from = std::clamp(times.back(), zone_time_begin, zone_time_end);
  in.take(counts.name_bytes);
  in.take(counts.standard_marks);
  in.take(counts.universal_marks);
  return table;
}

}  // namespace

ZonePeriod ZoneTable::period_at(sys_seconds at) const {
  if (rule && at >= rule_from) {
    ZonePeriod period = rule->period_at(at);
    period.begin = std::max(period.begin, rule_from);
    return period;
  }
  const auto next = std::ranges::upper_bound(changes, at, {}, &Change::at);
  ZonePeriod period{.begin = zone_time_begin, .end = zone_time_end, .offset = first_offset};
  if (next != changes.begin()) {
    period.begin = std::prev(next)->at;
    period.offset = std::prev(next)->offset;
  }
  if (next != changes.end()) {
    period.end = next->at;
  } else if (rule) {
    period.end = rule_from;
  }
  return period;
}

Result<ZoneTable> ZoneTable::parse(std::span<const std::byte> bytes) {
  ByteReader in{bytes};
  Result<Header> header = read_header(in);
  if (!header) return std::unexpected(std::move(header.error()));
  if (header->version == '\0') return read_body(in, header->counts, 4);

  // Versions 2 and up repeat everything with 64-bit times; the first half is for old programs.
  in.take(header->counts.body_bytes(4));
  header = read_header(in);
  if (!header) return std::unexpected(std::move(header.error()));
  Result<ZoneTable> table = read_body(in, header->counts, 8);
  if (!table) return table;

  const std::string_view footer = in.text(in.left());
  const std::size_t end = footer.find('\n', 1);
  if (footer.empty() || footer[0] != '\n' || end == std::string_view::npos)
    return corrupt("it ends without the rule line");
  if (const std::string_view text = footer.substr(1, end - 1); !text.empty()) {
    Result<ZoneRule> rule = ZoneRule::parse(text);
    if (!rule) return std::unexpected(std::move(rule.error()));
    table->rule = *rule;
  }
  return table;
}

}  // namespace millrace
