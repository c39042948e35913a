// The zones are those of tests/cron_oracle/zones.hex, so that no update of the system's database
// can change what these tests say.
#include "core/zone.h"

#include <gtest/gtest.h>
#include <algorithm>
#include <string>
#include <vector>
#include "core/time_text.h"
#include "core/zone_file.h"
#include "tests/support/zone_database.h"

namespace millrace {
namespace {

using std::chrono::local_seconds;
using std::chrono::seconds;
using std::chrono::sys_seconds;
using namespace std::chrono_literals;
using Kind = LocalMeaning::Kind;

const std::string& database = test::zone_database();

sys_seconds at(const std::string& text) {
  return std::chrono::floor<seconds>(parse_time(text + "Z").value());
}

local_seconds local(const std::string& text) {
  return local_seconds{at(text).time_since_epoch()};
}

std::string text(sys_seconds time) {
  return format_time(time).substr(0, 19);
}

std::string text(local_seconds time) {
  return text(sys_seconds{time.time_since_epoch()});
}

Zone zone(std::string_view name) {
  const Result<Zone> found = Zone::find(name, database);
  EXPECT_TRUE(found) << found.error().message;
  return found.value_or(Zone{});
}

struct Reading {
  const char* zone;
  const char* utc;
  const char* local;
};

TEST(Zone, the_clock_on_the_wall_before_and_after_2037) {
  const Reading table[] = {
      {"Europe/Berlin", "2026-01-01T00:00:00", "2026-01-01T01:00:00"},
      {"Europe/Berlin", "2026-07-01T00:00:00", "2026-07-01T02:00:00"},
      {"Europe/Berlin", "2026-03-29T00:59:59", "2026-03-29T01:59:59"},
      {"Europe/Berlin", "2026-03-29T01:00:00", "2026-03-29T03:00:00"},
      {"Europe/Berlin", "2026-10-25T00:59:59", "2026-10-25T02:59:59"},
      {"Europe/Berlin", "2026-10-25T01:00:00", "2026-10-25T02:00:00"},
      {"Europe/Berlin", "2038-07-01T00:00:00", "2038-07-01T02:00:00"},
      {"Europe/Berlin", "2050-12-01T00:00:00", "2050-12-01T01:00:00"},
      {"Europe/Berlin", "2100-07-01T00:00:00", "2100-07-01T02:00:00"},
      {"Europe/Berlin", "9999-07-01T00:00:00", "9999-07-01T02:00:00"},
      {"Europe/Berlin", "1800-01-01T00:00:00", "1800-01-01T00:53:28"},
      {"America/New_York", "2038-07-01T12:00:00", "2038-07-01T08:00:00"},
      {"America/New_York", "2100-03-14T06:59:59", "2100-03-14T01:59:59"},
      {"America/New_York", "2100-03-14T07:00:00", "2100-03-14T03:00:00"},
      {"Australia/Lord_Howe", "2026-01-01T00:00:00", "2026-01-01T11:00:00"},
      {"Australia/Lord_Howe", "2026-07-01T00:00:00", "2026-07-01T10:30:00"},
      {"Australia/Lord_Howe", "2050-07-01T00:00:00", "2050-07-01T10:30:00"},
      {"America/Sao_Paulo", "2026-01-01T03:00:00", "2026-01-01T00:00:00"},
      {"America/Sao_Paulo", "2010-01-01T02:00:00", "2010-01-01T00:00:00"},
      {"America/Sao_Paulo", "2050-01-01T03:00:00", "2050-01-01T00:00:00"},
      {"Europe/Dublin", "2026-01-01T00:00:00", "2026-01-01T00:00:00"},
      {"Europe/Dublin", "2050-07-01T00:00:00", "2050-07-01T01:00:00"},
      {"Africa/Casablanca", "2026-03-01T12:00:00", "2026-03-01T12:00:00"},
      {"Africa/Casablanca", "2026-05-01T12:00:00", "2026-05-01T13:00:00"},
      {"Asia/Kathmandu", "2050-01-01T00:00:00", "2050-01-01T05:45:00"},
      {"Pacific/Apia", "2011-12-30T09:59:59", "2011-12-29T23:59:59"},
      {"Pacific/Apia", "2011-12-30T10:00:00", "2011-12-31T00:00:00"},
      {"Europe/Moscow", "2100-07-01T00:00:00", "2100-07-01T03:00:00"},
      {"America/Nuuk", "2050-03-27T00:59:59", "2050-03-26T22:59:59"},
      {"America/Nuuk", "2050-03-27T01:00:00", "2050-03-27T00:00:00"},
  };
  for (const Reading& row : table)
    EXPECT_EQ(text(zone(row.zone).to_local(at(row.utc))), row.local) << row.zone << " " << row.utc;
}

struct Meaning {
  const char* zone;
  const char* local;
  Kind kind;
  const char* first;
  const char* second;
};

TEST(Zone, a_local_time_means_one_moment_or_none_or_two) {
  const Meaning table[] = {
      {"Europe/Berlin", "2026-06-01T12:00:00", Kind::unique, "2026-06-01T10:00:00", ""},
      {"Europe/Berlin", "2026-03-29T01:59:59", Kind::unique, "2026-03-29T00:59:59", ""},
      {"Europe/Berlin", "2026-03-29T02:00:00", Kind::gap, "2026-03-29T01:00:00", ""},
      {"Europe/Berlin", "2026-03-29T02:59:59", Kind::gap, "2026-03-29T01:00:00", ""},
      {"Europe/Berlin", "2026-03-29T03:00:00", Kind::unique, "2026-03-29T01:00:00", ""},
      {"Europe/Berlin", "2026-10-25T01:59:59", Kind::unique, "2026-10-24T23:59:59", ""},
      {"Europe/Berlin", "2026-10-25T02:00:00", Kind::overlap, "2026-10-25T00:00:00",
       "2026-10-25T01:00:00"},
      {"Europe/Berlin", "2026-10-25T02:59:59", Kind::overlap, "2026-10-25T00:59:59",
       "2026-10-25T01:59:59"},
      {"Europe/Berlin", "2026-10-25T03:00:00", Kind::unique, "2026-10-25T02:00:00", ""},
      {"Europe/Berlin", "2100-03-28T02:30:00", Kind::gap, "2100-03-28T01:00:00", ""},
      {"Europe/Berlin", "2100-10-31T02:30:00", Kind::overlap, "2100-10-31T00:30:00",
       "2100-10-31T01:30:00"},
      {"Australia/Lord_Howe", "2026-04-05T01:45:00", Kind::overlap, "2026-04-04T14:45:00",
       "2026-04-04T15:15:00"},
      {"Australia/Lord_Howe", "2026-10-04T02:15:00", Kind::gap, "2026-10-03T15:30:00", ""},
      {"Australia/Lord_Howe", "2026-10-04T02:30:00", Kind::unique, "2026-10-03T15:30:00", ""},
      {"Europe/Dublin", "2026-10-25T01:30:00", Kind::overlap, "2026-10-25T00:30:00",
       "2026-10-25T01:30:00"},
      {"Pacific/Apia", "2011-12-30T12:00:00", Kind::gap, "2011-12-30T10:00:00", ""},
      {"Pacific/Apia", "2011-12-31T00:00:00", Kind::unique, "2011-12-30T10:00:00", ""},
      {"UTC", "2026-03-29T02:30:00", Kind::unique, "2026-03-29T02:30:00", ""},
  };
  for (const Meaning& row : table) {
    const LocalMeaning meaning = zone(row.zone).from_local(local(row.local));
    EXPECT_EQ(meaning.kind, row.kind) << row.zone << " " << row.local;
    EXPECT_EQ(text(meaning.first), row.first) << row.zone << " " << row.local;
    EXPECT_EQ(text(meaning.second), row.kind == Kind::overlap ? row.second : row.first)
        << row.zone << " " << row.local;
  }
}

TEST(Zone, utc_needs_no_database) {
  EXPECT_EQ(Zone::find("UTC", "no such directory"), Zone{});
  EXPECT_EQ(Zone::find("Etc/UTC", "no such directory"), Zone{});
  EXPECT_EQ(Zone::find("UTC"), Zone{});
  EXPECT_EQ(Zone{}.name(), "UTC");
  EXPECT_EQ(Zone{}.period_at(at("2026-01-01T00:00:00")),
            (ZonePeriod{zone_time_begin, zone_time_end, 0s}));
}

TEST(Zone, zones_are_equal_if_their_names_are) {
  EXPECT_EQ(zone("Europe/Berlin"), zone("Europe/Berlin"));
  EXPECT_NE(zone("Europe/Berlin"), zone("Europe/Dublin"));
  EXPECT_EQ(zone("Europe/Berlin").name(), "Europe/Berlin");
}

struct Unknown {
  const char* name;
  const char* hint;
};

TEST(Zone, an_unknown_name_is_refused_with_names_that_may_have_been_meant) {
  const Unknown table[] = {
      {"Europe/Berln", R"(unknown time zone "Europe/Berln"; did you mean Europe/Berlin?)"},
      {"europe/berlin", "did you mean Europe/Berlin?"},
      {"Moscow", "did you mean Europe/Moscow?"},
      {"new_york", "did you mean America/New_York?"},
      {"Mars/Olympus", "use a name of the IANA database such as Europe/Berlin, or UTC"},
      {"", "use a name of the IANA database"},
      {"Europe", "use a name of the IANA database"},
      {"UTC+3", "UTC+3 is called Etc/GMT-3 (the sign is reversed)"},
      {"GMT-05:00", "UTC+3 is called Etc/GMT-3 (the sign is reversed)"},
  };
  for (const auto& [name, hint] : table) {
    const Result<Zone> found = Zone::find(name, database);
    ASSERT_FALSE(found) << name;
    EXPECT_EQ(found.error().code, ErrorCode::invalid);
    EXPECT_NE(found.error().message.find(hint), std::string::npos) << found.error().message;
  }
}

TEST(Zone, a_name_never_leads_out_of_the_database) {
  const std::vector<std::string> names = {"../zones.tsv",
                                          "../../../etc/passwd",
                                          "/etc/passwd",
                                          "Europe/../Europe/Berlin",
                                          "Europe/./Berlin",
                                          "Europe//Berlin",
                                          "Europe/Berlin/",
                                          "/Europe/Berlin",
                                          "./Europe/Berlin",
                                          "Europe\\Berlin",
                                          std::string{"Europe/Berlin\0", 14},
                                          "Europe/Berlin\n",
                                          std::string(65, 'A'),
                                          std::string(100'000, 'A')};
  for (const std::string& name : names) {
    const Result<Zone> found = Zone::find(name, database);
    ASSERT_FALSE(found) << name;
    EXPECT_EQ(found.error().code, ErrorCode::invalid);
    EXPECT_FALSE(read_zone_file(database, name).value()) << name;
  }
}

TEST(Zone, files_that_are_not_zones_are_refused) {
  // The other files of a database begin with a small letter and are not looked at; this one does
  // not.
  EXPECT_EQ(Zone::find("CMakeLists", "tests/cron_oracle").error().code, ErrorCode::invalid);
  const std::string_view text = "README";
  const auto parsed = Zone::from_file("Some/Where", std::as_bytes(std::span{text}));
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, ErrorCode::corrupt);
  EXPECT_NE(parsed.error().message.find(R"(time zone "Some/Where": zone file: it does not begin)"),
            std::string::npos)
      << parsed.error().message;
}

TEST(Zone, the_database_lists_its_zones_and_leaves_out_the_rest) {
  const std::vector<std::string> names = zone_names(database);
  EXPECT_EQ(names.size(), 15U);
  EXPECT_NE(std::ranges::find(names, "Antarctica/Troll"), names.end());
  EXPECT_TRUE(zone_names("no such directory").empty());
}

TEST(Zone, without_a_database_the_error_says_what_to_install) {
  const std::string_view nowhere[] = {"no such directory", "tests/cron_oracle/README.md"};
  const Result<std::string> found = zone_database(nowhere);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::unavailable);
  EXPECT_EQ(found.error().message,
            "the time zone database is missing, so only UTC is known; install tzdata (looked in "
            "no such directory, tests/cron_oracle/README.md)");
  const std::string_view second[] = {"no such directory", database};
  EXPECT_EQ(zone_database(second), std::string{database});
}

TEST(Zone, the_systems_own_database_is_found_where_there_is_one) {
  if (!zone_database()) {
    EXPECT_EQ(Zone::find("Europe/Berlin").error().code, ErrorCode::unavailable);
    GTEST_SKIP() << zone_database().error().message;
  }
  const Result<Zone> berlin = Zone::find("Europe/Berlin");
  ASSERT_TRUE(berlin) << berlin.error().message;
  EXPECT_EQ(text(berlin->to_local(at("2020-07-01T00:00:00"))), "2020-07-01T02:00:00");
}

TEST(Zone, moments_outside_the_calendar_count_as_the_nearest_inside) {
  const Zone berlin = zone("Europe/Berlin");
  for (const sys_seconds far : {sys_seconds::min(), sys_seconds::max()}) {
    const ZonePeriod period = berlin.period_at(far);
    EXPECT_LT(period.begin, period.end);
    EXPECT_EQ(berlin.to_local(far).time_since_epoch().count() > 0, far > sys_seconds{});
    const LocalMeaning meaning = berlin.from_local(local_seconds{far.time_since_epoch()});
    EXPECT_EQ(meaning.kind, Kind::unique);
  }
}

}  // namespace
}  // namespace millrace
