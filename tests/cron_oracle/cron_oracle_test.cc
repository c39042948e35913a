// Cron rules in UTC, held against golden.tsv: what croner, an independent implementation, answered
// to random expressions at random moments. For a larger comparison make another file with
// generate.mjs and name it in MILLRACE_CRON_GOLDEN.
#include <gtest/gtest.h>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>
#include "core/cron.h"
#include "core/tick.h"
#include "core/time_text.h"

namespace millrace {
namespace {

std::string golden_path() {
  const char* path = std::getenv("MILLRACE_CRON_GOLDEN");
  return path != nullptr ? path : "tests/cron_oracle/golden.tsv";
}

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> columns;
  std::istringstream in{line};
  for (std::string column; std::getline(in, column, '\t');) columns.push_back(column);
  return columns;
}

std::string text(const std::optional<TimePoint>& tick) {
  return tick ? format_time(*tick) : "nothing";
}

// The golden's whole seconds as format_time writes them.
std::string with_millis(std::string time) {
  return time.replace(time.size() - 1, 1, ".000Z");
}

// S2-060
TEST(CronOracle, agrees_with_croner_on_random_expressions_and_moments) {
  std::ifstream in{golden_path()};
  ASSERT_TRUE(in) << "run from the top of the tree, or set MILLRACE_CRON_GOLDEN";
  int compared = 0;
  int refused = 0;
  for (std::string line; std::getline(in, line);) {
    SCOPED_TRACE(line);
    const std::vector<std::string> row = split(line);
    ASSERT_EQ(row.size(), 5U);
    const Result<Ticks> ticks = Ticks::of({.cron = row[0]});
    if (row[2] == "never") {
      ++refused;
      ASSERT_FALSE(ticks);
      continue;
    }
    ASSERT_TRUE(ticks) << ticks.error().message;
    const TimePoint at = parse_time(row[1]).value();
    const auto next = ticks->next_after(at);
    ASSERT_EQ(text(next), with_millis(row[2]));
    ASSERT_EQ(text(ticks->next_after(*next)), with_millis(row[3]));
    ASSERT_EQ(text(ticks->previous_before(at)), with_millis(row[4]));
    ++compared;
  }
  EXPECT_GT(compared, 2500);
  EXPECT_GT(refused, 5);
  RecordProperty("compared", compared);
}

}  // namespace
}  // namespace millrace
