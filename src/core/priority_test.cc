#include "core/priority.h"

#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace millrace {
namespace {

using enum PriorityScale;
using Pairs = std::vector<std::pair<std::int64_t, int>>;

void expect_numbers(PriorityScale scale, const Pairs& pairs) {
  for (const auto& [given, expected] : pairs) {
    EXPECT_EQ(priority_from(given, scale), expected) << given;
    EXPECT_EQ(priority_from(std::to_string(given), scale), expected) << given;
  }
}

std::string refusal(const Result<std::uint8_t>& result) {
  if (result) return "accepted as " + std::to_string(*result);
  EXPECT_EQ(result.error().code, ErrorCode::invalid);
  return result.error().message;
}

// S0-014 S0-037 C-05
TEST(Priority, names_are_eight_five_and_two) {
  EXPECT_EQ(priority_from("high", named), 8);
  EXPECT_EQ(priority_from("medium", named), 5);
  EXPECT_EQ(priority_from("low", named), 2);
}

TEST(Priority, what_is_not_a_name_is_refused_with_the_names) {
  EXPECT_EQ(refusal(priority_from("urgent", named)),
            "priority \"urgent\" is not allowed; allowed are high, medium and low");
  EXPECT_NE(refusal(priority_from("High", named)).find("allowed are high"), std::string::npos);
  EXPECT_EQ(refusal(priority_from(8, named)),
            "priority 8 is not allowed; allowed are high, medium and low");
}

// S4-009 S4-017
TEST(Priority, zero_to_nine_are_themselves) {
  expect_numbers(zero_to_nine, {{0, 0}, {1, 1}, {5, 5}, {9, 9}});
  EXPECT_EQ(refusal(priority_from(10, zero_to_nine)),
            "priority 10 is not allowed; allowed are 0 to 9, 9 being the most urgent");
  EXPECT_NE(refusal(priority_from(-1, zero_to_nine)).find("priority -1"), std::string::npos);
}

// S2-016 C-05
TEST(Priority, mtask_counts_up_from_ordinary) {
  expect_numbers(mtask, {{0, 5}, {1, 6}, {4, 9}, {5, 9}, {1000, 9}});
  expect_numbers(mtask, {{std::numeric_limits<std::int64_t>::max(), 9}});
  EXPECT_NE(refusal(priority_from(-1, mtask)).find("0 and up"), std::string::npos);
}

// S3-034
TEST(Priority, bullmq_counts_down_from_one) {
  expect_numbers(bullmq, {{1, 9}, {2, 8}, {5, 5}, {9, 1}, {10, 0}, {11, 0}, {2'097'152, 0}});
  expect_numbers(bullmq, {{0, 5}});
  EXPECT_NE(refusal(priority_from(2'097'153, bullmq)).find("0 to 2097152"), std::string::npos);
  EXPECT_NE(
      refusal(priority_from(std::numeric_limits<std::int64_t>::min(), bullmq)).find("allowed"),
      std::string::npos);
}

// C-05
TEST(Priority, without_a_scale_everything_is_ordinary) {
  EXPECT_EQ(priority_from(99, none), 5);
  EXPECT_EQ(priority_from("whatever", none), 5);
  EXPECT_EQ(priority_text(9, none), "");
}

TEST(Priority, a_missing_priority_is_ordinary_on_every_scale) {
  for (const auto scale : {named, zero_to_nine, mtask, bullmq, none}) {
    EXPECT_EQ(priority_from("", scale), 5);
  }
}

TEST(Priority, text_that_is_no_number_is_refused) {
  for (const auto scale : {zero_to_nine, mtask, bullmq}) {
    for (const char* text : {"x", "5x", " 5", "5 ", "5.0", "+5", "high", "99999999999999999999"}) {
      EXPECT_NE(refusal(priority_from(text, scale)).find("is not allowed"), std::string::npos)
          << text;
    }
  }
  EXPECT_NE(refusal(priority_from("a\nb", mtask)).find("\\x0a"), std::string::npos);
}

TEST(Priority, output_is_the_nearest_value_of_the_callers_scale) {
  const std::vector<std::string> names = {"low",    "low",    "low",  "low",  "medium",
                                          "medium", "medium", "high", "high", "high"};
  for (int p = 0; p <= 9; ++p) {
    const auto priority = static_cast<std::uint8_t>(p);
    EXPECT_EQ(priority_text(priority, named), names[priority]);
    EXPECT_EQ(priority_text(priority, zero_to_nine), std::to_string(p));
    EXPECT_EQ(priority_text(priority, mtask), std::to_string(p < 5 ? 0 : p - 5));
    EXPECT_EQ(priority_text(priority, bullmq), std::to_string(10 - p));
  }
  EXPECT_EQ(priority_text(200, zero_to_nine), "9");
}

TEST(Priority, a_shown_priority_reads_back_the_same_where_the_scale_has_it) {
  for (int p = 0; p <= 9; ++p) {
    const auto priority = static_cast<std::uint8_t>(p);
    EXPECT_EQ(priority_from(priority_text(priority, zero_to_nine), zero_to_nine), p);
    EXPECT_EQ(priority_from(priority_text(priority, bullmq), bullmq), p);
    if (p >= 5) {
      EXPECT_EQ(priority_from(priority_text(priority, mtask), mtask), p);
    }
  }
  for (const int p : {2, 5, 8}) {
    EXPECT_EQ(priority_from(priority_text(static_cast<std::uint8_t>(p), named), named), p);
  }
}

}  // namespace
}  // namespace millrace
