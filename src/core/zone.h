// IANA time zones: what the clock on the wall shows. Reads the system's time zone database (tzdata)
// directly, with the rule for the years after the last recorded change; see docs/adr/0004-zones.md.
#pragma once

#include <millrace/result.h>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include "core/zone_rule.h"

namespace millrace {

struct ZoneTable;

// What a local time means in UTC.
struct LocalMeaning {
  enum class Kind : std::uint8_t {
    unique,   // the usual case: first == second
    gap,      // the clock jumped over it; first == second == the first moment after the gap
    overlap,  // the clock showed it twice: first < second
  };
  Kind kind;
  std::chrono::sys_seconds first;
  std::chrono::sys_seconds second;

  friend bool operator==(const LocalMeaning&, const LocalMeaning&) = default;
};

// Immutable and cheap to copy. Zones are equal if their names are.
class Zone {
 public:
  Zone() = default;  // UTC, which needs no database

  // "Europe/Moscow"; "UTC" and "Etc/UTC" without touching the database. `invalid` for names that
  // are not there (the message suggests some that are) or do not look like zone names,
  // `unavailable` if there is no database, `corrupt` if the file is not a zone file. Reads a file:
  // keep the result.
  static Result<Zone> find(std::string_view name);
  // The same in another directory of zone files.
  static Result<Zone> find(std::string_view name, std::string_view database);
  // A zone from the bytes of a zone file.
  static Result<Zone> from_file(std::string name, std::span<const std::byte> bytes);

  const std::string& name() const { return name_; }

  // Moments and local times outside the years -1 to 10000 count as the nearest one inside.

  // The period around a moment.
  ZonePeriod period_at(std::chrono::sys_seconds at) const;

  std::chrono::local_seconds to_local(std::chrono::sys_seconds at) const;
  LocalMeaning from_local(std::chrono::local_seconds local) const;

  friend bool operator==(const Zone& a, const Zone& b) { return a.name_ == b.name_; }

 private:
  std::string name_ = "UTC";
  std::shared_ptr<const ZoneTable> table_;  // empty: UTC
};

}  // namespace millrace
