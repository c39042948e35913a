// Where the system keeps its time zone database, and what is in it. The only part of core that
// reads files.
#pragma once

#include <millrace/result.h>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

// Where systems keep the database, in the order in which it is looked for.
inline constexpr std::array<std::string_view, 4> zone_directories{
    "/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/usr/share/lib/zoneinfo", "/etc/zoneinfo"};

// The first of the directories that exists; `unavailable` if none does.
Result<std::string> zone_database(std::span<const std::string_view> directories = zone_directories);

// The bytes of one zone's file. Nothing if there is no such zone, or the name could lead out of the
// database. `unavailable` if the file cannot be read, `corrupt` if it is far too long.
Result<std::optional<std::vector<std::byte>>> read_zone_file(std::string_view database,
                                                             std::string_view name);

// Every zone of a database, in no order. Etc/GMT+3 and the like are left out: their signs are
// reversed, so suggesting them would mislead.
std::vector<std::string> zone_names(std::string_view database);

}  // namespace millrace
