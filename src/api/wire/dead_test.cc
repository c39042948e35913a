#include "api/wire/dead.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/uuid.h"
#include "tests/support/matchers.h"

namespace millrace::wire {
namespace {

using test::FailsWith;

FoundGroups two_groups() {
  const TimePoint now{std::chrono::seconds(1'800'000'000)};
  FoundGroups found{.looked_at = 7, .total = 9, .complete = false, .as_of = now};
  found.groups.push_back({.key = "0123456789abcdef",
                          .queue = "emails",
                          .code = "timeout",
                          .message = "timed out",
                          .count = 6,
                          .first_at = now,
                          .last_at = now,
                          .samples = {{.id = {UuidSource(1).next(now)},
                                       .number = {17},
                                       .message = "timed out after 3 s",
                                       .failed_at = now}}});
  found.groups.push_back({.key = "1123456789abcdef",
                          .queue = "emails",
                          .type = "welcome",
                          .count = 1,
                          .first_at = now,
                          .last_at = now});
  return found;
}

TEST(DeadGroupsAnswer, is_read_as_it_was_written) {
  const std::string text = text_of(two_groups(), 100);
  const auto read = groups_from(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(text_of(*read, 100), text);
  EXPECT_EQ(read->groups[0].samples[0].message, "timed out after 3 s");
  EXPECT_FALSE(read->complete);
}

TEST(DeadGroupsAnswer, counts_the_groups_that_it_leaves_out) {
  const auto read = groups_from(text_of(two_groups(), 1));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->groups.size(), 1U);
  EXPECT_EQ(read->more, 1U);
}

TEST(DeadGroupsAnswer, of_another_program_is_refused) {
  EXPECT_THAT(groups_from("{}"), FailsWith(ErrorCode::unavailable));
  EXPECT_THAT(groups_from("[]"), FailsWith(ErrorCode::unavailable));
}

}  // namespace
}  // namespace millrace::wire
