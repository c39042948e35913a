#include "core/zone_table.h"

#include <gtest/gtest.h>
#include <cstdint>
#include <string>
#include <vector>

namespace millrace {
namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;
using namespace std::chrono_literals;

constexpr sys_seconds moment(std::int64_t n) {
  return sys_seconds{seconds{n}};
}

// A zone file under construction; the tests break one thing at a time.
struct FileParts {
  std::string magic = "TZif";
  char version = '2';
  std::vector<std::int64_t> times = {-1000, 0, 1000};
  std::string types = {1, 0, 2};
  std::vector<std::int32_t> offsets = {0, 3600, 7200};
  std::string names = "AAA";
  std::uint32_t leap_seconds = 0;
  std::string footer = "\nXXX-2\n";

  static void number(std::string& out, std::int64_t value, int bytes) {
    for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8)
      out += static_cast<char>(value >> shift);
  }

  std::string part(int time_bytes) const {
    std::string out = magic + version + std::string(15, '\0');
    for (const std::size_t count : {std::size_t{0}, std::size_t{0}, std::size_t{leap_seconds},
                                    times.size(), offsets.size(), names.size()}) {
      number(out, static_cast<std::int64_t>(count), 4);
    }
    for (const std::int64_t time : times) number(out, time, time_bytes);
    out += types;
    for (const std::int32_t offset : offsets) {
      number(out, offset, 4);
      number(out, 0, 2);
    }
    out += names;
    for (std::uint32_t i = 0; i < leap_seconds; ++i) out += std::string(time_bytes + 4, '\0');
    return out;
  }

  std::string whole() const { return version == '\0' ? part(4) : part(4) + part(8) + footer; }
};

Result<ZoneTable> parse(std::string_view bytes) {
  return ZoneTable::parse(std::as_bytes(std::span{bytes}));
}

TEST(ZoneTable, recorded_changes_come_first_and_then_the_rule) {
  FileParts parts;
  parts.footer = "\nXXX-3\n";
  const ZoneTable table = parse(parts.whole()).value();
  EXPECT_EQ(table.period_at(moment(-1001)), (ZonePeriod{zone_time_begin, moment(-1000), 0s}));
  EXPECT_EQ(table.period_at(moment(-1000)), (ZonePeriod{moment(-1000), moment(0), 1h}));
  EXPECT_EQ(table.period_at(moment(999)), (ZonePeriod{moment(0), moment(1000), 0s}));
  EXPECT_EQ(table.period_at(moment(1000)), (ZonePeriod{moment(1000), zone_time_end, 3h}));
}

TEST(ZoneTable, without_a_rule_the_last_offset_stays) {
  FileParts parts;
  parts.footer = "\n\n";
  const ZoneTable table = parse(parts.whole()).value();
  EXPECT_EQ(table.period_at(moment(1'000'000)), (ZonePeriod{moment(1000), zone_time_end, 2h}));
}

TEST(ZoneTable, a_file_of_version_1_has_32_bits_and_no_rule) {
  FileParts parts;
  parts.version = '\0';
  const ZoneTable table = parse(parts.whole()).value();
  EXPECT_EQ(table.changes.size(), 3U);
  EXPECT_FALSE(table.rule);
  EXPECT_EQ(table.period_at(moment(-1)), (ZonePeriod{moment(-1000), moment(0), 1h}));
}

TEST(ZoneTable, versions_up_to_4_are_read_and_others_refused) {
  FileParts parts;
  for (const char version : {'2', '3', '4'}) {
    parts.version = version;
    EXPECT_TRUE(parse(parts.whole())) << version;
  }
  for (const char version : {'1', '5', 'x'}) {
    parts.version = version;
    EXPECT_FALSE(parse(parts.whole())) << version;
  }
}

TEST(ZoneTable, a_file_without_changes_has_one_period) {
  FileParts parts;
  parts.times = {};
  parts.types = "";
  const ZoneTable table = parse(parts.whole()).value();
  EXPECT_EQ(table.period_at(moment(0)), (ZonePeriod{zone_time_begin, zone_time_end, 2h}));
}

TEST(ZoneTable, changes_that_change_nothing_leave_no_trace) {
  FileParts parts;
  parts.types = {1, 1, 1};
  EXPECT_EQ(parse(parts.whole())->changes.size(), 1U);
}

TEST(ZoneTable, a_change_at_the_big_bang_is_the_beginning) {
  FileParts parts;
  parts.times = {-(1LL << 59), 0, 1LL << 59};
  const ZoneTable table = parse(parts.whole()).value();
  EXPECT_EQ(table.period_at(moment(-1)), (ZonePeriod{zone_time_begin, moment(0), 1h}));
  EXPECT_EQ(table.period_at(moment(0)), (ZonePeriod{moment(0), zone_time_end, 0s}));
}

TEST(ZoneTable, what_is_not_a_consistent_zone_file_is_corrupt) {
  std::vector<std::pair<std::string, FileParts>> broken;
  const auto broke = [&](std::string what) -> FileParts& {
    return broken.emplace_back(std::move(what), FileParts{}).second;
  };
  broke("does not begin with TZif").magic = "TZIF";
  broke("its changes are not in order").times = {0, 0, 1000};
  broke("its changes are not in order").times = {0, -1, 1000};
  broke("a change to a type that is not there").types = {1, 0, 3};
  broke("a change to a type that is not there").types = {1, 0, '\xff'};
  broke("an offset of 93600 seconds").offsets = {0, 3600, 26 * 3600};
  broke("an offset of -90000 seconds").offsets = {0, 3600, -25 * 3600};
  broke("an offset of -2147483648 seconds").offsets = {0, 3600, INT32_MIN};
  broke("has no local time types").offsets = {};
  broke("has no local time types").offsets.assign(257, 0);
  broke("counts leap seconds").leap_seconds = 1;
  broke("ends without the rule line").footer = "";
  broke("ends without the rule line").footer = "\n";
  broke("ends without the rule line").footer = "\nXXX-2";
  broke("ends without the rule line").footer = "XXX-2\n";
  broke("not a POSIX TZ rule").footer = "\nnonsense\n";
  for (const auto& [what, parts] : broken) {
    const auto table = parse(parts.whole());
    ASSERT_FALSE(table) << what;
    EXPECT_EQ(table.error().code, ErrorCode::corrupt);
    EXPECT_NE(table.error().message.find(what), std::string::npos) << table.error().message;
  }
}

TEST(ZoneTable, a_file_that_ends_too_early_is_corrupt_wherever_it_ends) {
  const std::string whole = FileParts{}.whole();
  for (std::size_t size = 0; size < whole.size(); ++size)
    ASSERT_FALSE(parse(std::string_view{whole}.substr(0, size))) << size;
  EXPECT_TRUE(parse(whole));
}

TEST(ZoneTable, huge_counts_are_refused_without_believing_them) {
  const std::string whole = FileParts{}.whole();
  const std::size_t second_header = FileParts{}.part(4).size();
  for (const std::size_t header : {std::size_t{0}, second_header}) {
    for (std::size_t count = 0; count < 6; ++count) {
      std::string huge = whole;
      huge.replace(header + 20 + count * 4, 4, "\xff\xff\xff\xff");
      EXPECT_FALSE(parse(huge)) << header << " " << count;
    }
  }
}

}  // namespace
}  // namespace millrace
