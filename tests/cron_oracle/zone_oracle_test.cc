// Time zones held against zones.tsv: what Python's zoneinfo made of the zone files in zones.hex,
// years 1880 to 9990. For a larger comparison make another file with zones.py and name it, and the
// database it was made from, in MILLRACE_ZONE_GOLDEN and MILLRACE_ZONE_DATABASE.
#include <gtest/gtest.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>
#include "core/time_text.h"
#include "core/zone.h"
#include "tests/support/zone_database.h"

namespace millrace {
namespace {

using std::chrono::local_seconds;
using std::chrono::sys_seconds;

std::string path_from(const char* variable, const std::string& otherwise) {
  const char* path = std::getenv(variable);
  return path != nullptr ? path : otherwise;
}

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> columns;
  std::istringstream in{line};
  for (std::string column; std::getline(in, column, '\t');) columns.push_back(column);
  return columns;
}

sys_seconds seconds_of(const std::string& text) {
  return std::chrono::floor<std::chrono::seconds>(parse_time(text).value());
}

std::string text_of(sys_seconds at) {
  return format_time(at).replace(19, 4, "");
}

std::string name_of(LocalMeaning::Kind kind) {
  switch (kind) {
    case LocalMeaning::Kind::unique:
      return "unique";
    case LocalMeaning::Kind::gap:
      return "gap";
    case LocalMeaning::Kind::overlap:
      return "overlap";
  }
  return "?";
}

void compare(const Zone& zone, const std::vector<std::string>& row) {
  if (row[0] == "to_local") {
    const local_seconds local = zone.to_local(seconds_of(row[2]));
    ASSERT_EQ(text_of(sys_seconds{local.time_since_epoch()}), row[3]);
    return;
  }
  ASSERT_EQ(row[0], "from_local");
  ASSERT_EQ(row.size(), 6U);
  const auto meaning = zone.from_local(local_seconds{seconds_of(row[2]).time_since_epoch()});
  ASSERT_EQ(name_of(meaning.kind), row[3]);
  ASSERT_EQ(text_of(meaning.first), row[4]);
  ASSERT_EQ(text_of(meaning.second), row[5]);
}

TEST(ZoneOracle, agrees_with_python_on_every_zone_before_and_after_2037) {
  const std::string database = path_from("MILLRACE_ZONE_DATABASE", test::zone_database());
  std::ifstream in{path_from("MILLRACE_ZONE_GOLDEN", "tests/cron_oracle/zones.tsv")};
  ASSERT_TRUE(in) << "run from the top of the tree, or set MILLRACE_ZONE_GOLDEN";
  std::map<std::string, Zone> zones;
  int compared = 0;
  for (std::string line; std::getline(in, line); ++compared) {
    SCOPED_TRACE(line);
    const std::vector<std::string> row = split(line);
    ASSERT_GE(row.size(), 4U);
    if (!zones.contains(row[1])) {
      auto zone = Zone::find(row[1], database);
      ASSERT_TRUE(zone) << zone.error().message;
      zones.emplace(row[1], *zone);
    }
    ASSERT_NO_FATAL_FAILURE(compare(zones.at(row[1]), row));
  }
  EXPECT_GT(compared, 800);
  EXPECT_GE(zones.size(), 15U);
  RecordProperty("compared", compared);
}

TEST(ZoneFile, a_file_far_too_long_for_a_zone_is_refused) {
  const std::filesystem::path database = std::filesystem::path{testing::TempDir()} / "zones";
  std::filesystem::create_directories(database);
  std::ofstream{database / "Long", std::ios::binary} << "TZif" << std::string(300'000, '2');
  const auto zone = Zone::find("Long", database.string());
  std::filesystem::remove_all(database);
  ASSERT_FALSE(zone);
  EXPECT_EQ(zone.error().code, ErrorCode::corrupt);
  EXPECT_NE(zone.error().message.find("is too long for a zone file"), std::string::npos);
}

}  // namespace
}  // namespace millrace
