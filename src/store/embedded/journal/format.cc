#include "store/embedded/journal/format.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "core/crc32c.h"
#include "store/embedded/bytes.h"
#include "store/embedded/records.h"

namespace millrace::embedded {
namespace {

constexpr std::string_view segment_magic = "MILLRACE";
constexpr std::uint32_t group_magic = 0x5247'524D;  // "MRGR"
constexpr std::uint32_t flag_more = 1;
constexpr std::size_t checksum_at = 32;  // the last field of a group's head

constexpr std::string_view segment_suffix = ".journal";
constexpr std::string_view spare_prefix = "spare-";
constexpr std::size_t digits = 10;

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || text.size() < digits) {
    return std::nullopt;
  }
  return number;
}

// The bytes between magic and checksum.
struct Head {
  std::uint32_t magic = group_magic;
  std::uint32_t length = 0;
  std::uint64_t sequence = 0;
  std::uint64_t durable = 0;
  std::uint32_t salt = 0;
  std::uint32_t flags = 0;
  std::uint32_t checksum = 0;
};

void head_fields(auto& of, const auto& visit) {
  visit(of.magic), visit(of.length), visit(of.sequence), visit(of.durable);
  visit(of.salt), visit(of.flags), visit(of.checksum);
}

Head read_head(std::string_view bytes) {
  Head head;
  head.magic = 0;
  ByteReader in(bytes);
  head_fields(head, [&](auto& field) { read(in, field); });
  return head;
}

std::uint32_t checksum_of(std::string_view group, const Position& at) {
  std::string where;
  Appender to(where);
  write(to, at.segment), write(to, at.offset);
  const auto seed = crc32c(crc32c(0, where), group.substr(0, checksum_at));
  return crc32c(seed, group.substr(group_head_size));
}

// Writes a whole record with the payload that `fill` writes.
void write_log_record(std::string& out, RecordKind kind, const auto& fill) {
  std::string payload;
  Appender to(payload);
  fill(to);
  Appender record(out);
  write(record, kind), write(record, payload);
}

void begin_fields(auto& of, const auto& visit) {
  visit(of.epoch), visit(of.after.segment), visit(of.after.offset), visit(of.first);
}

}  // namespace

// ---- Files -------------------------------------------------------------------------------------

std::string segment_name(std::uint64_t number) {
  return fmt::format("{:0{}}{}", number, digits, segment_suffix);
}

std::optional<std::uint64_t> segment_number(std::string_view name) {
  if (!name.ends_with(segment_suffix)) return std::nullopt;
  name.remove_suffix(segment_suffix.size());
  return number_in(name);
}

std::string spare_name(std::uint64_t number) {
  return fmt::format("{}{:0{}}", spare_prefix, number, digits);
}

std::optional<std::uint64_t> spare_number(std::string_view name) {
  if (!name.starts_with(spare_prefix)) return std::nullopt;
  name.remove_prefix(spare_prefix.size());
  return number_in(name);
}

// ---- The head of a segment ---------------------------------------------------------------------

std::string segment_head() {
  std::string head(segment_magic);
  Appender to(head);
  write(to, journal_format);
  write(to, crc32c(0, head));
  return head;
}

std::optional<std::uint32_t> format_of(std::string_view bytes) {
  ByteReader in(bytes);
  std::uint32_t format = 0;
  std::uint32_t checksum = 0;
  if (in.raw(segment_magic.size()) != segment_magic) return std::nullopt;
  read(in, format), read(in, checksum);
  const auto covered = bytes.substr(0, segment_head_size - sizeof(checksum));
  if (!in.good() || checksum != crc32c(0, covered)) return std::nullopt;
  return format;
}

// ---- Groups ------------------------------------------------------------------------------------

void begin_group(std::string& out) {
  out.append(group_head_size, '\0');
}

void seal_group(char* group, const Group& head, const Position& at) {
  Head fields{.length = static_cast<std::uint32_t>(head.records.size()),
              .sequence = head.sequence,
              .durable = head.durable,
              .salt = head.salt,
              .flags = head.more ? flag_more : 0};
  const auto fill = [&] {
    Filler out(group);
    head_fields(fields, [&](const auto& field) { write(out, field); });
  };
  fill();
  fields.checksum = checksum_of({group, head.size()}, at);
  fill();
}

std::optional<Group> read_group(std::string_view bytes, const Position& at) {
  if (bytes.size() < group_head_size) return std::nullopt;
  const Head head = read_head(bytes);
  if (head.magic != group_magic || (head.flags & ~flag_more) != 0) return std::nullopt;
  if (head.length > bytes.size() - group_head_size) return std::nullopt;
  const Group group{.sequence = head.sequence,
                    .durable = head.durable,
                    .salt = head.salt,
                    .more = (head.flags & flag_more) != 0,
                    .records = bytes.substr(group_head_size, head.length)};
  if (head.checksum != checksum_of(bytes.substr(0, group.size()), at)) return std::nullopt;
  return group;
}

std::size_t group_size(std::string_view bytes) {
  return group_head_size + read_head(bytes).length;
}

bool begins_group(std::string_view bytes, std::uint64_t sequence) {
  if (bytes.size() < group_head_size) return false;
  const Head head = read_head(bytes);
  return head.magic == group_magic && head.sequence == sequence;
}

bool was_durable(std::string_view bytes, const Position& at, const BadGroup& bad) {
  std::string magic;
  Appender to(magic);
  write(to, group_magic);
  for (auto found = bytes.find(magic); found != std::string_view::npos;
       found = bytes.find(magic, found + 1)) {
    const auto candidate = bytes.substr(found);
    if (candidate.size() < group_head_size) return false;
    // A producer may put bytes that look like a million groups, and a file that is used again still
    // has them. So only a group whose head can be right is summed up. Groups behind the bad one are
    // numbered without gaps, and each takes some room.
    const Head head = read_head(candidate);
    if (bad.salt && head.salt != *bad.salt) continue;
    if (head.sequence <= bad.sequence || head.durable < bad.sequence) continue;
    if (bad.exact && head.sequence - bad.sequence > found / group_head_size) continue;
    if (read_group(candidate, {at.segment, at.offset + found})) return true;
  }
  return false;
}

// ---- Records of the log itself -----------------------------------------------------------------

void write_begin(std::string& out, const Begin& begin) {
  write_log_record(out, RecordKind::begin, [&](Appender& to) {
    begin_fields(begin, [&](const auto& field) { write(to, field); });
  });
}

std::optional<Begin> read_begin(std::string_view records) {
  const auto record = next_record(records);
  if (!record || record->kind != RecordKind::begin) return std::nullopt;
  Begin begin;
  ByteReader in(record->payload);
  begin_fields(begin, [&](auto& field) { read(in, field); });
  if (!in.good() || in.left() != 0) return std::nullopt;
  return begin;
}

void write_cleaned(std::string& out, std::uint64_t first) {
  write_log_record(out, RecordKind::cleaned, [&](Appender& to) { write(to, first); });
}

std::optional<std::uint64_t> read_cleaned(std::string_view payload) {
  std::uint64_t first = 0;
  ByteReader in(payload);
  read(in, first);
  if (!in.good() || in.left() != 0) return std::nullopt;
  return first;
}

}  // namespace millrace::embedded
