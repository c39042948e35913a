// What a file of the time zone database says: TZif, versions 1 to 4 (RFC 8536, RFC 9636).
#pragma once

#include <millrace/result.h>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>
#include "core/zone_rule.h"

namespace millrace {

// The recorded changes, then the rule for ever after.
struct ZoneTable {
  struct Change {
    std::chrono::sys_seconds at;
    std::chrono::seconds offset;  // from then on
  };

  std::chrono::seconds first_offset{};  // before the first change
  std::vector<Change> changes;          // by time; each changes the offset
  // After the last change; without it the last offset stays.
  std::optional<ZoneRule> rule = std::nullopt;
  std::chrono::sys_seconds rule_from = zone_time_begin;

  // The bytes of a zone file. They are not trusted: whatever is not a whole, consistent zone file
  // is `corrupt`. Files that count leap seconds (the `right/` zones) are refused.
  static Result<ZoneTable> parse(std::span<const std::byte> bytes);

  // The period that contains `at`. REQUIRES: years -2 to 10001.
  ZonePeriod period_at(std::chrono::sys_seconds at) const;
};

}  // namespace millrace
