#include "core/zone.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <array>
#include <utility>
#include <vector>
#include "core/ascii.h"
#include "core/limits.h"
#include "core/quote.h"
#include "core/zone_file.h"
#include "core/zone_table.h"

namespace millrace {
namespace {

namespace chrono = std::chrono;
using chrono::local_seconds;
using chrono::seconds;
using chrono::sys_days;
using chrono::sys_seconds;
using chrono::year;

constexpr sys_seconds first_moment = sys_days{year{-1} / 1 / 1};
constexpr sys_seconds last_moment = sys_days{year{10001} / 1 / 1} - seconds{1};
constexpr seconds offset_reach = chrono::hours{26};

sys_seconds inside(sys_seconds at) {
  return std::clamp(at, first_moment, last_moment);
}

bool is_utc(std::string_view name) {
  return name == "UTC" || name == "Etc/UTC";
}

// How many letters must be changed, added or left out to turn a into b; case does not count.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed =
          diagonal + (ascii::lower(a[i - 1]) == ascii::lower(b[j - 1]) ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({changed, row[j] + 1, row[j - 1] + 1}));
    }
  }
  return row.back();
}

// Up to three names that may have been meant: close to the whole name, or to its last part.
std::vector<std::string> similar_names(std::string_view wanted, std::string_view database) {
  const std::size_t distance_most = std::max<std::size_t>(1, wanted.size() / 4);
  std::vector<std::pair<std::size_t, std::string>> found;
  for (std::string& name : zone_names(database)) {
    const std::string_view city = std::string_view{name}.substr(name.rfind('/') + 1);
    const std::size_t distance = std::min(edit_distance(wanted, name), edit_distance(wanted, city));
    if (distance <= distance_most) found.emplace_back(distance, std::move(name));
  }
  std::ranges::sort(found);
  std::vector<std::string> names;
  for (auto& [distance, name] : found) {
    if (names.size() < 3 && distance <= found.front().first + 1) names.push_back(std::move(name));
  }
  return names;
}

// UTC+3, GMT-05:00: the names that come nearest to these have the sign the other way round.
bool looks_like_an_offset(std::string_view name) {
  return (name.starts_with("UTC") || name.starts_with("GMT")) && name.size() > 3 &&
         (name[3] == '+' || name[3] == '-');
}

std::unexpected<Error> unknown(std::string_view name, std::string_view database) {
  std::string hint = "use a name of the IANA database such as Europe/Berlin, or UTC";
  if (looks_like_an_offset(name)) {
    hint =
        "UTC+3 is called Etc/GMT-3 (the sign is reversed), but a place such as Europe/Moscow "
        "says more";
  } else if (name.size() <= limits::max_zone) {
    if (const auto names = similar_names(name, database); !names.empty())
      hint = fmt::format("did you mean {}?", fmt::join(names, ", "));
  }
  return fail(ErrorCode::invalid, fmt::format("unknown time zone {}; {}", in_quotes(name), hint));
}

}  // namespace

Result<Zone> Zone::find(std::string_view name) {
  if (is_utc(name)) return Zone{};
  const Result<std::string> database = zone_database();
  if (!database) return std::unexpected(database.error());
  return find(name, *database);
}

Result<Zone> Zone::find(std::string_view name, std::string_view database) {
  if (is_utc(name)) return Zone{};
  const auto bytes = read_zone_file(database, name);
  if (!bytes) return std::unexpected(bytes.error());
  if (!*bytes) return unknown(name, database);
  return from_file(std::string{name}, **bytes);
}

Result<Zone> Zone::from_file(std::string name, std::span<const std::byte> bytes) {
  Result<ZoneTable> table = ZoneTable::parse(bytes);
  if (!table) {
    return fail(table.error().code,
                fmt::format("time zone {}: {}", in_quotes(name), table.error().message));
  }
  Zone zone;
  zone.name_ = std::move(name);
  zone.table_ = std::make_shared<const ZoneTable>(std::move(*table));
  return zone;
}

ZonePeriod Zone::period_at(sys_seconds at) const {
  if (!table_) return {.begin = zone_time_begin, .end = zone_time_end, .offset = seconds{0}};
  return table_->period_at(inside(at));
}

local_seconds Zone::to_local(sys_seconds at) const {
  return local_seconds{(inside(at) + period_at(at).offset).time_since_epoch()};
}

LocalMeaning Zone::from_local(local_seconds local) const {
  using Kind = LocalMeaning::Kind;
  const sys_seconds as_utc = inside(sys_seconds{local.time_since_epoch()});
  std::optional<sys_seconds> first;
  sys_seconds second{};
  ZonePeriod period = period_at(as_utc - offset_reach);
  while (true) {
    const sys_seconds meaning = as_utc - period.offset;
    if (meaning >= period.begin && meaning < period.end) {
      if (!first) first = meaning;
      second = meaning;
    } else if (!first && meaning < period.begin) {
      return {.kind = Kind::gap, .first = period.begin, .second = period.begin};
    }
    if (period.end > as_utc + offset_reach || period.end > last_moment) break;
    period = period_at(period.end);
  }
  const sys_seconds found = first.value_or(as_utc - period.offset);
  if (!first || found == second) return {.kind = Kind::unique, .first = found, .second = found};
  return {.kind = Kind::overlap, .first = found, .second = second};
}

}  // namespace millrace
